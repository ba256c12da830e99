/* record_main.c - weft-record: `weft record [options] -- program args`. Makes
 * the parts of a recording, lets the program run, drains the pool until all
 * recorded processes have ended, and closes the trace.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/baton.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CANNOT_RECORD = 2, NOT_FOUND = 127 };

typedef void notes_fn(const struct recording *r, struct meta *m);

/* Make a META chunk in the sink's room and return its words. notes may be
 * NULL. */
static uint32_t make_notes(struct recording *r, uint64_t number,
			   notes_fn *notes, uint32_t flags)
{
	struct meta m;

	meta_begin(&m, sink_room(&r->sink), r->owner.recording, number,
		   &r->rate);
	((struct chunk_header *)m.words)->flags |= flags;
	if (notes)
		notes(r, &m);
	return meta_end(&m);
}

/* ---- start: in the order that lets the program inherit nothing ---- */

static int find_program(struct recording *r, int *status)
{
	const char *const name = r->opt.program[0];

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

	if (elf_file_read(path, &file) != 0)
		return false;
	for (int i = 0; i < file.needed_n; i++)
		if (strncmp(file.needed[i], "libasan.so", 10) == 0)
			return true;
	return false;
}

/* Choose the size of LTTng's rings and, if they fit, let the session process
 * begin. Returns the size of all rings; 0: without LTTng. */
static uint64_t plan_lttng(struct recording *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t random = 0;

	r->session = (struct session_process){ -1, -1, -1, NULL };
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)getpid();
	snprintf(r->plan.name, sizeof(r->plan.name),
		 "weft-%d-%08" PRIx32, (int)getpid(), (uint32_t)random);
	snprintf(r->plan.output, sizeof(r->plan.output), "%.*s/ctf",
		 PATH_MAX - 8, r->folder.absolute);
	r->plan.pid = getpid();
	const uint64_t rings = session_plan_fit(&r->plan, pool_folder_free(),
						cpus > 0 ? (uint32_t)cpus : 1);

	if (rings == 0) {
		message_trouble(POOL_FOLDER " is too small for LTTng's rings; "
				"recording goes to spill.weft");
		return 0;
	}
	return session_process_start(&r->session, &r->plan) == 0 ? rings : 0;
}

/* The verdicts are there before the program starts, as far as they can be known
 * by then. */
static int choose_functions(struct recording *r)
{
	if (selection_init(&r->selection, &r->opt.select, r->owner.verdicts,
			   r->owner.verdict_slots, r->sink.names) != 0) {
		message("there is not enough memory to record");
		return -1;
	}
	selection_program(&r->selection, r->program_path);
	r->sink.selection = &r->selection;
	return 0;
}

/* The pool's name tells where the last records of a killed recorder are. The
 * spill file is made before it is needed: later, the disk may be full. */
static int make_files(struct recording *r)
{
	const uint32_t words = make_notes(r, META_END, NULL, CHUNK_PARTIAL);

	if (trace_folder_put(&r->folder, "pool", r->owner.path) != 0 ||
	    spill_open(&r->sink.spill, r->folder.fd,
		       sink_reserve(&r->sink, words)) != 0) {
		message("cannot write to \"%s\": %s", r->folder.path,
			strerror(errno));
		return -1;
	}
	if (!r->opt.no_lua_names && lua_names_init(&r->names) == 0)
		r->sink.names = &r->names;
	if (r->owner.verdict_slots > 0 && choose_functions(r) != 0)
		return -1;
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
		.trace = r->folder.absolute,
		.modules = r->opt.lua_init ? r->installation.modules : NULL,
		.is_asan = needs_asan(r->program_path),
	};

	return program_fork(&r->program, r->opt.program, &r->owner,
			    &environment);
}

/* Watching a thread takes a descriptor. The program must have been forked
 * before: it keeps its own limit. */
