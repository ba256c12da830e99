/* notes.c - the recorder's own chunks in the trace: notes on the recording, and
 * names.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/notes.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/arch.h"
#include "tracer/recorder/base/message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- at the start ---- */

/* The time at which the chunk of notes was begun, ns. */
static uint64_t real_time(const struct meta *m)
{
	return ((const struct chunk_header *)m->words)->pair_real;
}

static void note_command(struct meta *m, char *const *argv)
{
	char text[2048] = "";
	size_t n = 0;

	for (; *argv && n < sizeof(text); argv++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      n > 0 ? " " : "", *argv);
	meta_note(m, "command", text);
}

static void note_cost(const struct recording *r, struct meta *m)
{
	const struct calibration *const c = &r->calibration;

	if (c->cost > 0)
		meta_print(m, "cost.native", "%.1f %.1f", c->cost, c->error);
}

static void note_labels(struct meta *m, const struct options *o)
{
	char key[256];

	assert(o->labels <= OPTIONS_MAX_LABELS);
	for (int i = 0; i < o->labels; i++) {
		const size_t n = strcspn(o->label[i], "=");

		snprintf(key, sizeof(key), "%.*s", (int)n, o->label[i]);
		meta_label(m, key, o->label[i] + n + 1);
	}
}

/* In pieces, since a note is short: KEY, KEY.1, KEY.2 and so on. NULL: none. */
static void note_patterns(struct meta *m, const char *key, const char *patterns)
{
	char piece[CHUNK_STRING_MAX + 1], name[40];

	for (int i = 0; selection_piece(&patterns, piece, sizeof(piece)); i++) {
		snprintf(name, sizeof(name), "%s.%d", key, i);
		meta_note(m, i == 0 ? key : name, piece);
	}
}

/* period and why-not: what is chosen at the start, where there is a choice. */
static void note_samples(const struct recording *r, struct meta *m)
{
	const struct cpu_watch *const w = r->registry.cpu;
	char why[128];

	meta_print(m, "samples.period", "%" PRIu64, w ? w->period : 0);
	cpu_watch_explain(r->unwatched, why, sizeof(why));
	if (why[0])
		meta_note(m, "samples.why-not", why);
	else if (r->opt.sample_hz == 0)
		meta_note(m, "samples.why-not", "--sample-rate 0");
}

/* What it came to. */
static void note_sampled(const struct recording *r, struct meta *m)
{
	const struct cpu_watch *const w = r->registry.cpu;
	char why[128], threads[64];

	if (!w || r->unwatched != 0)
		return;
	meta_print(m, "samples.lost", "%" PRIu64, cpu_watch_lost(w));
	if (w->refused == 0)
		return;
	cpu_watch_explain(w->why, why, sizeof(why));
	meta_print(m, "samples.why-not", "not of %s: %s", amount_many(threads,
		   sizeof(threads), w->refused, "threads"), why);
}

static void note_reference(const struct recording *r, struct meta *m)
{
	char text[REFERENCE_TEXT];

	if (reference_text(&r->reference, text))
		meta_note(m, "reference", text);
}

/* Why it was made; and since when, as CLOCK_REALTIME ns, all that was recorded
 * is in it. */
static void note_snapshot(const struct recording *r, struct meta *m)
{
	const struct flight *const f = &r->flight;
	const struct chunk_header *const h = (const void *)m->words;
	const double ago = h->pair_tick < f->gone.tick ? 0 :
		(double)(h->pair_tick - f->gone.tick) / (double)h->tick_hz;

	meta_print(m, "snapshot", "%" PRIu32, f->tries);
	if (f->more > 0)
		meta_print(m, "snapshot.reason", "%s (and %" PRIu32 " more)",
			   f->reason, f->more);
	else
		meta_note(m, "snapshot.reason", f->reason);
	meta_label(m, "snapshot", f->reason);
	meta_print(m, "snapshot.from", "%" PRIu64, f->gone.tick == 0 ?
		   f->begin : h->pair_real - (uint64_t)(ago * 1e9));
	meta_print(m, "snapshot.bytes", "%" PRIu64, r->opt.flight_bytes);
	meta_print(m, "snapshot.asked", "%" PRIu64,
		   r->opt.flight_ms * 1000000);
}

