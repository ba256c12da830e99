/* summary.c - what a recording came to: the lines that the user reads at the
 * end.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/recording.h"
#include "tracer/recorder/trace/lttng_daemon.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 64 };

static const char *many(char to[MANY], uint64_t n, const char *nouns)
{
	return amount_many(to, MANY, n, nouns);
}

/* How many serials the pool has given out. */
static uint32_t given_out(const _Atomic uint32_t *next)
{
	const uint32_t n = atomic_load(next);

	return n > 0 ? n - 1 : 0;
}

/* ---- what the pool says ---- */

/* Nothing happens more often than once a ns on each processor. */
static uint64_t most_that_can_be(const struct recording *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (rate_mono() - r->begin_ns) * (uint64_t)(cpus > 0 ? cpus : 1);
}

static void check_count(struct said *s, uint64_t *n, uint64_t most)
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
		.coroutines = p->next_coroutine - 1 - r->attach.coroutines,
		.unslotted_threads = p->unslotted_threads,
		.unslotted_processes = p->unslotted_processes,
		.unjoined_processes = p->unjoined_processes,
		.unrecorded = p->unrecorded,
		.after_destructors = p->after_destructors,
		.unheard = registry_count_unheard(&r->registry),
		.is_false = r->owner.is_cut,
	};
	registry_sum_lost(&r->registry, s->lost);
	for (int i = 0; i < LOST_REASONS; i++) {
		check_count(s, &s->lost[i], most);
		/* Before a snapshot begins. */
		s->lost[i] -= s->lost[i] < r->flight.gone.lost[i] ?
			      s->lost[i] : r->flight.gone.lost[i];
	}
	check_count(s, &s->coroutines, most);
	check_count(s, &s->unslotted_threads, most);
	check_count(s, &s->unslotted_processes, most);
	check_count(s, &s->unjoined_processes, most);
	check_count(s, &s->unrecorded, most);
	check_count(s, &s->after_destructors, most);
}

/* ---- lines for the user ---- */

static void print_counts(const struct recording *r)
{
	const struct pool *const p = r->owner.pool;
	const bool is_flight = r->sink.flight != NULL;
	const uint64_t threads = is_flight ? given_out(&p->next_thread) :
				 recording_holds(r, CENSUS_THREADS);
	/* Threads without a place may have got one later. */
	const uint64_t lost = is_flight ? 0 : r->said.unheard;
	char processes[MANY], of[MANY] = "", all[MANY], vms[MANY],
	     coroutines[MANY];

	assert(r->end_ns >= r->begin_ns);
	if (lost > 0)
		snprintf(of, sizeof(of), "%" PRIu64 " of ", threads);
	message_summary("recorded %.3f s: %s, %s%s, %s, %s",
			(double)(r->end_ns - r->begin_ns) / 1e9,
			many(processes, is_flight ?
			     given_out(&p->next_process) :
			     recording_holds(r, CENSUS_PROCESSES), "processes"),
			of, many(all, threads + lost, "threads"),
			many(vms, is_flight ? given_out(&p->next_vm) :
			     recording_holds(r, CENSUS_VMS), "Lua states"),
			many(coroutines, r->said.coroutines, "coroutines"));
	if (r->opt.lua == POOL_LUA_SAMPLED &&
	    recording_holds(r, CENSUS_VMS) > 0)
		message_summary("Lua was sampled: its functions have times; "
				"--lua exact counts their calls, too");
	if (r->said.unslotted_processes > 0)
		message_summary("note: %s beyond the %u that can live at one "
				"time: their calls are recorded, but their "
				"ends may be seen late",
				many(all, r->said.unslotted_processes,
				     "processes"), r->owner.process_slots);
}

/* The archive does not count: its size says nothing of what a record takes. Of
 * an archive that was removed the size is remembered. */
