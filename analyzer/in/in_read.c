/* in_read.c - reading a trace: chooses who reads what, and what to do if
 * something is wrong. Undamaged CTF goes through libbabeltrace2; spill files
 * and damaged CTF are carved, that is, searched for chunks; if chunks are
 * missing in what babeltrace2 gives, the carver searches its files, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in.h"

#include "analyzer/base/child.h"
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_bt2.h"
#include "analyzer/in/in_carve.h"
#include "analyzer/in/in_check.h"
#include "analyzer/in/in_find.h"
#include "analyzer/in/in_order.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One reading of a trace, from in_read to its return. */
struct in_reading {
	struct in_found found;
	struct in_source *sources;   /* the folders that are undamaged */
	size_t source_count, source_room;
	const struct in_folder **good;
	size_t good_count, good_room;
	/* stream files in the good folders */
	size_t good_streams;
	struct in_order *order;
	struct in_carve *carve;
	size_t cursor;               /* carved places that were passed on */
	bool has_carved_good;        /* the good folders were carved, too */
	uint64_t carved;             /* chunks the carver gave */
	struct map *ahead;           /* chunks of good folders that came from
	                              * the carver before babeltrace2 */
	uint64_t refused;            /* by held_open, from babeltrace2 */
	uint64_t discarded;          /* events, by LTTng */
	bool has_ended, has_failed;  /* babeltrace2 said so */
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

/* A chunk's identity as the two keys of a map. If two chunks had the same keys,
 * only the figures in a message would be wrong. */
static void ahead_key(const struct in_key *k, uint64_t key[2])
{
	key[0] = k->recording + k->level * UINT64_C(0x9e3779b97f4a7c15) +
		 ((uint64_t)k->process << 32 | k->thread) *
		 UINT64_C(0xff51afd7ed558ccd);
	key[1] = k->number;
}

/* The carver gave a chunk that babeltrace2 may still give. */
static void put_ahead(struct in_reading *r, const struct in_key *k)
{
	uint64_t key[2];

	ahead_key(k, key);
	*map_put(r->ahead, key[0], key[1]) = 1;
}

/* babeltrace2 gave a chunk, which the carver may have given before. */
static void remove_ahead(struct in_reading *r, const struct in_key *k)
{
	uint64_t key[2];

	ahead_key(k, key);
	if (map_find(r->ahead, key[0], key[1]) == 0)
		return;
	map_remove(r->ahead, key[0], key[1]);
	r->carved--;
}

/* A file that cannot be read is no reason to stop. */
static void carve_file(struct in_reading *r, const char *path)
{
	if (in_carve_file(r->carve, path))
		say(r, "\"%s\" cannot be read", path);
}

static void carve_folder(struct in_reading *r, const struct in_folder *f)
{
	for (size_t i = 0; i < f->stream_count; i++)
		carve_file(r, f->streams[i]);
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
		if (r->has_carved_good)
			put_ahead(r, &p->key);
		if (got == IN_ORDER_GAP)
			got = in_order_give_up(r->order, &p->key);
		if (got == IN_ORDER_STOP)
			return got;
	}
	return IN_ORDER_TAKEN;
}

/* A chunk is missing, but may be in the good folders all the same. They are
 * searched once, when that is needed, as it takes as long as reading them. The
 * places start anew; what was passed on is known to in_order. */
static void carve_good(struct in_reading *r)
{
	if (r->has_carved_good)
		return;
	r->has_carved_good = r->carve->has_padding = true;
	for (size_t i = 0; i < r->good_count; i++)
		carve_folder(r, r->good[i]);
	in_carve_sort(r->carve);
	r->cursor = 0;
}

/* ---- chunks from babeltrace2 ---- */

/* Take a chunk from babeltrace2, after carved ones that were closed before it.
 * If it leaves a gap, the carver has one chance to fill it. */