static void note_parts(struct meta *m, const struct options *o)
{
	if (o->paused)
		meta_note(m, "begins", "off");
	if (o->waits)
		meta_note(m, "waits", "recorded");
	if (o->heap)
		meta_print(m, "heap", o->heap == POOL_HEAP_EXACT ? "exact" :
			   "%" PRIu32, o->heap);
	note_patterns(m, "start-on", o->start_on);
	if (o->duty_on > 0)
		meta_print(m, "duty", "%gs/%gs of %" PRIu32,
			   (double)o->duty_on / 1e9,
			   (double)o->duty_period / 1e9,
			   o->duty_of > 1 ? o->duty_of : 1);
}

static void note_carrier(const struct recording *r, struct meta *m)
{
	meta_note(m, "carrier", r->sink.lttng ? "lttng" : "spill");
	if (r->opt.relay.host[0])
		meta_note(m, "relay", r->opt.relay.host);
}

static void note_mode(struct meta *m, const struct options *o)
{
	if (o->count_only || o->sample_only)
		meta_note(m, "mode", o->count_only ? "count-only" :
			  "sample-only");
}

static void note_start(const struct recording *r, struct meta *m)
{
	struct utsname host;
	char cwd[PATH_MAX];

	note_command(m, r->opt.program);
	meta_note(m, "program", r->program_path);
	if (uname(&host) == 0) {
		meta_note(m, "host", host.nodename);
		meta_print(m, "system", "%s %s %s", host.sysname,
			   host.release, host.machine);
	}
	meta_note(m, "weft", WEFT_VERSION);
	meta_print(m, "start", "%" PRIu64, r->sink.flight ? r->flight.begin :
		   real_time(m));
	meta_note(m, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "");
	meta_print(m, "pool.bytes", "%" PRIu64, r->owner.size);
	meta_print(m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	meta_note(m, "clock", r->rate.tsc ? ARCH_CLOCK : "monotonic");
	note_carrier(r, m);
	note_mode(m, &r->opt);
	note_samples(r, m);
	note_cost(r, m);
	note_labels(m, &r->opt);
	note_parts(m, &r->opt);
	if (r->opt.budget > 0)
		meta_print(m, "budget.limit", "%g%%", 100 * r->opt.budget);
	note_patterns(m, "filter.only", r->opt.select.only);
	note_patterns(m, "filter.skip", r->opt.select.skip);
	note_patterns(m, "filter.count", r->opt.select.count);
	if (r->opt.max_depth > 0)
		meta_print(m, "filter.max-depth", "%" PRIu32,
			   r->opt.max_depth);
	if (r->opt.min_duration > 0)
		meta_print(m, "filter.min-duration", "%" PRIu64,
			   r->opt.min_duration);
	if (r->sink.flight)
		note_snapshot(r, m);
}

/* ---- at the end ---- */

/* Whether all that happened while recording was on is in the trace. Processes
 * that go on after it do so because the user chose its end. */
static bool is_complete(const struct recording *r)
{
	const struct said *const s = &r->said;
	uint64_t any = r->sink.delivery.lost_chunks + r->flight.unwritten +
		       r->drain.damaged +
		       r->sink.delivery.is_blind +
		       s->unslotted_threads + s->unjoined_processes +
		       s->unrecorded + s->after_destructors + s->is_false;

	for (int i = 0; i < LOST_REASONS; i++)
		any += i == LOST_CLOCK ? 0 : s->lost[i];
	/* Other trouble, such as a daemon that died, need not mean a loss. */
	return any == 0 && (r->registry.trouble &
			    (TROUBLE_NO_MEMORY | TROUBLE_CONFINED |
			     TROUBLE_LUA_HOOK | TROUBLE_CONSTRUCTORS)) == 0;
}

static void note_exit(struct meta *m, const struct program *p)
{
	if (!p->has_ended)
		meta_note(m, "exit", "running");
	else if (WIFSIGNALED(p->status))
		meta_print(m, "exit", "signal %d", WTERMSIG(p->status));
	else
		meta_print(m, "exit", "%d", WEXITSTATUS(p->status));
}

static void note_archive(struct meta *m, const struct archive *a)
{
	char files[64];

	meta_print(m, "archive", "%s, %" PRIu64 " bytes; %u missing",
		   amount_many(files, sizeof(files), a->copied, "files"),
		   a->bytes, a->missing + a->unlisted);
	if (a->missing > 0)
		meta_note(m, "archive.missing", archive_missing(a));
}

/* When Lua states were sampled, as the budget asked. */
static void note_sampled_states(struct meta *m, const struct recording *r)
{
	enum { EACH = 80 }; /* characters of a time, at most */
	const struct budget *const b = &r->budget;
	char text[(BUDGET_TIMES + 1) * EACH] = "", to[EACH];

	for (uint32_t i = 0; i < b->times && i < BUDGET_TIMES; i++) {
		const struct budget_time *const t = &b->time[i];

		snprintf(to, sizeof(to), "%.3f s",
			 (double)(t->to - r->begin_ns) / 1e9);
		snprintf(text + strlen(text), EACH,
			 "%sstate %" PRIu32 " from %.3f s to %.20s",
			 i > 0 ? ", " : "", t->vm,
			 (double)(t->from - r->begin_ns) / 1e9,
			 t->to == 0 ? "the end" : to);
	}
	if (b->times > BUDGET_TIMES)
		snprintf(text + strlen(text), EACH, ", and later");
	if (b->times > 0)
		meta_note(m, "budget.lua", text);
}

static void note_budget(struct meta *m, const struct budget *b)
{
	meta_print(m, "budget.share", "%.2f%%", 100 * budget_share(b));
	meta_print(m, "budget.counted", "%" PRIu32, b->counted);
	meta_print(m, "budget.changes", "%" PRIu32, b->changes);
	meta_print(m, "budget.no-room", "%" PRIu32,
		   b->all.refused + b->no_room);
}

static void note_counts(struct meta *m, struct recording *r)
{
	const struct said *const s = &r->said;
	const bool has_pieces = r->opt.max_size > 0 &&
				!r->rotation.is_closing;
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "lost.chunks", r->sink.delivery.lost_chunks +
				 r->flight.unwritten },
		{ "lost.damaged", r->drain.damaged },
		{ "lost.processes", s->unjoined_processes },
		{ "lost.threads", s->unslotted_threads },
		{ "lost.unrecorded", s->unrecorded },
		{ "lost.late", s->after_destructors },
		{ "threads", recording_holds(r, CENSUS_THREADS) },
		{ "processes", recording_holds(r, CENSUS_PROCESSES) },
		{ "vms", recording_holds(r, CENSUS_VMS) },
		{ "coroutines", s->coroutines },
		{ has_pieces ? "chunks.copies" : "chunks.distinct",
		  has_pieces ? r->rotation.kept + r->sink.spill.chunks :
			       delivery_count(&r->sink.delivery) },
		{ "lost.unheard", s->unheard },
		{ "records", r->drain.records },
	};
	/* A snapshot, or a piece, does not have all records, nor threads. */
	const size_t n = sizeof(counts) / sizeof(*counts) -
			 (r->sink.flight || r->rotation.is_closing ||
			  r->rotation.removed > 0 ? 2 : 0);

	for (size_t i = 0; i < n; i++)
		meta_print(m, counts[i].key, "%" PRIu64, counts[i].n);
}

