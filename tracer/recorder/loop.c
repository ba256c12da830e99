/* loop.c - while the program runs: drain, look after the living and the dead,
 * sleep as long as the pool allows.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"
#include "tracer/recorder/follow.h"
#include "tracer/recorder/provider.h"
#include "tracer/recorder/message.h"

#include <poll.h>
#include <unistd.h>

enum {
	SLEEP_MIN_MS = 1,
	SLEEP_MAX_MS = 20,
	PROCESSES_MS = 100,        /* between looks at the process slots */
	FOLLOW_MS = 50,            /* between looks at all of /proc */
	FOLLOW_MAX_MS = 2000,
	BEAT_MS = 500,
	CUT_AFTER_MS = 500,
	COPY_AFTER_MS = 1000,
};

/* Records are delivered at most 2 s after they were made: every second, on the
 * even beat, threads are asked to close what they opened over 0.5 s ago; who
 * has not by the odd beat, 0.5 s later, has all that is over 1 s old copied. */
struct loop {
	struct recording *r;
	uint64_t now;              /* ms */
	uint64_t next_processes, next_follow, next_beat, end_since;
	uint32_t follow_every, beat, sleep;
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
	rate_update(&r->rate, r->arena.pool);
	if (l->beat++ % 2 == 0)
		drain_cut_older(&r->drain, CUT_AFTER_MS);
	else
		drain_copy_older(&r->drain, COPY_AFTER_MS);
	if (l->beat % 10 == 0)
		slots_find_dead(&r->slots, true);
	if (r->deliver.lttng && !provider_is_on())
		deliver_give_up(&r->deliver, "the session daemon has gone");
}

static void tell_following(struct loop *l)
{
	const uint32_t n = l->r->slots.live_processes;

	if (l->told_following || !isatty(STDERR_FILENO) || n == 0)
		return;
	l->told_following = true;
	say_line("still recording %u process%s; Ctrl-C to finish", n,
		 n == 1 ? "" : "es");
}

/* Nobody that we know of lives. Somebody we do not know of may: forked, but
 * not yet registered, or between two images. */
static bool is_nobody_left(struct loop *l)
{
	if (l->now < l->next_follow)
		return false;
	if (follow_count(&l->r->arena) > 0) {
		if (l->follow_every < FOLLOW_MAX_MS)
			l->follow_every *= 2;
		l->end_since = 0;
	} else if (l->end_since == 0) {
		/* Look twice: one that just execs maps nothing. */
		l->end_since = l->now;
		l->follow_every = FOLLOW_MS;
	} else {
		return true;
	}
	l->next_follow = l->now + l->follow_every;
	return false;
}

static bool is_over(struct loop *l)
{
	struct recording *const r = l->r;

	if (!r->program.has_ended)
		return false;
	if (r->opt.no_follow || r->program.wants_finish)
		return true;
	if (!l->saw_end)
		l->next_processes = 0;
	l->saw_end = true;
	if (l->now >= l->next_processes) {
		l->next_processes = l->now + PROCESSES_MS;
		slots_update_processes(&r->slots, l->now);
		slots_read_switches(&r->slots);
	}
	if (r->slots.live_processes > 0) {
		tell_following(l);
		l->end_since = 0;
		return false;
	}
	return is_nobody_left(l);
}

/* A quarter of the time in which the free buffers would be used up at the rate
 * of the last round, within bounds. */
static void choose_sleep(struct loop *l, uint32_t taken)
{
	const uint64_t free_big = l->r->drain.free_big;

	if (taken == 0) {
		l->sleep = l->sleep * 2 < SLEEP_MAX_MS ? l->sleep * 2 :
			   SLEEP_MAX_MS;
		return;
	}
	const uint64_t ms = free_big * l->sleep / taken / 4;

	l->sleep = ms < SLEEP_MIN_MS ? SLEEP_MIN_MS :
		   ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : (uint32_t)ms;
}

/* A pidfd that has become readable stays so: look at it no more. */
static void watch_daemons(struct recording *r, const struct pollfd *watched)
{
	if ((watched[1].revents | watched[2].revents) == 0)
		return;
	deliver_give_up(&r->deliver, watched[1].revents ?
			"the session daemon has died" :
			"LTTng's consumer daemon has died");
	close(r->keeper.daemon);
	close(r->keeper.consumer);
	r->keeper.daemon = r->keeper.consumer = -1;
}

static void wait_for_something(struct loop *l)
{
	struct recording *const r = l->r;
	struct pollfd watched[3] = {
		{ .fd = r->program.signals, .events = POLLIN },
		{ .fd = r->keeper.daemon, .events = POLLIN },
		{ .fd = r->keeper.consumer, .events = POLLIN },
	};

	if (poll(watched, 3, (int)l->sleep) > 0) {
		if (watched[0].revents)
			program_handle_signals(&r->program);
		watch_daemons(r, watched);
	}
	l->now = now_ms();
}

void loop_run(struct recording *r)
{
	struct loop l = { .r = r, .sleep = SLEEP_MIN_MS,
			  .follow_every = FOLLOW_MS, .now = now_ms() };

	l.next_beat = l.now + BEAT_MS;
	l.next_processes = l.now + PROCESSES_MS;
	for (;;) {
		choose_sleep(&l, drain_poll(&r->drain));
		slots_look_at_gone(&r->slots);
		if (l.now >= l.next_beat)
			on_beat(&l);
		if (is_over(&l))
			break;
		if (!r->program.has_ended && l.now >= l.next_processes) {
			slots_update_processes(&r->slots, l.now);
			slots_read_switches(&r->slots);
			l.next_processes = l.now + PROCESSES_MS;
		}
		wait_for_something(&l);
	}
	r->end_ns = rate_mono();
}
