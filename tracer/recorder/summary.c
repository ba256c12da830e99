/* summary.c - what a recording came to: the notes in the trace, and the lines
 * that the user reads at the end.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/recording.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name, *meaning, *unit;
} reasons[LOST_REASONS] = {
#define X(name, number, meaning, unit) \
	[number] = { #name, meaning, unit },
	LOST_LIST(X)
#undef X
};

/* How many serials the pool has given out. */
static uint32_t given_out(const _Atomic uint32_t *next)
{
	const uint32_t n = atomic_load(next);

	return n > 0 ? n - 1 : 0;
}

/* How many are in the trace. */
static uint64_t how_many(const struct recording *r, enum census_kind kind)
{
	return r->sink.census.list[kind].count;
}

/* ---- what the pool says ---- */

/* Nothing happens more often than once a ns on each processor. */
static uint64_t most_that_can_be(const struct recording *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (rate_mono() - r->begin_ns) * (uint64_t)(cpus > 0 ? cpus : 1);
}

static void check(struct said *s, uint64_t *n, uint64_t most)
{
	s->is_false |= *n > most;
	if (*n > most)
		*n = 0;
}

void summary_copy_counts(struct recording *r)
{
	const struct pool *const p = r->owner.pool;
	const uint64_t most = most_that_can_be(r);
	struct said *const s = &r->said;

	*s = (struct said){
		.coroutines = p->next_coroutine - 1,
		.unslotted_threads = p->unslotted_threads,
		.unslotted_processes = p->unslotted_processes,
		.unjoined_processes = p->unjoined_processes,
		.unrecorded = p->unrecorded,
		.after_destructors = p->after_destructors,
	};
	registry_sum_lost(&r->registry, s->lost);
	for (int i = 0; i < LOST_REASONS; i++)
		check(s, &s->lost[i], most);
	check(s, &s->coroutines, most);
	check(s, &s->unslotted_threads, most);
	check(s, &s->unslotted_processes, most);
	check(s, &s->unjoined_processes, most);
	check(s, &s->unrecorded, most);
	check(s, &s->after_destructors, most);
}

/* ---- notes in the trace ---- */

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
	char why[128];

	if (!w || r->unwatched != 0)
		return;
	meta_print(m, "samples.lost", "%" PRIu64, cpu_watch_lost(w));
	if (w->refused == 0)
		return;
	cpu_watch_explain(w->why, why, sizeof(why));
	meta_print(m, "samples.why-not", "not of %" PRIu32 " threads: %s",
		   w->refused, why);
}

void summary_start_notes(const struct recording *r, struct meta *m)
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
	meta_print(m, "start", "%" PRIu64, real_time(m));
	meta_note(m, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "");
	meta_print(m, "pool.bytes", "%" PRIu64, r->owner.size);
	meta_print(m, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	meta_note(m, "clock", r->rate.tsc ? "tsc" : "monotonic");
	meta_note(m, "carrier", r->sink.lttng ? "lttng" : "spill");
	if (r->opt.count_only)
		meta_note(m, "mode", "count-only");
	note_samples(r, m);
	note_labels(m, &r->opt);
	note_patterns(m, "filter.only", r->opt.select.only);
	note_patterns(m, "filter.skip", r->opt.select.skip);
}

/* Whether all that happened while recording was on is in the trace. */
static bool is_complete(const struct recording *r)
{
	const struct said *const s = &r->said;
	uint64_t any = r->sink.arrival.lost_chunks + r->drain.damaged +
		       r->left_running + r->sink.arrival.is_blind +
		       drain_overwritten(&r->drain) +
		       s->unslotted_threads + s->unjoined_processes +
		       s->unrecorded + s->after_destructors + s->is_false;

	for (int i = 0; i < LOST_REASONS; i++)
		any += i == LOST_CLOCK ? 0 : s->lost[i];
	/* Other trouble, such as a daemon that died, need not mean a loss. */
	return any == 0 && (r->registry.trouble &
			    (TROUBLE_NO_MEMORY | TROUBLE_CONFINED)) == 0;
}

/* The keys are "lost.full", "lost.depth" and so on. */
static void note_lost(struct meta *m, const uint64_t lost[LOST_REASONS])
{
	char key[32];

	for (int i = 0; i < LOST_REASONS; i++) {
		snprintf(key, sizeof(key), "lost.%s", reasons[i].name);
		for (char *c = key + 5; *c; c++)
			*c |= ' '; /* lower case */
		meta_print(m, key, "%" PRIu64, lost[i]);
	}
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
	meta_print(m, "archive", "%u files, %" PRIu64 " bytes; %u missing",
		   a->copied, a->bytes, a->missing + a->unlisted);
	if (a->missing > 0)
		meta_note(m, "archive.missing", archive_missing(a));
}

