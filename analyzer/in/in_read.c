/* in_read.c - reading a trace: babeltrace2 reads CTF, the carver reads spill
 * files. libbabeltrace2 2.0.4 aborts, hangs or drops whole streams if CTF is
 * damaged. So its files are searched for the heads of chunks first, and if one
 * of these does not come from babeltrace2, the carver reads them, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in.h"

#include "analyzer/base/child.h"
#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_bt2.h"
#include "analyzer/in/in_carve.h"
#include "analyzer/in/in_find.h"
#include "analyzer/in/in_order.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One reading of a trace, from in_read to its return. */
struct in_reading {
	struct in_found found;
	const struct in_folder **good; /* folders for babeltrace2 */
	const char **paths;            /* theirs */
	const char **bare;             /* of others, without chunks */
	size_t good_count, good_room, path_room, bare_count, bare_room;
	struct in_order *order;
	struct in_carve *heads;      /* chunks in the good folders, unopened */
	struct in_carve *carve;
	size_t cursor;               /* carved places that were passed on */
	bool has_carved_good;        /* the good folders were carved, too */
	uint64_t carved;             /* chunks the carver gave */
	uint64_t discarded;          /* events, by LTTng */
	bool has_ended;              /* babeltrace2 said so */
	/* Why the carver is to read what babeltrace2 should have read: it gave
	 * what is no chunk, or not all chunks, or has failed. */
	enum { FLAW_NONE, FLAW_REFUSED, FLAW_SHORT, FLAW_FAILED } flaw;
	bool is_stopped;             /* by who gets the chunks */
	struct in_summary *summary;
};

/* ---- messages ---- */

/* Append a sentence to what is wrong, as far as there is room. */
__attribute__((format(printf, 2, 3)))
static void say(struct in_reading *r, const char *format, ...)
{
	char *const text = r->summary->trouble;
	const size_t room = sizeof(r->summary->trouble);
	size_t used = strlen(text);
	va_list args;

	if (used + 3 > room)
		return;
	if (used)
		used += (size_t)snprintf(text + used, room - used, "; ");
	va_start(args, format);
	vsnprintf(text + used, room - used, format, args);
	va_end(args);
}

/* Say who read the trace. */
static void name_reader(struct in_reading *r, bool used_babeltrace)
{
	char *const text = r->summary->reader;
	const size_t room = sizeof(r->summary->reader);

	if (used_babeltrace)
		in_bt2_version(text, room);
	if (r->carved)
		text_addf(text, room, "%scarver",
			  used_babeltrace ? " and " : "");
}

/* ---- carved chunks ---- */

/* A file that cannot be read is no reason to stop. */
static void carve_file(struct in_reading *r, struct in_carve *c,
		       const char *path)
{
	if (in_carve_file(c, path))
		say(r, "\"%s\" cannot be read", path);
}

static void carve_folder(struct in_reading *r, struct in_carve *c,
			 const struct in_folder *f)
{
	for (size_t i = 0; i < f->stream_count; i++)
		carve_file(r, c, f->streams[i]);
}

/* Pass on carved chunks that were closed up to a tick, except known ones.
 * babeltrace2 gives chunks in the order of their events' times, which is nearly
 * this one, so that the two streams merge. */
static enum in_order_result give_carved(struct in_reading *r, uint64_t up_to)
{
	for (; r->cursor < r->carve->count; r->cursor++) {
		const struct in_place *const p =
			&r->carve->places[r->cursor];
		const struct chunk *chunk;
		enum in_order_result got;

		if (p->tick_end > up_to)
			break;
		r->summary->bytes_done += p->bytes;
		if (in_order_has(r->order, &p->key, p->words, p->partial))
			continue;
		chunk = in_carve_load(r->carve, r->cursor);
		if (!chunk)
			continue;
		got = in_order_put(r->order, chunk);
		held_drop(chunk);
		r->carved++;
		if (got == IN_ORDER_GAP)
			got = in_order_give_up(r->order, &p->key);
		if (got == IN_ORDER_STOP)
			return got;
	}
	return IN_ORDER_TAKEN;
}

/* The carver reads the good folders, too. The places start anew; what was
 * passed on is known to in_order. */
static void carve_good(struct in_reading *r)
{
	r->has_carved_good = true;
	r->carve->has_padding = r->flaw != FLAW_FAILED;
	for (size_t i = 0; i < r->good_count; i++)
		carve_folder(r, r->carve, r->good[i]);
	in_carve_sort(r->carve);
	r->cursor = 0;
}

/* ---- chunks from babeltrace2 ---- */

/* Is a chunk in the good folders that has not come? before: one of the same
 * stream and with a lower number; NULL: any. */
static bool is_missing(const struct in_reading *r, const struct in_key *before)
{
	const struct in_carve *const h = r->heads;

	for (size_t i = before ? in_carve_find(h, before) : h->count;
	     i-- > 0;) {
		const struct in_place *const p = &h->places[i];

		if (before && (!in_is_same_stream(&p->key, before) ||
			       in_order_is_settled(r->order, &p->key)))
			break;
		/* How far another copy goes, the place of a beginning does
		 * not say. */
		if (!in_order_has(r->order, &p->key,
				  p->partial ? 0 : p->words, p->partial))
			return true;
	}
	return false;
}