static void print_size(const struct recording *r)
{
	const uint64_t all = trace_folder_bytes(r->folder.absolute);
	const uint64_t bytes = all < r->archive.bytes ? 0 :
			       all - r->archive.bytes;
	const uint64_t lost = r->sink.delivery.lost_records;
	const uint64_t here = r->drain.records < lost ? 0 :
			      r->drain.records - lost;
	char text[32], of[40] = "", calls[MANY], records[MANY];

	amount_print(text, sizeof(text), (double)bytes);
	many(calls, r->drain.counted, "calls");
	many(records, here + lost, "records");
	if (lost > 0)
		snprintf(of, sizeof(of), "%" PRIu64 " of ", here);
	if (r->drain.counted > 0 && !r->opt.count_only)
		message_summary("%s counted, without records", calls);
	if (r->opt.count_only)
		message_summary("%s counted, %s on disk", calls, text);
	else if (here == 0)
		message_summary("no records%s, %s on disk", lost == 0 ? "" :
				" of those that were made", text);
	else if (r->rotation.removed > 0)
		message_summary("%s%s, of which the newest take %s on disk",
				of, records, text);
	else
		message_summary("%s%s, %s on disk, %.1f bytes a record", of,
				records, text, (double)bytes / (double)here);
}

/* Where to find what is not here. */
static void print_relayed(const struct recording *r, const char *path)
{
	char records[MANY];

	message_summary("%s%s sent to %s: below its lttng-relayd's output "
			"folder, in *%s*",
			many(records, r->drain.records, "records"),
			r->sink.lttng ? "" : ", some", r->opt.relay.host,
			r->plan.name);
	if (r->sink.spilled)
		message_summary("what was not taken there is in "
				"%s/spill.weft: copy it into that folder",
				path);
}

static void print_flight(const struct recording *r)
{
	char size[32], most[32], age[48] = "", records[MANY], snapshots[MANY];

	amount_print(size, sizeof(size),
		      (double)trace_folder_bytes(r->folder.absolute));
	amount_print(most, sizeof(most), (double)r->opt.flight_bytes);
	if (r->opt.flight_ms > 0)
		snprintf(age, sizeof(age), ", those of the last %g s",
			 (double)r->opt.flight_ms / 1000);
	message_summary("%s passed, of which the newest were kept%s, in %s at "
			"most; %s, %s on disk",
			many(records, r->drain.records, "records"), age, most,
			many(snapshots, r->flight.snapshots, "snapshots"),
			size);
}

static void print_pieces(const struct rotation *t)
{
	char pieces[MANY];

	many(pieces, t->closed, "pieces");
	if (t->removed > 0)
		message_summary("%s, without the oldest %" PRIu32
				" (--max-files)", pieces, t->removed);
	else if (t->closed > 0)
		message_summary("%s", pieces);
}

/* "lost: N NOUNS WORDS", unless n is 0. Returns n. */
static uint64_t print_lost(uint64_t n, const char *nouns, const char *words)
{
	char text[MANY];

	if (n > 0)
		message_summary("lost: %s%s", many(text, n, nouns), words);
	return n;
}

/* Losses that nobody could count. */
static uint64_t print_unknown(const struct recording *r)
{
	const char *const why = r->said.is_false ?
		"the program overwrote its counts" :
		r->registry.trouble & TROUBLE_LUA_HOOK ?
		"a script's debug.sethook put weft's hook away" :
		r->registry.trouble & TROUBLE_CONSTRUCTORS ?
		"a library was opened with RTLD_DEEPBIND or by dlmopen, and "
		"what its constructors called is not recorded" : NULL;

	if (why)
		message_summary("lost: not known (%s)", why);
	return why != NULL;
}

/* How to lose none where no buffer was free. */
static void print_way_out(const struct recording *r)
{
	if (r->drain.gave_up > 0)
		message_summary("      all buffers were held by threads that "
				"waited for each other: use a larger "
				"--pool-size");
	else if (r->opt.on_full != POOL_WAIT)
		message_summary("      to lose none, use a larger --pool-size, "
				"or --on-full=wait");
}