void summary_end_notes(const struct recording *r, struct meta *m)
{
	const struct said *const s = &r->said;

	meta_print(m, "end", "%" PRIu64, real_time(m));
	note_exit(m, &r->program);
	note_lost(m, s->lost);
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "lost.chunks", r->sink.arrival.lost_chunks },
		{ "lost.overwritten", drain_overwritten(&r->drain) },
		{ "lost.damaged", r->drain.damaged },
		{ "lost.threads", s->unslotted_threads },
		{ "lost.unrecorded", s->unrecorded },
		{ "lost.late", s->after_destructors },
		{ "threads", how_many(r, CENSUS_THREADS) },
		{ "processes", how_many(r, CENSUS_PROCESSES) },
		{ "vms", how_many(r, CENSUS_VMS) },
		{ "coroutines", s->coroutines },
		{ "records", r->drain.records },
		{ "chunks", r->sink.chunks },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		meta_print(m, counts[i].key, "%" PRIu64, counts[i].n);
	note_sampled(r, m);
	meta_note(m, "complete", is_complete(r) ? "yes" : "no");
	if (r->sink.selection) {
		meta_print(m, "filter.functions", "%" PRIu64,
			   r->selection.skipped);
		meta_print(m, "filter.no-room", "%" PRIu64,
			   r->selection.no_room);
	}
	if (r->sink.archive)
		note_archive(m, &r->archive);
	if (message_troubles()[0])
		meta_note(m, "trouble", message_troubles());
}

/* ---- lines for the user ---- */

static void print_counts(const struct recording *r)
{
	const struct {
		uint64_t n;
		const char *one, *many;
	} counts[] = {
		{ how_many(r, CENSUS_PROCESSES), "process", "processes" },
		{ how_many(r, CENSUS_THREADS), "thread", "threads" },
		{ how_many(r, CENSUS_VMS), "Lua state", "Lua states" },
		{ r->said.coroutines, "coroutine", "coroutines" },
	};
	char line[256];
	size_t at = 0;

	assert(r->end_ns >= r->begin_ns);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at,
				       "%s%" PRIu64 " %s", i > 0 ? ", " : "",
				       counts[i].n, counts[i].n == 1 ?
				       counts[i].one : counts[i].many);
	message_summary("recorded %.3f s: %s",
			(double)(r->end_ns - r->begin_ns) / 1e9, line);
	if (r->said.unslotted_processes > 0)
		message_summary("note: %" PRIu64 " processes beyond the %u "
				"that can live at one time: their calls are "
				"recorded, their ends may be seen late",
				r->said.unslotted_processes,
				r->owner.process_slots);
}

/* The archive does not count: its size says nothing of what a record takes. Of
 * an archive that was removed the size is remembered. */
static void print_size(const struct recording *r)
{
	const uint64_t all = trace_folder_bytes(r->folder.absolute);
	const uint64_t bytes = all < r->archive.bytes ? 0 :
			       all - r->archive.bytes;
	const uint64_t lost = r->sink.arrival.lost_records;
	const uint64_t here = r->drain.records < lost ? 0 :
			      r->drain.records - lost;
	char text[32], of[40] = "";

	message_bytes(text, sizeof(text), (double)bytes);
	if (lost > 0)
		snprintf(of, sizeof(of), " of %" PRIu64, r->drain.records);
	if (r->opt.count_only)
		message_summary("%" PRIu64 " calls counted, %s on disk",
				r->drain.counted, text);
	else if (here == 0)
		message_summary("no records%s, %s on disk", of, text);
	else
		message_summary("%" PRIu64 "%s records, %s on disk, %.1f bytes "
				"a record", here, of, text,
				(double)bytes / (double)here);
}

/* "lost: N things", unless n is 0. Returns n. */
static uint64_t print_lost(uint64_t n, const char *things)
{
	if (n > 0)
		message_summary("lost: %" PRIu64 " %s", n, things);
	return n;
}

/* What the program could not record. Returns 0 if there is nothing. */
static uint64_t print_unrecorded(const struct recording *r)
{
	const struct said *const s = &r->said;
	uint64_t any = s->is_false;
	char text[128];

	for (int i = 0; i < LOST_REASONS; i++) {
		any += s->lost[i];
		snprintf(text, sizeof(text), "%s (%s)", reasons[i].unit,
			 reasons[i].meaning);
		/* A step of the clock counts as 0 ticks: nothing is missing. */
		if (i != LOST_CLOCK)
			print_lost(s->lost[i], text);
		else if (s->lost[i] > 0)
			message_summary("note: %" PRIu64 " %s", s->lost[i],
					text);
	}
	if (s->lost[LOST_FULL] > 0)
		message_summary("      to lose none, use a larger --pool-size, "
				"or --on-full=wait");
	any += print_lost(s->unjoined_processes,
			  "processes that were not recorded: no memory, or "
			  "madvise(MADV_WIPEONFORK) is refused (by a seccomp "
			  "filter, or Linux before 4.14)");
	if (s->is_false)
		message_summary("lost: not known (the program overwrote its "
				"counts)");
	snprintf(text, sizeof(text), "threads beyond the %u that can live at "
		 "one time", r->owner.thread_slots);
	return any + print_lost(s->unslotted_threads, text) +
	       print_lost(s->unrecorded,
			  "calls of threads that could not be recorded") +
	       print_lost(s->after_destructors,
			  "calls of threads after their last destructor");
}

