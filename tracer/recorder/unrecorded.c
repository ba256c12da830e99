/* unrecorded.c - takes a reference whenever no hook is at work.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/unrecorded.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	RUN_HZ = 4000,             /* of a run that is not recorded anyway */
	POLL_MS = 20,
	OFF_MS = 100,
};

static int complain(int error)
{
	char why[128];

	cpu_watch_explain(error, why, sizeof(why));
	message("there can be no reference samples: %s", why);
	return -1;
}

/* Choose how often. Negative: not at all, and why was printed. */
static int choose_rate(struct recording *r, int hz)
{
	struct cpu_watch *const w = r->registry.cpu;
	int error;

	rate_update(&r->rate, r->owner.pool);
	error = cpu_watch_choose(w, hz);
	if (error != 0)
		return complain(error);
	r->reference.period = w->period;
	r->reference.cost = w->cost;
	return 0;
}

/* ---- before ---- */

/* Until it ends, or the user has enough. */
static void wait_for_run(struct recording *r, struct program *p, uint64_t until)
{
	struct pollfd news = { .fd = p->signals, .events = POLLIN };

	while (!(until > 0 ? p->wants_finish : p->has_ended) &&
	       (until == 0 || rate_mono_ms() < until)) {
		if (poll(&news, 1, POLL_MS) > 0)
			program_handle_signals(p);
		reference_poll(&r->reference);
	}
	reference_poll(&r->reference);
	reference_end(&r->reference);
}

/* The program, or the one that was given in its place, with its arguments. */
static int run_before(struct recording *r, int *status)
{
	struct program p = r->program;
	char **const argv = r->opt.program, *const name = argv[0];
	int error;

	if (r->opt.reference_of)
		argv[0] = (char *)r->opt.reference_of;
	error = program_fork(&p, argv, NULL, NULL);
	if (error == 0) {
		error = reference_begin(&r->reference, &p.pid, 1, true);
		if (error != 0) {
			program_cancel(&p);
			complain(error);
		} else {
			error = program_go(&p, argv[0], status);
		}
	}
	argv[0] = name;
	if (error != 0)
		return -1;
	message_summary("the reference: %s runs once unrecorded",
			r->opt.reference_of ? r->opt.reference_of : name);
	wait_for_run(r, &p, 0);
	if (!WIFSIGNALED(p.status))
		return 0;
	message("the reference run was ended by signal %d (%s); nothing was "
		"recorded", WTERMSIG(p.status), strsignal(WTERMSIG(p.status)));
	*status = 128 + WTERMSIG(p.status);
	return -1;
}

static int sample_attached(struct recording *r)
{
	const pid_t pid = r->attach.target.remote.pid;
	const int error = reference_begin(&r->reference, &pid, 1, false);

	if (error != 0)
		return complain(error);
	message_summary("the reference: process %d is sampled for %g s before "
			"it is recorded", (int)pid,
			(double)r->opt.reference_ns / 1e9);
	wait_for_run(r, &r->program, rate_mono_ms() +
		     r->opt.reference_ns / 1000000);
	return r->program.wants_finish ? -1 : 0;
}

int unrecorded_before(struct recording *r, int *status)
{
	const int hz = r->opt.sample_hz;

	if (!r->opt.reference)
		return 0;
	r->reference.kind = r->opt.attach ? REFERENCE_OFF : REFERENCE_RUN;
	if (choose_rate(r, hz > 0 ? hz : r->opt.attach ? -1 : RUN_HZ) != 0)
		return -1;
	return r->opt.attach ? sample_attached(r) : run_before(r, status);
}

/* ---- while recording is off ---- */

static bool is_off(const struct recording *r)
{
	return r->opt.sample_only ||
	       !(atomic_load(&r->owner.pool->generation) &
		 (POOL_ON | POOL_AWAITS));
}

static uint32_t window_of(const struct recording *r)
{
	return atomic_load(&r->owner.pool->window);
}

/* All processes that are known to live. */
static int begin_all(struct recording *r)
{
	pid_t *const pid = calloc(r->owner.process_slots + 1, sizeof(*pid));
	size_t n = 0;
	int error;

	if (!pid)
		return ENOMEM;
	pid[n++] = r->opt.attach ? r->attach.target.remote.pid : r->program.pid;
	for (uint32_t i = 0; i < r->owner.process_slots; i++) {
		const struct pool_process *const p = &r->owner.processes[i];

		if (atomic_load(&p->state) == SLOT_USED &&
		    (pid_t)p->pid != pid[0])
			pid[n++] = (pid_t)p->pid;
	}
	error = reference_begin(&r->reference, pid, n, false);
	free(pid);
	return error;
}

/* A reference of a whole run is the better one, and is not mixed with others;
 * a flight recorder keeps what was recorded last, not when. */
static bool is_wanted(const struct recording *r)
{
	return r->opt.sample_only ||
	       (r->registry.cpu && r->registry.cpu->period > 0 &&
		r->unwatched == 0 && !r->opt.flight_bytes &&
		!(r->opt.reference && !r->opt.attach));
}

int unrecorded_begin(struct recording *r)
{
	struct reference *const f = &r->reference;

	if (!is_wanted(r))
		return 0;
	f->kind = r->opt.sample_only ? REFERENCE_ONLY : REFERENCE_OFF;
	if (r->unwatched != 0)
		return complain(r->unwatched);
	f->period = r->registry.cpu->period;
	f->cost = r->registry.cpu->cost;
	if (!is_off(r) || (r->opt.attach && !r->opt.sample_only))
		return 0;
	r->off.window = window_of(r);
	const int error = r->opt.attach ? begin_all(r) :
			  reference_begin(f, &r->program.pid, 1, true);

	cpu_watch_pause(r->registry.cpu, f->is_on);
	return error != 0 && r->opt.sample_only ? complain(error) : 0;
}

/* It has been off for a while: who turns it on and off again and again has no
 * time of any length without hooks. */
static bool is_long(struct recording *r, bool off, uint64_t now)
{
	if (!off || window_of(r) != r->off.window)
		r->off.since = now;
	r->off.window = window_of(r);
	return now - r->off.since >= OFF_MS;
}

/* Reports say how long nothing was recorded. */
static void count_off(struct recording *r, bool off, uint64_t now)
{
	if (off && r->off.was)
		r->off.all += now - r->off.seen;
	r->off.was = off;
	r->off.seen = now;
}

void unrecorded_poll(struct recording *r)
{
	const bool off = is_off(r), ends = r->program.has_ended &&
					   !r->opt.attach;
	const bool same = window_of(r) == r->off.window;
	const bool is_long_off = is_long(r, off, rate_mono_ms());

	count_off(r, off, rate_mono_ms());
	if (!is_wanted(r) || r->attach.waits || r->reference.why != 0)
		return;
	if (r->reference.is_on && off && same) {
		reference_poll(&r->reference);
		return;
	}
	if (r->reference.is_on)
		reference_end(&r->reference);
	else if (is_long_off && !ends)
		begin_all(r);
	else
		return;
	cpu_watch_pause(r->registry.cpu, r->reference.is_on);
}

void unrecorded_end(struct recording *r)
{
	if (r->reference.is_on)
		unrecorded_poll(r);
	reference_end(&r->reference);
}

bool unrecorded_is_alive(const struct recording *r)
{
	return kill(r->attach.target.remote.pid, 0) == 0;
}