static void note_end(struct recording *r, struct meta *m)
{
	meta_print(m, "end", "%" PRIu64, real_time(m));
	if (!r->cost_is_noted)
		note_cost(r, m);
	note_exit(m, &r->program);
	meta_lost(m, r->said.lost);
	note_counts(m, r);
	if (r->opt.max_size > 0) {
		meta_print(m, "pieces", "%" PRIu32, r->rotation.closed);
		meta_print(m, "pieces.removed", "%" PRIu32,
			   r->rotation.removed);
	}
	if (r->rotation.is_closing)
		meta_print(m, "piece", "%" PRIu32, r->rotation.closed + 1);
	note_sampled(r, m);
	note_reference(r, m);
	note_cost(r, m); /* the start may have been too early */
	if (r->off.all > 0 && !r->opt.sample_only)
		meta_print(m, "off.ms", "%" PRIu64, r->off.all);
	meta_note(m, "complete", is_complete(r) ? "yes" : "no");
	if (r->drain.selection) {
		meta_print(m, "filter.functions", "%" PRIu64,
			   r->selection.skipped);
		meta_print(m, "filter.counted", "%" PRIu64,
			   r->selection.counted);
		meta_print(m, "filter.no-room", "%" PRIu64,
			   r->selection.no_room);
	}
	if (r->opt.budget > 0)
		note_budget(m, &r->budget);
	note_sampled_states(m, r);
	if (r->sink.archive)
		note_archive(m, &r->archive);
	if (message_troubles()[0])
		meta_note(m, "trouble", message_troubles());
}