/* What was recorded, but is not in the trace. Returns 0 if there is nothing. */
static uint64_t print_undelivered(const struct recording *r)
{
	const uint64_t overwritten = drain_overwritten(&r->drain);
	const struct arrival *const a = &r->sink.arrival;
	char text[96];

	print_lost(overwritten, overwritten == 1 ?
		   "chunk, overwritten by later ones (--on-full overwrite)" :
		   "chunks, overwritten by later ones (--on-full overwrite)");
	snprintf(text, sizeof(text), "chunks with %" PRIu64 " records (they "
		 "are in none of the trace's files)", a->lost_records);
	print_lost(a->lost_chunks, text);
	if (a->is_blind)
		message_summary("lost: not known (there was no memory to "
				"remember what was sent)");
	print_lost(r->drain.damaged, "buffers that the program overwrote");
	return overwritten + a->lost_chunks + a->is_blind + r->drain.damaged;
}

static void print_ways_out(void)
{
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	message_summary("      to allow it, as root: sysctl "
			"kernel.perf_event_paranoid=2 (all users may watch "
			"their own programs), or");
	message_summary("      setcap cap_perfmon=ep %s (who runs it may "
			"watch any program)", path);
}

/* Without these nothing that was asked for is lost, but times say less. */
static void print_unwatched(const struct recording *r)
{
	const struct cpu_watch *const w = r->registry.cpu;
	char why[128];

	cpu_watch_explain(r->unwatched, why, sizeof(why));
	if (why[0])
		message_summary("note: it is not known when threads ran, nor "
				"in which code: %s", why);
	if (cpu_watch_is_forbidden(r->unwatched))
		print_ways_out();
	if (why[0] || !w || w->refused == 0)
		return;
	cpu_watch_explain(w->why, why, sizeof(why));
	message_summary("note: of %" PRIu32 " threads it is not known when "
			"they ran, nor in which code: %s", w->refused, why);
}

static void print_archive(const struct archive *a)
{
	char text[32];

	message_bytes(text, sizeof(text), (double)a->bytes);
	message_summary("archived %u files, %s", a->copied, text);
	if (a->missing > 0)
		message_summary("not archived: %u, the first of them %s; see "
				"archive/contents", a->missing,
				archive_missing(a));
	if (a->unlisted > 0)
		message_summary("not archived: %u more than an archive can "
				"hold", a->unlisted);
}

/* Quote a path for a shell. */
static void quote(char *out, size_t room, const char *path)
{
	const char *const special = " \t\n'\"\\$`*?[]()<>|&;#~!{}";
	size_t n = 0;

	if (path[strcspn(path, special)] == '\0') {
		snprintf(out, room, "%s", path);
		return;
	}
	out[n++] = '\'';
	for (; *path && n + 6 < room; path++) {
		if (*path == '\'')
			n += (size_t)snprintf(out + n, room - n, "'\\''");
		else
			out[n++] = *path;
	}
	snprintf(out + n, room - n, "'");
}

/* Was the library that is preloaded built for Lua 5.5, too? */
static bool knows_newer(const struct recording *r)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/5.5/weft.so", r->installation.modules);
	return access(path, F_OK) == 0;
}

static void diagnose(const struct recording *r)
{
	const struct diagnose_facts facts = {
		.processes = given_out(&r->owner.pool->next_process) +
			     (uint32_t)r->said.unjoined_processes,
		.was_paused = r->opt.paused,
		.native_wanted = !r->opt.no_native,
		.lua_wanted = !r->opt.no_lua,
		.lua_init = r->opt.lua_init,
		.knows_newer = knows_newer(r),
		.vms = given_out(&r->owner.pool->next_vm),
		.trouble = r->registry.trouble,
		.seen = &r->registry.seen,
		.leaves_out = !!r->sink.selection,
		.told = r->outlook != OUTLOOK_GOOD ||
			r->registry.watch.reported > 0,
	};

	if (r->drain.records + r->drain.counted == 0)
		diagnose_empty(r->program_path, r->opt.program, &facts);
	else
		diagnose_partial(r->program_path, &facts);
}

void summary_print(const struct recording *r)
{
	char path[PATH_MAX];

	diagnose(r);
	if (r->left_running > 0)
		message_summary("%u process%s keep%s running, but will not be "
				"recorded any more",
				r->left_running,
				r->left_running == 1 ? "" : "es",
				r->left_running == 1 ? "s" : "");
	print_counts(r);
	print_size(r);
	if (print_unrecorded(r) + print_undelivered(r) == 0)
		message_summary("lost: 0");
	print_unwatched(r);
	if (r->sink.archive)
		print_archive(&r->archive);
	if (r->drain.records == 0)
		return;
	quote(path, sizeof(path), r->folder.path);
	message_summary("next: weft report %s", path);
}