/* Take a chunk from babeltrace2, after carved ones that were closed before it.
 * If it leaves a gap, that chunk is lost, or babeltrace2 left it out. */
static enum in_order_result take_chunk(struct in_reading *r,
				       const struct chunk *chunk)
{
	const struct in_key key = in_key_of(chunk);
	enum in_order_result got;

	if (give_carved(r, chunk->header.tick_end) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	got = in_order_put(r->order, chunk);
	if (got == IN_ORDER_DUPLICATE)
		r->summary->duplicates++;
	if (got != IN_ORDER_GAP)
		return got;
	if (!is_missing(r, &key))
		return in_order_give_up(r->order, &key);
	r->flaw = FLAW_SHORT;
	return IN_ORDER_TAKEN;
}

/* Returns 0, or -1 to end babeltrace2. */
static int take_bytes(struct in_reading *r, const char *bytes, size_t n)
{
	struct packed_head head;
	uint32_t size;
	const struct chunk *const chunk = held_open(bytes, n, &head, &size);

	if (!chunk) {
		err_clear();
		r->flaw = FLAW_REFUSED;
		return -1;
	}
	unpack_count(&r->summary->found, (int)head.packing, size);
	r->summary->bytes_done += size;
	r->is_stopped = take_chunk(r, chunk) == IN_ORDER_STOP;
	held_drop(chunk);
	return r->is_stopped || r->flaw ? -1 : 0;
}

/* Take a message of the child. Of bare folders, only how many events LTTng
 * discarded; what else is wrong with them is no loss. */
static int take_bare(void *ctx, const char *message, size_t size)
{
	struct in_reading *const r = ctx;
	uint64_t n;

	if (size == 1 + sizeof(n) && message[0] == IN_BT2_DISCARDED) {
		memcpy(&n, message + 1, sizeof(n));
		r->discarded += n;
	}
	return 0;
}

static int take_message(void *ctx, const char *message, size_t size)
{
	struct in_reading *const r = ctx;

	switch (size > 0 ? message[0] : 0) {
	case IN_BT2_CHUNK:
		return take_bytes(r, message + 1, size - 1);
	case IN_BT2_DISCARDED:
	case IN_BT2_PROGRESS:
		return take_bare(r, message, size);
	case IN_BT2_FAILED:
		r->flaw = FLAW_FAILED;
		say(r, "%.*s", (int)size - 1, message + 1);
		return 0;
	case IN_BT2_END:
		r->has_ended = true;
		return 0;
	default:
		return -1;
	}
}

/* Read folders through babeltrace2. A damaged length can make it ask for
 * memory without end: it gets 1 GiB, and 64 MiB a stream file. */
static int run_bt2(struct in_reading *r, struct in_sources sources,
		   int (*take)(void *, const char *, size_t), char *why)
{
	const struct child_job job = {
		.what = "babeltrace2", .work = in_bt2_run,
		.work_ctx = &sources, .take = take, .take_ctx = r,
		.most = 1 + IN_CHUNK_BYTES,
		.memory = (UINT64_C(1) << 30) +
			  r->heads->file_count * (UINT64_C(64) << 20) };

	return sources.count > 0 ? child_run(&job, why) : 0;
}

/* If babeltrace2 does not give all that is in the good folders, the carver
 * reads on. */
static enum in_order_result read_good(struct in_reading *r)
{
	char why[CHILD_WHY] = "babeltrace2 ended early";
	const bool has_ended = run_bt2(r, (struct in_sources){ r->paths,
		r->good_count }, take_message, why) == 0 && r->has_ended;

	if (r->is_stopped)
		return IN_ORDER_STOP;
	if (!r->flaw && !has_ended) {
		r->flaw = FLAW_FAILED;
		say(r, "%s", why);
	} else if (!r->flaw && (r->heads->bad || is_missing(r, NULL))) {
		r->flaw = FLAW_SHORT;
	}
	if (!r->flaw)
		return IN_ORDER_TAKEN;
	carve_good(r);
	if (r->flaw == FLAW_SHORT)
		say(r, "the CTF trace is damaged: babeltrace2 leaves out "
		    "chunks that are in it");
	else if (r->flaw == FLAW_REFUSED && !r->carve->bad)
		say(r, "the CTF trace is damaged: babeltrace2 finds what is no "
		    "chunk");
	return IN_ORDER_TAKEN;
}

/* ---- the whole ---- */

/* Is the folder's CTF weft's, even without a chunk? */
static bool declares_chunks(const char *folder)
{
	enum { MOST = 1 << 20 };
	char *const path = mem_print("%s/metadata", folder);
	char *const text = mem_alloc(MOST);
	FILE *const f = fopen(path, "re");
	const size_t n = f ? fread(text, 1, MOST, f) : 0;
	const bool is_so = memmem(text, n, "weft:chunk", 10) != NULL;

	if (f)
		fclose(f);
	mem_free_all(path, text);
	return is_so;
}

/* A folder in which no chunk can be seen is another program's trace, or
 * damaged, or LTTng discarded all: babeltrace2 is only asked for that. */
static void sort_out(struct in_reading *r, const struct in_folder *f)
{
	const size_t before = r->heads->count;

	carve_folder(r, r->heads, f);
	if (r->heads->count == before) {
		carve_folder(r, r->carve, f);
		if (declares_chunks(f->path))
			*vec_add(&r->bare, &r->bare_room, &r->bare_count) =
				f->path;
		return;
	}
	vec_need(&r->paths, &r->path_room, r->good_count + 1);
	r->paths[r->good_count] = f->path;
	*vec_add(&r->good, &r->good_room, &r->good_count) = f;
}

/* Read all that was found: carve what must be carved, then babeltrace2. */
static enum in_order_result read_found(struct in_reading *r)
{
	char why[CHILD_WHY];

	for (size_t i = 0; i < r->found.folder_count; i++) {
		sort_out(r, &r->found.folders[i]);
		r->summary->ctf_bytes += r->found.folders[i].stream_bytes;
	}
	for (size_t i = 0; i < r->found.spill_count; i++)
		carve_file(r, r->carve, r->found.spills[i]);
	r->summary->spill_bytes = r->found.spill_bytes;
	in_carve_sort(r->heads);
	in_carve_sort(r->carve);
	run_bt2(r, (struct in_sources){ r->bare, r->bare_count }, take_bare,
		why);
	if ((r->good_count && read_good(r) == IN_ORDER_STOP) ||
	    give_carved(r, UINT64_MAX) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	return in_order_finish(r->order);
}

/* Report where broken chunks are, by paths below the trace's folder. */
static void tell_broken(struct in_reading *r, const char *path)
{
	struct in_summary *const s = r->summary;
	const struct in_carve *const c = r->carve;
	const size_t length = strlen(path);

	_Static_assert(sizeof(s->broken) / sizeof(s->broken[0]) == IN_BROKEN,
		       "room for all");
	for (size_t i = 0; i < c->broken_count; i++) {
		const char *file = c->files[c->broken[i].file];

		if (strncmp(file, path, length) == 0)
			file += length;
		snprintf(s->broken[i].file, sizeof(s->broken[i].file), "%s",
			 file + strspn(file, "/"));
		s->broken[i].offset = c->broken[i].offset;
	}
	s->broken_count = c->broken_count;
}

/* Fill in the summary, except for broken. */
static void sum_up(struct in_reading *r)
{
	struct in_summary *const s = r->summary;

	s->chunks = in_order_chunks(r->order);
	s->words = in_order_words(r->order);
	/* If the carver read all files, its figures are complete. */
	if (r->has_carved_good) {
		s->found = r->carve->found;
		s->duplicates = r->carve->duplicates;
		s->bad = r->carve->bad;
	} else {
		for (int i = 0; i < UNPACK_WAYS; i++) {
			s->found.chunks[i] += r->carve->found.chunks[i];
			s->found.bytes[i] += r->carve->found.bytes[i];
		}
		s->duplicates += r->carve->duplicates;
		s->bad = r->carve->bad;
	}
	if (r->discarded)
		say(r, "events that LTTng discarded: %llu or more",
		    (unsigned long long)r->discarded);
	if (in_order_beginnings(r->order))
		say(r, "chunks of which only the beginning was found: %llu",
		    (unsigned long long)in_order_beginnings(r->order));
	if (r->found.unreadable)
		say(r, "files that cannot be read: %d", r->found.unreadable);
	name_reader(r, r->good_count > 0);
}

/* 0 if anything was read, else -1 with the cause. */
static int judge(const struct in_reading *r, enum in_order_result got)
{
	if (got == IN_ORDER_STOP)
		return err_add("reading was stopped");
	if (r->summary->chunks)
		return 0;
	if (r->summary->trouble[0])
		err_add("%s", r->summary->trouble);
	return err_add("it holds no chunks (recorded data); was it made by "
		       "weft record?");
}

static void reading_fini(struct in_reading *r)
{
	in_order_free(r->order);
	in_carve_free(r->heads);
	in_carve_free(r->carve);
	mem_free_all(r->good, r->paths, r->bare);
	in_find_fini(&r->found);
}

int in_read(const char *path, in_chunk_fn fn, void *ctx,
	    struct in_summary *summary)
{
	struct in_reading r = { .summary = summary };
	int rc;

	memset(summary, 0, sizeof(*summary));
	r.order = in_order_new(fn, ctx);
	r.heads = in_carve_new();
	r.heads->seals_only = r.heads->has_padding = true;
	r.carve = in_carve_new();
	rc = in_find_all(path, &r.found);
	if (rc == 0) {
		const enum in_order_result got = read_found(&r);

		sum_up(&r);
		tell_broken(&r, path);
		rc = judge(&r, got);
	}
	reading_fini(&r);
	return rc ? err_add("cannot read trace \"%s\"", path) : 0;
}
