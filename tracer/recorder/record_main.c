/* record_main.c - weft-record: `weft record [options] -- program args`. Makes
 * the parts of a recording, lets the program run, drains the pool until all
 * recorded processes have ended, and closes the trace.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/closing.h"
#include "tracer/recorder/control/client.h"
#include "tracer/recorder/notes.h"
#include "tracer/recorder/unrecorded.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CANNOT_RECORD = 2, NOT_FOUND = 127 };

/* ---- start: in the order that lets the program inherit nothing ---- */

/* What it lacks for being recorded well is told at the end. */
static int find_attached(struct recording *r)
{
	if ((r->opt.sample_only ?
	     target_find(&r->attach.target, r->opt.attach) :
	     attach_find(&r->attach, r->opt.attach, r->opt.pool_bytes,
			 r->opt.waits || r->opt.heap)) != 0)
		return -1;
	if (r->attach.pool_size > 0)
		r->opt.pool_bytes = r->attach.pool_size;
	r->opt.program[0] = r->attach.target.name;
	memcpy(r->program_path, r->attach.target.exe, sizeof(r->program_path));
	process_attached(r->attach.target.remote.pid);
	return 0;
}

static int find_program(struct recording *r, int *status)
{
	const char *const name = r->opt.program[0];

	if (r->opt.attach)
		return find_attached(r);
	if (elf_file_find_program(name, r->program_path)) {
		r->outlook = diagnose_before(r->program_path);
		return 0;
	}
	message("there is no program \"%s\"", name);
	*status = NOT_FOUND;
	return -1;
}

/* AddressSanitizer must be the first library, unless it is told otherwise. */
static bool needs_asan(const char *path)
{
	struct elf_file file;

	return elf_file_read(path, &file) == 0 && file.needs_asan;
}

/* The verdicts are there before the program starts, as far as they can be known
 * by then. Negative: no memory. */
static int choose_functions(struct recording *r, struct selection *s,
			    const struct selection_wish *wish)
{
	if (selection_init(s, wish, r->owner.verdicts, r->owner.verdict_slots,
			   r->drain.names) != 0)
		return -1;
	selection_program(s, r->program_path);
	return 0;
}

/* Those that are left out, and that with which recording begins. */
static int choose_all_functions(struct recording *r)
{
	const struct selection_wish start = { .start = r->opt.start_on };
	const struct selection_wish *const w = &r->opt.select;

	if (w->only || w->skip || w->count)
		r->drain.selection = &r->selection;
	return (r->drain.selection &&
		choose_functions(r, &r->selection, w) != 0) ||
	       (start.start && choose_functions(r, &r->awaited, &start) != 0) ?
	       -1 : 0;
}

/* The pool's name tells where the last records of a killed recorder are. The
 * spill file is made before it is needed: later, the disk may be full. A flight
 * recorder makes neither. */
static int make_files(struct recording *r)
{
	const uint32_t words = notes_no_end(r);

	if (!r->sink.flight &&
	    (trace_folder_put(&r->folder, "pool", r->owner.path) != 0 ||
	     spill_open(&r->sink.spill, r->folder.fd,
			sink_reserve(&r->sink, words)) != 0)) {
		message("cannot write to \"%s\": %s", r->folder.path,
			strerror(errno));
		return -1;
	}
	lua_names_init(&r->names);
	r->drain.names = r->opt.no_lua_names ? NULL : &r->names;
	if (flight_watch(r) != 0 || choose_all_functions(r) != 0) {
		message("there is not enough memory to record");
		return -1;
	}
	if (!r->opt.archive)
		return 0;
	r->sink.archive = &r->archive;
	return archive_init(&r->archive, r->folder.fd);
}

