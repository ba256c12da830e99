/* snapshots_rest.c - coroutines off every thread: from when to when, and what
 * their suspend left. Streams come in any order, and so do the two ends.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots_state.h"
#include "analyzer/base/vec.h"

static uint32_t find_co(struct snapshots *m, const struct replay_event *e)
{
	uint32_t *const id = map_put(m->co_of, e->process, e->coroutine);

	if (*id == 0) {
		*vec_add(&m->cos, &m->co_room, &m->co_count) =
			(struct known_co){
				.process = e->process, .serial = e->coroutine,
				.first = UINT64_MAX };
		*id = (uint32_t)m->co_count;
	}
	return *id - 1;
}

static void happened(struct known_co *c, ticks tick, int on_thread)
{
	if (tick < c->last)
		return;
	c->last = tick;
	c->on_thread = on_thread;
}

static stack_id own_frames(struct snapshots *m, const struct stream *st)
{
	struct stream_segment top;

	top = stream_top(st);
	return stream_stack(st, top.base, stream_depth(st), m->stacks, 0);
}

static uint32_t new_rest(struct snapshots *m)
{
	const uint32_t i = m->rest_free;

	if (i != 0) {
		m->rest_free = m->rests[i - 1].co;
		return i - 1;
	}
	vec_need(&m->rests, &m->rest_room, m->rest_count + 1);
	return (uint32_t)m->rest_count++;
}

/* Both ends are known: keep it if a moment lies between. */
static void settle(struct snapshots *m, uint32_t i)
{
	struct rest *const r = &m->rests[i];
	const size_t at = snapshots_from(m, r->from);

	map_remove(m->rest_of, r->co, r->from);
	r->open = 0;
	if (at < m->count && m->at[at] < r->to)
		return;
	*r = (struct rest){ .co = m->rest_free, .open = REST_FREE };
	m->rest_free = i + 1;
}

/* Streams are not in order: whichever end comes first waits for the other. */
static void park(struct snapshots *m, const struct rest *r)
{
	const uint32_t i = new_rest(m);

	m->rests[i] = *r;
	*map_put(m->rest_of, r->co, r->from) = i + 1;
}

void snapshots_rest_suspend(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	uint32_t i;

	happened(&m->cos[co], e->tick, 0);
	if (e->reason == SUSPEND_RETURN || e->reason == SUSPEND_ERROR ||
	    m->count == 0 || e->tick > m->at[m->count - 1])
		return;
	i = map_find(m->rest_of, co, e->tick);
	if (i != 0 && m->rests[i - 1].to != UINT64_MAX) {
		m->rests[i - 1].stack = own_frames(m, e->stream);
		settle(m, i - 1);
	} else if (i == 0) {
		park(m, &(struct rest){ co, SNAPSHOT_SUSPENDED,
			own_frames(m, e->stream), 1, e->tick, UINT64_MAX });
	}
}

void snapshots_rest_resume(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	struct known_co *const c = &m->cos[co];
	const ticks from = e->slept < e->tick ? e->tick - e->slept : 0;
	const uint32_t i = map_find(m->rest_of, co, from);
	stack_id frames;

	happened(c, e->tick, 1);
	if (e->tick < c->first)
		c->first = e->tick;
	if (m->count == 0 || from > m->at[m->count - 1])
		return;
	if (i != 0 && m->rests[i - 1].to == UINT64_MAX) {
		m->rests[i - 1].to = e->tick;
		settle(m, i - 1);
		return;
	}
	frames = own_frames(m, e->stream);
	/* The first resume has nothing to wait for. */
	if (i == 0 && (e->slept > 0 || frames != 0))
		park(m, &(struct rest){ co, SNAPSHOT_SUSPENDED, frames, 1, from,
					e->tick });
}

void snapshots_rest_create(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	struct known_co *const c = &m->cos[co];

	c->made = e->tick;
	happened(c, e->tick, 0);
}