/* ---- their chunks ---- */

static void begin_chunk(struct meta *m, struct recording *r, uint64_t number)
{
	chunk_copy_begin_meta(m, sink_room(&r->sink), r->owner.recording,
			      number, &r->rate);
}

void notes_send(struct recording *r, uint32_t words)
{
	sink_send(&r->sink, sink_room(&r->sink), words);
}

uint32_t notes_start(struct recording *r)
{
	struct meta m;

	begin_chunk(&m, r, META_START);
	r->cost_is_noted = r->calibration.cost > 0;
	note_start(r, &m);
	return meta_end(&m);
}

uint32_t notes_end(struct recording *r, uint32_t flags)
{
	struct meta m;

	begin_chunk(&m, r, META_END);
	((struct chunk_header *)m.words)->flags |= flags;
	note_end(r, &m);
	return meta_end(&m);
}

uint32_t notes_no_end(struct recording *r)
{
	struct meta m;

	begin_chunk(&m, r, META_END);
	((struct chunk_header *)m.words)->flags |= CHUNK_PARTIAL;
	return meta_end(&m);
}

/* ---- names ---- */

/* The chunks of names in the making. */
struct name_writer {
	struct recording *r;
	notes_send_fn *send;
	struct meta m;             /* words is NULL: none was begun */
	uint64_t number;
};

static void begin_names(struct name_writer *w)
{
	if (w->m.words)
		w->send(w->r, meta_end(&w->m));
	begin_chunk(&w->m, w->r, w->number++);
}

/* A lua_names_fn. */
static void write_name(void *ctx, const uint64_t *item, uint32_t words)
{
	struct name_writer *const w = ctx;

	if (w->m.words && meta_item(&w->m, item, words))
		return;
	begin_names(w);
	meta_item(&w->m, item, words);
}

/* A reference_write_fn. */
static bool write_reference(void *ctx, const uint64_t *item, uint32_t words)
{
	struct name_writer *const w = ctx;

	if (w->m.words && meta_item(&w->m, item, words))
		return true;
	begin_names(w);
	return false;
}

void notes_send_names(struct recording *r, notes_send_fn *send)
{
	/* The pieces of one trace have different ones; snapshots are traces. */
	const uint64_t sent = r->sink.flight ? 0 : r->names_sent;
	struct name_writer w = { .r = r, .send = send,
				 .number = META_NAMES + sent };

	if (r->drain.names)
		lua_names_read(r->drain.names, write_name, &w);
	reference_take(&r->reference, write_reference, &w);
	if (w.m.words)
		send(r, meta_end(&w.m));
	r->names_sent = w.number - META_NAMES;
}