/* Processes and threads that did not take part, or only at times. */
static uint64_t print_unjoined(const struct recording *r)
{
	const struct said *const s = &r->said;
	char words[64];

	snprintf(words, sizeof(words), " beyond the %u that can live at one "
		 "time", r->owner.thread_slots);
	return print_lost(s->unjoined_processes, "processes",
			  " not recorded: no memory (where RLIMIT_AS is small, "
			  "use a smaller --pool-size), or "
			  "madvise(MADV_WIPEONFORK) is refused (by a seccomp "
			  "filter, or Linux before 4.14)") +
	       print_lost(s->unslotted_threads, "threads", words) +
	       print_lost(s->unrecorded, "calls",
			  " that could not be recorded: no memory or no room, "
			  "or made by the loader before the program began") +
	       print_lost(s->after_destructors, "calls",
			  " of threads after their last destructor");
}

/* What the program could not record. Returns 0 if there is nothing. */
static uint64_t print_unrecorded(const struct recording *r)
{
	const struct said *const s = &r->said;
	uint64_t any = print_unknown(r);
	char words[128], steps[MANY];

	for (int i = 0; i < LOST_REASONS; i++) {
		const struct lost_reason *const why = lost_reason(i);

		any += s->lost[i];
		snprintf(words, sizeof(words), " (%s)", why->meaning);
		/* A step of the clock counts as 0 ticks: nothing is missing. */
		if (i != LOST_CLOCK)
			print_lost(s->lost[i], why->unit, words);
		else if (s->lost[i] > 0)
			message_summary("note: %s%s", many(steps, s->lost[i],
					why->unit), words);
	}
	if (s->lost[LOST_FULL] > 0)
		print_way_out(r);
	/* Their records are counted above. */
	print_lost(s->unheard, "threads", " of which nothing is in the trace: "
		   "no buffer was ever free");
	return any + print_unjoined(r);
}

/* What was recorded, but is not in the trace. Returns 0 if there is nothing. */
static uint64_t print_undelivered(const struct recording *r)
{
	const struct delivery *const a = &r->sink.delivery;
	char records[MANY], words[MANY + 64];

	snprintf(words, sizeof(words), " with %s (in none of the trace's "
		 "files)", many(records, a->lost_records, "records"));
	print_lost(a->lost_chunks, "chunks", words);
	if (a->is_blind)
		message_summary("lost: not known (not all that was sent "
				"can be looked for)");
	print_lost(r->drain.damaged, "buffers",
		   " that the program overwrote");
	return a->lost_chunks + a->is_blind + r->drain.damaged;
}

/* Nobody here can look at what a relay daemon wrote. */
static void print_losses(const struct recording *r, bool is_relayed)
{
	const uint64_t lost = print_unrecorded(r) + print_undelivered(r);

	if (is_relayed)
		message_summary("%sweft report on %s says what arrived there",
				lost > 0 ? "note: " :
				"lost: 0 on this machine; ", r->opt.relay.host);
	else if (lost == 0)
		message_summary("lost: 0");
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
	char why[128], threads[MANY];

	cpu_watch_explain(r->unwatched, why, sizeof(why));
	if (why[0])
		message_summary("note: it is not known when threads ran, nor "
				"in which code: %s", why);
	if (cpu_watch_is_forbidden(r->unwatched))
		print_ways_out();
	if (w && w->most_hz > 0)
		message_summary("note: --sample-rate %d is more than the "
				"kernel takes, which is %" PRIu64 " a second "
				"(kernel.perf_event_max_sample_rate)",
				r->opt.sample_hz, w->most_hz);
	if (why[0] || !w || w->refused == 0)
		return;
	cpu_watch_explain(w->why, why, sizeof(why));
	message_summary("note: when %s ran is not known, nor in which code: %s",
			many(threads, w->refused, "threads"), why);
}

static void print_archive(const struct archive *a)
{
	char text[32], files[MANY];

	amount_print(text, sizeof(text), (double)a->bytes);
	message_summary("archived %s, %s", many(files, a->copied, "files"),
			text);
	if (a->missing > 0)
		message_summary("not archived: %u, the first of them %s; see "
				"archive/contents", a->missing,
				archive_missing(a));
	if (a->unlisted > 0)
		message_summary("not archived: %u more than an archive can "
				"hold", a->unlisted);
}

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

