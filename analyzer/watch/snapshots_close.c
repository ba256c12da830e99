/* snapshots_close.c - what is still open when no event follows: coroutines that
 * never ran again, threads after their last chunk and before their first.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots_state.h"
#include "analyzer/base/vec.h"

#include <string.h>

static void add_rest(struct snapshots *m, const struct rest *r)
{
	*vec_add(&m->rests, &m->rest_room, &m->rest_count) = *r;
}

static void close_rest(struct snapshots *m, struct rest *r)
{
	const struct known_co *const c = &m->cos[r->co];
	const struct known_process *const p = &m->processes[c->process];

	r->open = 0;
	if (r->to != UINT64_MAX)
		return;
	r->to = p->last + 1;
	if (c->last > r->from) {
		r->to = c->last;
		r->state = SNAPSHOT_UNKNOWN;
		r->stack = 0;
	} else if (p->missing > r->from) {
		r->state = SNAPSHOT_MAYBE;
	}
}

static void close_co(struct snapshots *m, uint32_t i)
{
	const struct known_co *const c = &m->cos[i];
	const struct known_process *const p = &m->processes[c->process];

	if (c->made != 0)
		add_rest(m, &(struct rest){ i, SNAPSHOT_NEW, 0, 0, c->made,
			c->first < p->last + 1 ? c->first : p->last + 1 });
	if (c->on_thread && p->missing > c->last)
		add_rest(m, &(struct rest){ i, SNAPSHOT_UNKNOWN, 0, 0, c->last,
					    p->last + 1 });
}

static void add_look(struct snapshots *m, uint32_t stream, size_t moment,
		     enum snapshot_state state)
{
	const struct watched *const w = &m->watched[stream];
	struct look l = { .stream = stream, .moment = (uint32_t)moment,
			  .state = state };

	if (state == SNAPSHOT_LAST) {
		l.stack = w->tail;
		l.seam = m->seam_count;
		l.seams = (uint32_t)w->tail_count;
		l.window = w->tail_window;
		l.old = (uint32_t)w->old_count;
		vec_need(&m->seams, &m->seam_room,
			 m->seam_count + w->tail_count + 1);
		if (w->tail_count > 0)
			memcpy(m->seams + m->seam_count, w->tail_seams,
			       w->tail_count * sizeof(*m->seams));
		m->seam_count += w->tail_count;
	}
	*vec_add(&m->looks, &m->look_room, &m->look_count) = l;
}

/* Before a thread's first chunk and after its last. */
static void close_stream(struct snapshots *m, uint32_t i)
{
	const struct watched *const w = &m->watched[i];
	const struct known_process *const p = &m->processes[w->process];

	if (w->level > 0)
		return;
	if (w->is_headless)
		for (size_t k = snapshots_from(m, p->first);
		     k < m->count && m->at[k] < w->first; k++)
			add_look(m, i, k, SNAPSHOT_UNKNOWN);
	if (!w->is_over)
		for (size_t k = snapshots_from(m, w->end + 1);
		     k < m->count && m->at[k] <= p->last; k++)
			add_look(m, i, k, SNAPSHOT_LAST);
}

void snapshots_close(struct snapshots *m)
{
	const size_t rests = m->rest_count;

	for (size_t i = 0; i < rests; i++)
		if (m->rests[i].open == 1)
			close_rest(m, &m->rests[i]);
	for (size_t i = 0; i < m->co_count; i++)
		close_co(m, (uint32_t)i);
	for (size_t i = 0; i < m->watched_count; i++)
		close_stream(m, (uint32_t)i);
}
