/* schedule.c - turns recording on and off by the clock. Whoever else turns it,
 * a program or weft start and stop, has it so until the next window begins or
 * ends.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/schedule.h"
#include "tracer/recorder/closing.h"
#include "tracer/recorder/recording.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

bool schedule_begins_off(const struct options *o)
{
	return o->paused || o->duty_of > 1;
}

/* Replicas of one program, each with --of N, together have one window in each
 * period, in the mean, and all parts of the period get their turn. */
void schedule_choose(struct schedule *s, const struct options *o,
		     uint64_t begin, uint64_t random)
{
	const uint64_t spare = o->duty_period - o->duty_on;

	s->next_period = begin + o->duty_period;
	s->on = begin;
	if (o->duty_of > 1 && random % o->duty_of == 0)
		s->on += random / o->duty_of % (spare + 1);
	else if (o->duty_of > 1)
		s->on = s->next_period; /* others have this one */
	s->off = s->on + o->duty_on;
}

static void turn(struct recording *r, bool on)
{
	if (on)
		pool_start(r->owner.pool);
	else
		pool_turn_off(r->owner.pool, POOL_ON | POOL_BY_TITLE);
}

static void keep_duty(struct recording *r, uint64_t ns)
{
	struct schedule *const s = &r->schedule;
	const uint64_t period = r->opt.duty_period;
	uint64_t random = 0;

	if (s->next_period == 0)
		s->is_on = !schedule_begins_off(&r->opt);
	if (ns >= s->next_period) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
			random = ns ^ (uint64_t)r->program.pid << 32;
		schedule_choose(s, &r->opt, ns / period * period, random);
	}
	const bool on = ns >= s->on && ns < s->off;

	if (on != s->is_on)
		turn(r, on);
	s->is_on = on;
}

/* A thread asks what is in a module or Lua source. */
static void answer(struct recording *r)
{
	struct pool_question *const q = &r->owner.pool->question;
	struct pool_question copy;

	memcpy(&copy, q, sizeof(copy));
	copy.name[sizeof(copy.name) - 1] = '\0';
	selection_answer(&r->awaited, copy.pid, copy.hash, copy.name);
	atomic_fetch_add(&q->answered, 1); /* first: who asks next waits on */
	atomic_store(&q->state, ASKING_FREE);
	syscall(SYS_futex, &q->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns whether there was a question: others may follow at once. */
static bool await_function(struct recording *r, uint64_t ns)
{
	struct pool *const p = r->owner.pool;

	if (!r->opt.start_on || r->schedule.since > 0)
		return false;
	if (!(atomic_load(&p->generation) & POOL_AWAITS))
		r->schedule.since = ns;
	if (atomic_load(&p->question.state) != ASKING_ASKED)
		return false;
	answer(r);
	return true;
}

/* When to begin to end: threads are recorded while they close buffers. If that
 * is most of the time, it comes on top. */
static uint64_t until_end(const struct recording *r)
{
	const uint64_t answer = r->registry.live_processes == 0 ? 0 :
				CLOSING_ANSWER_MS * UINT64_C(1000000);

	return r->opt.duration - (r->opt.duration > 2 * answer ? answer : 0);
}

bool schedule_poll(struct recording *r)
{
	const struct options *const o = &r->opt;
	const uint64_t ns = rate_mono() - r->begin_ns;
	const bool asked = await_function(r, ns);

	if (o->duty_on > 0)
		keep_duty(r, ns);
	if (o->duration > 0 && ns - r->schedule.since >= until_end(r) &&
	    (!o->start_on || r->schedule.since > 0))
		r->wants_finish = true;
	return asked;
}