static enum in_order_result take_chunk(struct in_reading *r,
				       const struct chunk *chunk)
{
	const struct in_key key = in_key_of(chunk);
	const uint64_t end = chunk->header.tick_end;
	enum in_order_result got;

	if (give_carved(r, end) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	remove_ahead(r, &key);
	got = in_order_put(r->order, chunk);
	if (got == IN_ORDER_DUPLICATE)
		r->summary->duplicates++;
	if (got == IN_ORDER_GAP) {
		carve_good(r);
		if (give_carved(r, end) == IN_ORDER_STOP)
			return IN_ORDER_STOP;
		got = in_order_give_up(r->order, &key);
	}
	return got;
}

static enum in_order_result take_bytes(struct in_reading *r, const char *bytes,
				       size_t n)
{
	struct packed_head head;
	uint32_t size;
	const struct chunk *const chunk = held_open(bytes, n, &head, &size);
	enum in_order_result got;

	if (!chunk) {
		err_clear();
		r->refused++;
		return IN_ORDER_TAKEN;
	}
	unpack_count(&r->summary->found, (int)head.packing, size);
	r->summary->bytes_done += size;
	got = take_chunk(r, chunk);
	held_drop(chunk);
	return got;
}

/* Take a message of the child. */
static int take_message(void *ctx, const char *message, size_t size)
{
	struct in_reading *const r = ctx;
	uint64_t n;

	switch (size > 0 ? message[0] : 0) {
	case IN_BT2_CHUNK:
		r->is_stopped = take_bytes(r, message + 1, size - 1) ==
				IN_ORDER_STOP;
		return r->is_stopped ? -1 : 0;
	case IN_BT2_DISCARDED:
		if (size != 1 + sizeof(n))
			return -1;
		memcpy(&n, message + 1, sizeof(n));
		r->discarded += n;
		return 0;
	case IN_BT2_PROGRESS:
		return 0;
	case IN_BT2_FAILED:
		r->has_failed = true;
		say(r, "%.*s", (int)size - 1, message + 1);
		return 0;
	case IN_BT2_END:
		r->has_ended = true;
		return 0;
	default:
		return -1;
	}
}

/* Read the undamaged folders through babeltrace2. A damaged length can make it
 * ask for memory without end: it gets 1 GiB, and 64 MiB a stream file. If it
 * failed or gave what is no chunk, the carver looks for the rest. */
static enum in_order_result read_good(struct in_reading *r)
{
	const struct in_sources sources = { r->sources, r->source_count };
	const struct child_job job = {
		.what = "babeltrace2", .work = in_bt2_run,
		.work_ctx = &sources, .take = take_message, .take_ctx = r,
		.most = 1 + IN_CHUNK_BYTES,
		.memory = (UINT64_C(1) << 30) +
			  r->good_streams * (UINT64_C(64) << 20) };
	char why[CHILD_WHY] = "babeltrace2 ended early";

	if (!r->source_count)
		return IN_ORDER_TAKEN;
	if (child_run(&job, why) != 0 || !r->has_ended) {
		r->has_failed = true;
		say(r, "%s", why);
	}
	if (r->is_stopped)
		return IN_ORDER_STOP;
	if (r->discarded)
		say(r, "events that LTTng discarded: %llu",
		    (unsigned long long)r->discarded);
	if (r->has_failed || r->refused)
		carve_good(r);
	return IN_ORDER_TAKEN;
}

/* ---- the whole ---- */

/* Check a folder, and choose who reads it. Carving happens here and now, but
 * only notes places; chunks are given later. */
static void sort_out(struct in_reading *r, const struct in_folder *f)
{
	struct in_source source = { .path = f->path };
	char why[160];

	switch (in_check_folder(f, source.uuid, why, sizeof(why))) {
	case IN_CHECK_GOOD:
		vec_need(&r->sources, &r->source_room, r->source_count + 1);
		vec_need(&r->good, &r->good_room, r->good_count + 1);
		r->sources[r->source_count++] = source;
		r->good[r->good_count++] = f;
		r->good_streams += f->stream_count;
		return;
	case IN_CHECK_BAD:
		say(r, "the CTF trace is damaged: %s", why);
		break;
	case IN_CHECK_OTHER:
		/* Another program's trace, unless chunks are found in it. */
		break;
	}
	carve_folder(r, f);
}

/* Read all that was found: carve what must be carved, then babeltrace2. */
static enum in_order_result read_found(struct in_reading *r)
{
	for (size_t i = 0; i < r->found.folder_count; i++) {
		sort_out(r, &r->found.folders[i]);
		r->summary->ctf_bytes += r->found.folders[i].stream_bytes;
	}
	for (size_t i = 0; i < r->found.spill_count; i++)
		carve_file(r, r->found.spills[i]);
	r->summary->spill_bytes = r->found.spill_bytes;
	in_carve_sort(r->carve);
	if (read_good(r) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	if (give_carved(r, UINT64_MAX) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	/* If a stream has no proper end, babeltrace2 may have missed it because
	 * of a damaged size. */
	if (r->source_count && in_order_is_ragged(r->order))
		carve_good(r);
	if (give_carved(r, UINT64_MAX) == IN_ORDER_STOP)
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
		s->bad = r->carve->bad + r->refused;
	}
	if (map_count(r->ahead) && !r->has_failed)
		say(r, "chunks that babeltrace2 did not give, and that the "
		    "carver found: %zu", map_count(r->ahead));
	if (in_order_beginnings(r->order))
		say(r, "chunks of which only the beginning was found: %llu",
		    (unsigned long long)in_order_beginnings(r->order));
	if (r->found.unreadable)
		say(r, "files that cannot be read: %d", r->found.unreadable);
	name_reader(r, r->source_count > 0);
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
	in_carve_free(r->carve);
	map_free(r->ahead);
	mem_free_all(r->sources, r->good);
	in_find_fini(&r->found);
}

int in_read(const char *path, in_chunk_fn fn, void *ctx,
	    struct in_summary *summary)
{
	struct in_reading r = { .summary = summary };
	int rc;

	memset(summary, 0, sizeof(*summary));
	r.order = in_order_new(fn, ctx);
	r.carve = in_carve_new();
	r.ahead = map_new();
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