static void diagnose(const struct recording *r)
{
	const struct diagnose_facts facts = {
		.processes = given_out(&r->owner.pool->next_process),
		.was_paused = r->opt.paused,
		.awaited = atomic_load(&r->owner.pool->generation) &
			   POOL_AWAITS ? r->opt.start_on : NULL,
		.awaited_n = r->awaited.skipped,
		.native_wanted = !r->opt.no_native,
		.lua_wanted = r->opt.lua != POOL_LUA_OFF,
		.attached = r->attach.is_used,
		.vms = r->attach.is_used ? recording_holds(r, CENSUS_VMS) :
		       given_out(&r->owner.pool->next_vm),
		.trouble = r->registry.trouble,
		.seen = &r->registry.seen,
		.leaves_out = !!r->drain.selection,
		.told = r->outlook != OUTLOOK_GOOD ||
			r->registry.watch.reported > 0 ||
			r->said.unjoined_processes > 0,
	};

	if (r->drain.records + r->drain.counted == 0)
		diagnose_empty(r->program_path, r->opt.program, &facts);
	else
		diagnose_partial(r->program_path, &facts);
}

static void print_reference(const struct recording *r)
{
	const struct reference *const f = &r->reference;
	char text[REFERENCE_TEXT], threads[MANY];

	if (reference_text(f, text))
		message_summary("reference: %s", text);
	if (f->sampler.left_out > 0)
		message_summary("note: %s had no place in it: `ulimit -n` is "
				"too low", many(threads, f->sampler.left_out,
				"threads"));
}

/* Who reads times and counts must know that a signal cut them off. */
static void print_end(const struct recording *r)
{
	const struct attach *const a = &r->attach;
	const int status = a->is_used ? a->status : r->program.status;
	char who[128] = "the program";

	if (a->is_used)
		snprintf(who, sizeof(who), "process %d (%s)",
			 (int)attach_pid(a), a->target.name);
	if (a->is_used ? !a->has_ended : !r->program.has_ended)
		return;
	if (status < 0)
		message_summary("%s has ended; how is not known", who);
	else if (WIFSIGNALED(status))
		message_summary("%s was ended by signal %d (%s)", who,
				WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static void print_left(const struct recording *r)
{
	const bool is_one = r->left_running == 1;

	if (r->left_running > 0 && !r->attach.is_used)
		message_summary("%u process%s keep%s running, but will not be "
				"recorded any more", r->left_running,
				is_one ? "" : "es", is_one ? "s" : "");
}

/* With --sample-only. */
static void print_sampled(const struct recording *r)
{
	char path[PATH_MAX + 8];

	print_end(r);
	print_reference(r);
	quote(path, sizeof(path), r->folder.path);
	message_summary("next: weft report --reference %s TRACE", path);
}

/* A user who looks at the processes finds it. */
static void print_daemon(const struct recording *r)
{
	if (r->session.has_opened && isatty(STDERR_FILENO) &&
	    daemon_is_ours(r->session.daemon))
		message_summary("note: lttng-sessiond, which weft started, "
				"ends by itself in 3 to 8 s");
}

void summary_print(const struct recording *r)
{
	const bool is_relayed = r->opt.relay.host[0] &&
				r->session.has_opened;
	char folder[PATH_MAX + 40], path[PATH_MAX + 48];

	if (r->opt.sample_only) {
		print_sampled(r);
		return;
	}
	diagnose(r);
	print_left(r);
	print_end(r);
	print_counts(r);
	if (r->sink.flight)
		print_flight(r);
	else if (!is_relayed)
		print_size(r);
	print_pieces(&r->rotation);
	print_losses(r, is_relayed);
	print_unwatched(r);
	print_reference(r);
	if (r->sink.archive)
		print_archive(&r->archive);
	print_daemon(r);
	if (r->drain.records <= r->sink.delivery.lost_records ||
	    (r->sink.flight && r->flight.snapshots == 0))
		return;
	snprintf(folder, sizeof(folder), "%s%s%s", r->folder.path,
		 r->sink.flight ? "/" : "", r->flight.name);
	quote(path, sizeof(path), folder);
	if (is_relayed) {
		print_relayed(r, path);
		return;
	}
	message_summary("next: weft report %s", path);
}