static void allow_files(void)
{
	const rlim_t wanted = 4096;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The program is forked last: after that, descriptors and limits are ours. */
static int make_parts(struct recording *r)
{
	const struct pool_wish wish = {
		.bytes = r->opt.pool_bytes,
		.on_full = r->opt.on_full,
		.paused = r->opt.paused,
		.lua = !r->opt.no_lua,
		.native = !r->opt.no_native,
		.counts = r->opt.count_only,
		.tsc = r->rate.tsc,
		.verdicts = r->opt.select.only || r->opt.select.skip,
	};

	/* LTTng's rings get a part of what is free once the pool is made. */
	if (pool_owner_create(&r->owner, &wish) != 0 ||
	    pool_owner_populate(&r->owner) == 0)
		return -1;
	const uint64_t rings = plan_lttng(r);

	if (sink_init(&r->sink, rings) != 0 ||
	    registry_init(&r->registry, &r->owner, &r->rate) != 0 ||
	    drain_init(&r->drain, &r->owner, &r->registry, &r->sink,
		       &r->rate) != 0) {
		message("there is not enough memory to record");
		return -1;
	}
	r->sink.compress = r->opt.compress;
	if (make_files(r) != 0 || fork_program(r) != 0)
		return -1;
	allow_files();
	return 0;
}

/* A daemon that sees another file system than we do (because one of us is in a
 * private mount namespace or a container) writes to a folder of that name
 * there. */
static bool writes_elsewhere(struct recording *r)
{
	if (access(r->plan.output, F_OK) == 0)
		return false;
	message_trouble("LTTng's session daemon does not write to \"%s\", as "
			"it sees other files there (a private mount "
			"namespace, a container); recording goes to "
			"spill.weft", r->folder.absolute);
	session_process_close(&r->session, r->plan.output, 0);
	return true;
}

/* Wait for the session and load the provider. False: without LTTng. */
static bool join_lttng(struct recording *r)
{
	if (r->session.socket < 0 ||
	    session_process_wait_open(&r->session) != 0 || writes_elsewhere(r))
		return false;
	if (r->session.home)
		setenv("LTTNG_HOME", r->session.home, 1);
	return sink_open_provider(r->installation.provider) == 0;
}

/* Nothing was recorded: leave nothing behind. */
static void undo(struct recording *r)
{
	program_cancel(&r->program);
	if (r->session.socket >= 0)
		session_process_close(&r->session, r->plan.output, 1000);
	spill_discard(&r->sink.spill);
	pool_owner_remove(&r->owner);
	trace_folder_remove(&r->folder);
	installation_clean(&r->installation);
}

/* Make all that is needed, and let the program run. Negative: nothing runs, and
 * *status is what to exit with. */
static int start_recording(struct recording *r, int *status)
{
	*status = CANNOT_RECORD;
	r->owner.fd = r->sink.spill.fd = -1;
	r->program.go = r->session.socket = -1;
	if (find_program(r, status) != 0 ||
	    installation_find(&r->installation) != 0)
		return -1;
	rate_start(&r->rate, rate_tsc_usable());
	if (trace_folder_make(&r->folder, r->opt.output,
			      r->opt.program[0]) != 0) {
		installation_clean(&r->installation);
		return -1;
	}
	if (program_take_signals(&r->program) != 0 || make_parts(r) != 0) {
		undo(r);
		return -1;
	}
	if (r->sink.lttng)
		r->sink.lttng = join_lttng(r);
	rate_update(&r->rate, r->owner.pool);
	r->unwatched = cpu_watch_choose(r->registry.cpu, r->opt.sample_hz);
	sink_send(&r->sink, r->sink.chunk,
		  make_notes(r, META_START, summary_start_notes, 0));
	r->begin_ns = rate_mono();
	if (program_go(&r->program, r->opt.program[0], status) != 0) {
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
	bool is_behind;            /* there is more to do: do not sleep */
	bool told_following, saw_end;
};

static uint64_t now_ms(void)
{
	return rate_mono() / 1000000;
}

static void on_beat(struct loop *l)
{
	struct recording *const r = l->r;

	l->next_beat = l->now + BEAT_MS;
	rate_update(&r->rate, r->owner.pool);
	if (l->beat++ % 2 == 0)
		drain_cut_older(&r->drain, CUT_AFTER_MS);
	else
		drain_copy_older(&r->drain, COPY_AFTER_MS);
	if (l->beat % 10 == 0)
		registry_find_dead(&r->registry, true);
	aside_rest(&r->drain.aside);
	sink_check_lttng(&r->sink);
}

static void look_at_processes(struct loop *l)
{
	registry_update_processes(&l->r->registry, l->now);
	l->next_processes = l->now + PROCESSES_MS;
}

static void tell_following(struct loop *l)
{
	const uint32_t n = l->r->registry.live_processes;

	if (l->told_following || !isatty(STDERR_FILENO))
		return;
	l->told_following = true;
	message_summary("still recording %u process%s; press Ctrl-C to finish",
			n, n == 1 ? "" : "es");
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

	if (!r->program.has_ended)
		return false;
	if (r->opt.no_follow || r->program.wants_finish)
		return true;
	if (!l->saw_end || l->now >= l->next_processes)
		look_at_processes(l);
	l->saw_end = true;
	if (r->registry.live_processes > 0)
		tell_following(l);
	return r->nobody_left = is_nobody_left(l);
}

/* Sleep, within bounds, for a quarter of the time in which the free buffers
 * would be used up at the rate of the last round. */
static void choose_sleep(struct loop *l, uint32_t taken)
{
	l->is_behind = taken > l->r->owner.big / 2 ||
		       !aside_is_empty(&l->r->drain.aside);
	const uint64_t ms = taken == 0 ? l->sleep * 2 :
			    (uint64_t)l->r->drain.free_big * l->sleep /
			    taken / 4;

	l->sleep = ms < SLEEP_MIN_MS ? SLEEP_MIN_MS :
		   ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : (uint32_t)ms;
}

/* A pidfd that can be read stays so: it is watched no longer. */
static void check_daemons(struct recording *r, bool daemon_died,
			  bool consumer_died)
{
	struct session_process *const s = &r->session;

	if (!daemon_died && !consumer_died)
		return;
	sink_give_up_lttng(&r->sink, daemon_died ?
			   "the session daemon has died" :
			   "LTTng's consumer daemon has died");
	close(s->daemon);
	close(s->consumer);
	s->daemon = s->consumer = -1;
}

static void wait_for_something(struct loop *l)
{
	struct recording *const r = l->r;
	struct pollfd watched[3] = {
		{ .fd = r->program.signals, .events = POLLIN },
		{ .fd = r->session.daemon, .events = POLLIN },
		{ .fd = r->session.consumer, .events = POLLIN },
	};

	if (poll(watched, 3, l->is_behind ? 0 : (int)l->sleep) > 0) {
		if (watched[0].revents)
			program_handle_signals(&r->program);
		check_daemons(r, watched[1].revents, watched[2].revents);
	}
	l->now = now_ms();
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
static void watch_cpus(struct loop *l)
{
	struct recording *const r = l->r;

	if (l->now >= l->next_rings) {
		registry_read_rings(&r->registry);
		l->next_rings = l->now + RINGS_MS;
	}
	if (!r->registry.cpu || r->registry.cpu->period == 0) {
		registry_watch_new(&r->registry);
		return;
	}
	if (registry_watch_new(&r->registry))
		code_maps_want_new(&r->drain.maps);
	want_mapped(r);
	code_maps_renew(&r->drain.maps, l->now);
}

/* Work for the thread that the baton is lent to. */
static bool drain_meanwhile(void *ctx)
{
	struct recording *const r = ctx;

	return drain_poll(&r->drain) > 0 || !aside_is_empty(&r->drain.aside);
}

/* From the program's first instruction to the end of the recording. */
static void run_loop(struct recording *r)
{
	struct loop l = { .r = r, .sleep = SLEEP_MIN_MS,
			  .follow_every = FOLLOW_MS, .now = now_ms() };

	l.next_beat = l.now + BEAT_MS;
	l.next_processes = l.now + PROCESSES_MS;
	baton_start(drain_meanwhile, r);
	for (;;) {
		choose_sleep(&l, drain_poll(&r->drain));
		watch_cpus(&l);
		registry_look_at_dead_images(&r->registry);
		if (l.now >= l.next_beat)
			on_beat(&l);
		if (is_over(&l))
			break;
		if (!r->program.has_ended && l.now >= l.next_processes)
			look_at_processes(&l);
		wait_for_something(&l);
	}
	baton_end();
	r->end_ns = rate_mono();
}

/* ---- the end ---- */

enum {
	ANSWER_MS = 100,           /* for living threads to close buffers */
	REST_MS = 60000,           /* for a full pool and the slowest disk */
	PATIENCE_MS = 5000,        /* with an LTTng that writes nothing more */
	NO_PATIENCE_MS = 1500,     /* with one that was given up */
};

static void turn_off(struct pool *p)
{
	uint32_t now = atomic_load(&p->generation);

	while (!atomic_compare_exchange_weak(&p->generation, &now,
			(now & ~(uint32_t)POOL_ON) + POOL_GENERATION_STEP))
		;
}

/* Empty the pool. A process that goes on writing to it does not hold us up. */
static void drain_rest(struct recording *r)
{
	const uint64_t limit = now_ms() + REST_MS;

	do
		registry_find_dead(&r->registry, true);
	while (drain_poll(&r->drain) > 0 && now_ms() < limit);
	drain_send_aside(&r->drain);
}

/* Deliver all that was recorded, of dead and living threads. */
static void drain_all(struct recording *r)
{
	struct drain *const d = &r->drain;

	drain_rest(r);
	r->left_running = r->nobody_left ? 0 :
		registry_update_processes(&r->registry, now_ms());
	if (r->left_running > 0) {
		/* First cut, then turn off: a thread closes nothing when
		 * recording is off. */
		drain_cut_older(d, 0);
		poll(NULL, 0, ANSWER_MS);
		turn_off(r->owner.pool);
		drain_rest(r);
	} else {
		turn_off(r->owner.pool);
	}
	drain_copy_older(d, 0);
	drain_send_aside(d);
}

/* If LTTng was given up before, little time is spent on its session. */
static void close_lttng(struct recording *r)
{
	if (r->session.socket < 0)
		return;
	if (session_process_lost_daemon(&r->session))
		sink_give_up_lttng(&r->sink, "LTTng's daemon has died");
	if (session_process_close(&r->session, r->plan.output, r->sink.lttng ?
				  PATIENCE_MS : NO_PATIENCE_MS) != 0)
		sink_give_up_lttng(&r->sink, "its session did not end well");
}

/* Look for all chunks on the disk, whatever LTTng says. Those that it did not
 * write may still be in the backlog. */
static void check_arrival(struct recording *r)
{
	struct arrival *const a = &r->sink.arrival;
	char why[128];

	arrival_check(a, r->folder.absolute);
	if (a->lost_chunks > 0 && r->sink.lttng) {
		snprintf(why, sizeof(why), "only %" PRIu64 " of %zu chunks "
			 "reached the disk", a->count - a->lost_chunks,
			 a->count);
		sink_give_up_lttng(&r->sink, why);
		arrival_check(a, r->folder.absolute);
	}
	if (spill_is_removed(&r->sink.spill))
		message_trouble("spill.weft was removed during the recording: "
				"its contents are lost");
}

/* Without spilled chunks there is no spill file in the trace. */
static void close_spill(struct recording *r)
{
	if (r->sink.lttng && !r->sink.spilled) {
		spill_discard(&r->sink.spill);
		return;
	}
	const uint32_t words = make_notes(r, META_END, summary_end_notes, 0);

	if (spill_close(&r->sink.spill, sink_reserve(&r->sink, words)) != 0)
		message_trouble("the end notes could not be written to "
				"spill.weft");
}

/* The chunks of names in the making. */
struct name_writer {
	struct recording *r;
	struct meta m;             /* words is NULL: none was begun */
	uint64_t number;
};

static void begin_names(struct name_writer *w)
{
	if (w->m.words)
		sink_send(&w->r->sink, w->m.words, meta_end(&w->m));
	meta_begin(&w->m, sink_room(&w->r->sink), w->r->owner.recording,
		   w->number++, &w->r->rate);
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

/* The chunks are sent without a look at what they name. */
static void send_names(struct recording *r)
{
	struct name_writer w = { .r = r, .number = META_NAMES };
	struct lua_names *const names = r->sink.names;

	if (!names)
		return;
	r->sink.names = r->selection.names = NULL;
	lua_names_read(names, write_name, &w);
	if (w.m.words)
		sink_send(&r->sink, w.m.words, meta_end(&w.m));
}

/* The archive is packed before the end notes, which tell what came of it. */
static void close_recording(struct recording *r)
{
	drain_all(r);
	rate_update(&r->rate, r->owner.pool);
	registry_sum_processes(&r->registry);
	summary_copy_counts(r);
	census_finish(&r->sink.census);
	if (r->sink.archive)
		archive_pack(&r->archive);
	send_names(r);
	if (r->sink.lttng)
		sink_send(&r->sink, r->sink.chunk,
			  make_notes(r, META_END, summary_end_notes, 0));
	close_lttng(r);
	check_arrival(r);
	close_spill(r);
	pool_owner_remove(&r->owner);
	installation_clean(&r->installation);
}

int main(int argc, char **argv)
{
	static struct recording r;
	int status = options_read(&r.opt, argc, argv);

	if (status >= 0) {
		fflush(stdout);
		return status;
	}
	message_quiet(r.opt.quiet);
	if (start_recording(&r, &status) == 0) {
		/* The recording goes on if nobody reads our messages. */
		signal(SIGPIPE, SIG_IGN);
		run_loop(&r);
		close_recording(&r);
		summary_print(&r);
		status = program_exit_like(&r.program);
	}
	/* LTTng's destructors wait for its threads and may hang. Nothing is
	 * left to do. */
	_exit(status);
}