static int fork_program(struct recording *r)
{
	const struct child_environment environment = {
		.preload = r->outlook == OUTLOOK_NO_PRELOAD ? NULL :
			   r->installation.preload,
		.modules = r->opt.lua_init ? r->installation.modules : NULL,
		.is_asan = needs_asan(r->program_path),
	};

	if (r->opt.attach) {
		program_leave_alone(&r->program);
		return 0;
	}
	if (program_fork(&r->program, r->opt.program, r->opt.sample_only ?
			 NULL : &r->owner, &environment) != 0)
		return -1;
	program_leave();
	return 0;
}

/* Watching a thread takes a descriptor. The program must have been forked
 * before: it keeps its own limit. */
static void allow_files(void)
{
	const rlim_t wanted = 65536;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A drain_sent_fn. */
static void on_sent(void *ctx, const uint64_t *chunk, uint32_t words)
{
	struct recording *const r = ctx;

	control_offer(&r->control, chunk, words);
	rotation_poll(r);
}

/* What chunks go through. LTTng's rings get a part of what is free once the
 * pool is made. */
static int make_stages(struct recording *r)
{
	const uint64_t kept = r->opt.flight_bytes;
	const uint64_t rings = kept > 0 || r->opt.max_size > 0 ||
			       r->opt.sample_only ? 0 : lttng_join_plan(r);

	const uint64_t sent = r->opt.relay.host[0] ? RELAY_BYTES : 0;

	if (sink_init(&r->sink, kept > 0 ? kept : rings + sent) != 0 ||
	    registry_init(&r->registry, &r->owner, &r->rate) != 0 ||
	    drain_init(&r->drain, &r->owner, &r->registry, &r->sink,
		       &r->rate) != 0 ||
	    flight_begin(r) != 0 ||
	    budget_init(&r->budget, r->opt.budget, &r->owner, &r->rate) != 0) {
		message("there is not enough memory to record");
		return -1;
	}
	r->budget.lua = r->opt.lua == POOL_LUA_BUDGET;
	r->drain.budget = &r->budget;
	r->drain.sent = on_sent;
	r->drain.sent_ctx = r;
	r->sink.compress = r->opt.compress;
	return 0;
}

/* The program is forked last: after that, descriptors and limits are ours. */
static int make_parts(struct recording *r, int *status)
{
	const struct pool_wish wish = {
		.bytes = r->opt.pool_bytes,
		.on_full = r->opt.on_full,
		.paused = schedule_begins_off(&r->opt) || r->opt.attach ||
			  r->opt.sample_only,
		.awaits = r->opt.start_on,
		.attached = r->opt.attach,
		.lua = r->opt.lua,
		.native = !r->opt.no_native,
		.waits = r->opt.waits,
		.heap = r->opt.heap,
		.counts = r->opt.count_only,
		.tsc = r->rate.tsc,
		.verdicts = r->opt.select.only || r->opt.select.skip ||
			    r->opt.select.count || r->opt.budget > 0 ||
			    r->opt.start_on || r->opt.attach,
	};

	if (pool_owner_create(&r->owner, &wish) != 0 ||
	    pool_owner_populate(&r->owner) == 0)
		return -1;
	if (make_stages(r) != 0)
		return -1;
	if (r->opt.attach)
		allow_files();
	if (make_files(r) != 0 || unrecorded_before(r, status) != 0 ||
	    fork_program(r) != 0)
		return -1;
	allow_files();
	requests_init(r);
	return 0;
}

/* Nothing was recorded: leave nothing behind. */
static void undo(struct recording *r)
{
	program_cancel(&r->program);
	calibration_end(&r->calibration);
	control_fini(&r->control);
	lttng_join_undo(r);
	spill_discard(&r->sink.spill);
	pool_owner_remove(&r->owner);
	trace_folder_remove(&r->folder);
	installation_clean(&r->installation);
}

/* Without samples, what recording costs must be measured; with them, what Lua
 * does to call hooks, where that has no names. */
static void choose_samples(struct recording *r)
{
	r->unwatched = cpu_watch_choose(r->registry.cpu, r->opt.sample_hz);
	if (!r->opt.count_only && !r->opt.sample_only)
		calibration_begin(&r->calibration, r->installation.preload,
				  r->rate.tsc);
	r->budget.call_ns = r->calibration.cost;
}

/* Make all that is needed, and let the program run. Negative: nothing runs, and
 * *status is what to exit with. */
static int start_recording(struct recording *r, int *status)
{
	*status = CANNOT_RECORD;
	r->owner.fd = r->sink.spill.fd = -1;
	r->program.go = r->control.listener = -1;
	if (find_program(r, status) != 0 ||
	    installation_find(&r->installation) != 0)
		return -1;
	rate_start(&r->rate, rate_tsc_usable());
	if (trace_folder_make(&r->folder, r->opt.output,
			      r->opt.program[0]) != 0) {
		installation_clean(&r->installation);
		return -1;
	}
	if (program_take_signals(&r->program) != 0 ||
	    make_parts(r, status) != 0) {
		undo(r);
		return -1;
	}
	rate_update(&r->rate, r->owner.pool);
	r->owner.pool->max_depth = r->opt.max_depth;
	r->owner.pool->brief = (uint64_t)((double)r->opt.min_duration *
					  (double)r->rate.hz / 1e9);
	choose_samples(r);
	lttng_join_wait(r);
	r->begin_ns = rate_mono();
	if (unrecorded_begin(r) != 0 ||
	    (r->opt.attach && r->opt.sample_only ? 0 : r->opt.attach ?
	     attach_begin(&r->attach, &r->owner,
			  schedule_begins_off(&r->opt),
			  r->installation.library) :
	     program_go(&r->program, r->opt.program[0], status)) != 0) {
		undo(r);
		return -1;
	}
	return 0;
}

/* ---- while the program runs ---- */

enum {
	SLEEP_MIN_MS = 1,
	SLEEP_MAX_MS = 20,
	PROCESSES_MS = 100,        /* between looks at the process slots */
	RINGS_MS = 20,             /* between readings of the kernel's rings */
	FOLLOW_MS = 50,            /* between looks at all of /proc */
	FOLLOW_MAX_MS = 2000,
	BEAT_MS = 500,
	CUT_AFTER_MS = 500,
	COPY_AFTER_MS = 1000,
};

/* Records are delivered at most 2 s after they were made. On each even beat,
 * once a second, threads are asked to close the chunks that they opened more
 * than 0.5 s ago. On the odd beat, 0.5 s later, what is older than 1 s and
 * still open is copied. */
struct loop {
	struct recording *r;
	uint64_t now;              /* ms */
	uint64_t next_processes, next_follow, next_beat, next_rings;
	uint64_t end_since;        /* no process was found then; 0: one was */
	uint32_t live;             /* processes that the pool called alive */
	uint32_t follow_every, beat, sleep;
	uint32_t sleep_most;       /* the budget has something to do then */
	bool is_behind;            /* there is more to do: do not sleep */
	bool told_following, saw_end;
};

static void on_beat(struct loop *l)
{
	struct recording *const r = l->r;

	l->next_beat = l->now + BEAT_MS;
	rate_update(&r->rate, r->owner.pool);
	if (l->beat++ % 2 == 0)
		drain_cut_older(&r->drain, CUT_AFTER_MS);
	else
		drain_copy_older(&r->drain, COPY_AFTER_MS, false);
	if (l->beat % 10 == 0)
		registry_find_dead(&r->registry, true);
	chunk_queue_rest(&r->drain.copies);
	sink_check_lttng(&r->sink);
	requests_beat(r, l->now);
	if (l->beat % 2 == 0)
		requests_show(r);
	if (calibration_poll(&r->calibration))
		r->budget.call_ns = r->calibration.cost;
}

static void look_at_processes(struct loop *l)
{
	registry_update_processes(&l->r->registry, l->now);
	l->next_processes = l->now + PROCESSES_MS;
}

static void tell_following(struct loop *l)
{
	const uint32_t n = l->r->registry.live_processes;
	char text[64];

	if (l->told_following || !isatty(STDERR_FILENO))
		return;
	l->told_following = true;
	message_summary("still recording %s; press Ctrl-C to finish",
			amount_many(text, sizeof(text), n, "processes"));
}

/* The pool says that no process lives, but others may: they were forked but
 * have not registered yet, or are between two images. Or it says that some
 * live, and there are none. */
static bool is_anybody_there(const struct recording *r)
{
	return (r->registry.live_processes > 0 &&
		registry_sees_process(&r->registry)) ||
	       process_count_mapping(&r->owner) > 0;
}

static bool is_nobody_left(struct loop *l)
{
	if (l->live != l->r->registry.live_processes) {
		l->live = l->r->registry.live_processes;
		l->next_follow = l->now;
		l->follow_every = FOLLOW_MS;
	}
	if (l->now < l->next_follow)
		return false;
	if (is_anybody_there(l->r)) {
		if (l->follow_every < FOLLOW_MAX_MS)
			l->follow_every *= 2;
		l->end_since = 0;
	} else if (l->end_since == 0) {
		/* Look twice: during an exec, a process maps nothing. */
		l->end_since = l->now;
		l->follow_every = FOLLOW_MS;
	} else {
		return true;
	}
	l->next_follow = l->now + l->follow_every;
	return false;
}

/* The recording ends with the last process that maps the pool, or when the user
 * says so. */
static bool is_over(struct loop *l)
{
	struct recording *const r = l->r;

	if (r->wants_finish)
		return true;
	if (r->opt.sample_only && r->opt.attach)
		return r->program.wants_finish || !unrecorded_is_alive(r);
	if (!r->program.has_ended)
		return false;
	if (r->opt.no_follow || r->program.wants_finish ||
	    !attach_poll(&r->attach, &r->owner, l->now))
		return true;
	if (r->attach.waits)
		return false;
	if (!l->saw_end || l->now >= l->next_processes)
		look_at_processes(l);
	l->saw_end = true;
	if (r->registry.live_processes > 0)
		tell_following(l);
	return r->nobody_left = is_nobody_left(l);
}

static bool has_to_send(struct recording *r)
{
	return !chunk_queue_is_empty(&r->drain.copies);
}

/* Sleep, within bounds, for a quarter of the time in which the free buffers
 * would be used up at the rate of the last round. */
static void choose_sleep(struct loop *l, uint32_t taken)
{
	l->is_behind = taken > l->r->owner.big / 2 || has_to_send(l->r);
	const uint64_t ms = taken == 0 ? l->sleep * 2 :
			    (uint64_t)l->r->drain.free_big * l->sleep /
			    taken / 4;

	l->sleep = ms < SLEEP_MIN_MS ? SLEEP_MIN_MS :
		   ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : (uint32_t)ms;
}

/* A descriptor that can be read stays so: it is watched no longer. */
static void check_daemons(struct recording *r)
{
	const char *const lost = session_process_lost(&r->session);

	if (!lost)
		return;
	sink_give_up_lttng(&r->sink, lost);
	session_process_look_away(&r->session);
}

static void wait_for_something(struct loop *l)
{
	struct recording *const r = l->r;
	struct pollfd watched[] = {
		{ .fd = r->program.signals, .events = POLLIN },
		{ .fd = r->session.daemon, .events = POLLIN },
		{ .fd = r->session.consumer, .events = POLLIN },
		{ .fd = r->session.relay, .events = POLLIN },
		{ .fd = r->flight.ends.all, .events = POLLIN },
	};

	const uint32_t ms = l->sleep < l->sleep_most ? l->sleep : l->sleep_most;

	if (poll(watched, sizeof(watched) / sizeof(*watched),
		 l->is_behind ? 0 : (int)ms) > 0) {
		if (watched[0].revents)
			program_handle_signals(&r->program);
		check_daemons(r);
	}
	l->now = rate_mono_ms();
}

/* At once, not when the thread's chunk comes: its process may have ended then,
 * and nobody can say what it mapped. */
static void want_mapped(struct recording *r)
{
	for (uint32_t i = 0; i < r->registry.used_n; i++) {
		struct cpu_watched *const t =
			&r->registry.cpu->slot[r->registry.used[i]];

		if (t->has_mapped)
			code_maps_want(&r->drain.maps, t->process);
		t->has_mapped = false;
	}
}

/* Samples lie in code that chunks need not name. */
static void watch_threads(struct recording *r, uint64_t now)
{
	if (!r->registry.cpu || r->registry.cpu->period == 0) {
		registry_watch_new(&r->registry);
		return;
	}
	if (registry_watch_new(&r->registry))
		code_maps_want_new(&r->drain.maps);
	want_mapped(r);
	code_maps_renew(&r->drain.maps, now);
}

static void watch_cpus(struct loop *l)
{
	struct recording *const r = l->r;

	if (l->now >= l->next_rings) {
		registry_read_rings(&r->registry);
		l->next_rings = l->now + RINGS_MS;
	}
	if (r->registry.cpu && r->registry.cpu->is_crowded) {
		r->registry.cpu->is_crowded = false;
		drain_cut_older(&r->drain, RINGS_MS);
	}
	watch_threads(r, l->now);
}

/* Work for the thread that the turn is lent to. */
static bool drain_meanwhile(void *ctx)
{
	struct recording *const r = ctx;
	return drain_poll(&r->drain) > 0 || has_to_send(r);
}

/* From the program's first instruction to the end of the recording. */
static void run_loop(struct recording *r)
{
	struct loop l = { .r = r, .sleep = SLEEP_MIN_MS,
			  .follow_every = FOLLOW_MS, .now = rate_mono_ms() };

	l.next_beat = l.now + BEAT_MS;
	l.next_processes = l.now + PROCESSES_MS;
	turn_start(drain_meanwhile, r);
	for (;;) {
		choose_sleep(&l, drain_poll(&r->drain));
		flight_poll(r);
		watch_cpus(&l);
		unrecorded_poll(r);
		l.sleep_most = budget_beat(&r->budget, l.now);
		if (l.now >= l.next_beat)
			on_beat(&l);
		control_poll(&r->control, l.now);
		if (schedule_poll(r))
			l.sleep = SLEEP_MIN_MS;
		if (is_over(&l))
			break;
		if (!r->program.has_ended && l.now >= l.next_processes)
			look_at_processes(&l);
		wait_for_something(&l);
	}
	r->end_ns = rate_mono();
	unrecorded_end(r);
	turn_end();
}

/* ---- the end ---- */

/* Recording was ended before the program, which goes on. It is ours to wait
 * for: who started us waits for it. */
static void wait_for_program(struct program *p)
{
	struct pollfd news = { .fd = p->signals, .events = POLLIN };

	while (!p->has_ended) {
		poll(&news, 1, -1);
		program_handle_signals(p);
	}
}

int main(int argc, char **argv)
{
	static struct recording r;
	static char name[] = "weft record"; /* in its help */

	if (argc > 0 && client_knows(argv[0]))
		return client_run(argc, argv);
	if (argc > 0)
		argv[0] = name;

	int status = options_read(&r.opt, argc, argv);

	if (status >= 0) {
		fflush(stdout);
		return status;
	}
	message_quiet(r.opt.quiet);
	/* Of a program that is started, the terminal is the program's. */
	r.opt.progress |= r.opt.attach != NULL;
	session_process_init(&r.session);
	if (start_recording(&r, &status) == 0) {
		/* The recording goes on if nobody reads our messages. */
		signal(SIGPIPE, SIG_IGN);
		run_loop(&r);
		closing_run(&r);
		summary_print(&r);
		wait_for_program(&r.program);
		status = program_exit_like(&r.program);
	}
	/* LTTng's destructors wait for its threads and may hang. Nothing is
	 * left to do. */
	_exit(status);
}
