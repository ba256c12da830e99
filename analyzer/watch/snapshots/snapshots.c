/* snapshots.c - looks at the stacks of a replay when one of the moments passes,
 * and keeps what coroutines were suspended in. Must not know how that is put in
 * order and told: snapshots_tell.c.
 *
 * During the replay it collects looks (a stream at a moment) and rests (a
 * coroutine off every thread, from a tick to a tick). At the end it adds what
 * follows from missing events.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots/snapshots_private.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <string.h>

struct snapshots *snapshots_new(const ticks *at, size_t count)
{
	struct snapshots *const m = mem_alloc(sizeof(*m));

	m->at = at;
	m->count = count;
	m->stacks = stack_table_new();
	m->co_of = map_new();
	return m;
}

void snapshots_free(struct snapshots *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->watched_room; i++) {
		mem_free_all(m->watched[i].tail_seams, m->watched[i].old,
			     m->watched[i].noted);
	}
	stack_table_free(m->stacks);
	map_free(m->co_of);
	mem_free_all(m->watched, m->looks, m->seams, m->cos, m->rests,
		     m->rest_of, m->processes, m);
}

/* The first moment at or after a tick, by its index. */
static size_t moment_from(const struct snapshots *m, ticks tick)
{
	return ORDER_FIRST(i, m->count, m->at[i] < tick);
}

/* ---- streams ---- */

/* What is known of a stream; made when it is first asked for. */
static struct watched *watched(struct snapshots *m, const struct stream *st)
{
	const size_t number = stream_number(st);
	struct watched *w;

	vec_need_zeroed(&m->watched, &m->watched_room, number + 1);
	w = &m->watched[number];
	if (!w->is_used) {
		w->is_used = true;
		w->thread = stream_thread(st);
		w->level = stream_level(st);
	}
	return w;
}

/* The stream's look at a moment. It replaces an earlier one of the same moment:
 * the last state at a tick counts. Valid until the next one is made. */
static struct look *look_at(struct snapshots *m, struct watched *w,
			    size_t moment)
{
	struct look *l = w->look > 0 ? &m->looks[w->look - 1] : NULL;

	if (!l || l->moment != moment) {
		l = vec_add(&m->looks, &m->look_room, &m->look_count);
		w->look = m->look_count;
	}
	*l = (struct look){ .stream = (uint32_t)(w - m->watched),
			    .moment = (uint32_t)moment };
	return l;
}

/* Append where coroutines begin on the stack; returns how many do. */
static size_t add_seams(const struct stream *st, struct seam **seams,
			size_t *count, size_t *room)
{
	const size_t first = *count;

	for (size_t k = 1; k < stream_segments(st); k++) {
		const struct stream_segment s = stream_segment(st, k);

		*vec_add(seams, room, count) =
			(struct seam){ s.serial, stream_seam(st, k) };
	}
	return *count - first;
}

/* The whole stack, as an id in the table of all looks. */
static stack_id whole(struct snapshots *m, const struct stream *st)
{
	return stream_stack(st, 0, stream_depth(st), m->stacks, 0);
}

/* The stack stands like this at a moment. */
static void look(struct snapshots *m, struct watched *w,
		 const struct stream *st, size_t moment)
{
	struct look *const l = look_at(m, w, moment);

	l->state = SNAPSHOT_RUNNING;
	l->stack = whole(m, st);
	l->seam = m->seam_count;
	l->seams = (uint32_t)add_seams(st, &m->seams, &m->seam_count,
				       &m->seam_room);
	l->window = stream_window(st);
	l->old = (uint32_t)w->old_count;
}

/* How many functions the tick before this one saw, too. */
static size_t seen_twice(const struct watched *w, const struct replay_noted *n)
{
	size_t i = 0;

	while (i < MIN(n->count, w->noted_count) && n->func[i] == w->noted[i])
		i++;
	return i;
}

/* A tick of sampled Lua says what was open in the time that it stands for, if
 * nothing else was recorded in it; before that, back to the tick before, what
 * both saw. */
static void snapshots_noted(void *ctx, const struct replay_event *e,
			    const struct replay_noted *n)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, e->stream);

	for (size_t i = w->look; i > 0 && w->tick < e->tick; i--) {
		struct look *const l = &m->looks[i - 1];
		const size_t count = e->tick - m->at[l->moment] <= n->span ?
			n->count : l->from == w->tick ? seen_twice(w, n) : 0;

		if (l->stream != (uint32_t)(w - m->watched) || l->to != e->tick)
			break;
		if (count > 0)
			l->stack = stack_table_push(m->stacks, l->stack, 0,
						    STACK_SAMPLED);
		for (size_t k = 0; k < count; k++)
			l->stack = stack_table_push(m->stacks, l->stack,
						    n->func[k], 0);
	}
	w->tick = e->tick;
	w->noted_count = n->count;
	vec_need(&w->noted, &w->noted_room, n->count + 1);
	if (n->count > 0)
		memcpy(w->noted, n->func, n->count * sizeof(*n->func));
}

/* Look at each moment that passes. A moment at `to` has not passed yet: records
 * of the same tick may follow. */
static void snapshots_pass(void *ctx, const struct stream *st, ticks from,
			   ticks to)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, st);

	while (w->next < m->count && m->at[w->next] < from)
		w->next++;
	for (; w->next < m->count && m->at[w->next] < to; w->next++) {
		look(m, w, st, w->next);
		m->looks[w->look - 1].from = from;
		m->looks[w->look - 1].to = to;
	}
	stream_be_quiet(st, w->next < m->count ? m->at[w->next] : UINT64_MAX);
}

/* Comes after snapshots_pass, for the same time. */
static void snapshots_off(void *ctx, const struct stream *st, ticks from,
			  ticks to, bool ready)
{
	struct snapshots *const m = ctx;
	const struct watched *const w = watched(m, st);

	for (size_t i = w->look; i > 0; i--) {
		struct look *const l = &m->looks[i - 1];
		const ticks at = m->at[l->moment];

		if (l->stream != (uint32_t)(w - m->watched))
			continue;
		if (at < from)
			return;
		if (at < to && l->state == SNAPSHOT_RUNNING)
			l->state = ready ? SNAPSHOT_READY : SNAPSHOT_BLOCKED;
	}
}

/* Nothing is recorded between the stream's last chunk and this one. After
 * CHUNK_LAST recording was off; otherwise chunks are missing. */
static void skip(struct snapshots *m, struct watched *w, ticks to)
{
	const enum snapshot_state state = w->is_over ? SNAPSHOT_OFF :
						     SNAPSHOT_UNKNOWN;

	for (size_t i = moment_from(m,
				       w->end); i < m->count && m->at[i] < to;
	     i++)
		if (w->look == 0 || m->looks[w->look - 1].moment != i)
			look_at(m, w, i)->state = state;
}

/* What is known of a process, by its index in the session; made when it is
 * first asked for. */
static struct known_process *process(struct snapshots *m, uint32_t i)
{
	if (i < m->process_count)
		return &m->processes[i];
	vec_need(&m->processes, &m->process_room, (size_t)i + 1);
	while (m->process_count <= i)
		m->processes[m->process_count++] = (struct known_process){
			.first = UINT64_MAX };
	return &m->processes[i];
}

/* Learn when a thread and its process were there, and what is missing before
 * the chunk. */
static void snapshots_chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, e->stream);
	struct known_process *const p = process(m, e->process);
	const ticks begin = chunk->header.tick_begin;

	w->process = e->process;
	p->first = MIN(begin, p->first);
	if (e->level > 0)
		return;
	if (w->end == 0) {
		w->first = begin;
		w->is_headless = chunk->header.number > 0;
	} else if (w->end < begin) {
		skip(m, w, begin);
	}
	if ((w->end == 0 ? w->is_headless : w->end < begin && !w->is_over) &&
	    begin > p->missing)
		p->missing = begin;
	w->is_over = (chunk->header.flags & CHUNK_LAST) != 0;
}

/* At a moment on the chunk's last tick the stack stands like this, unless the
 * next chunk has something for the same tick. */
static void snapshots_chunk_end(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, e->stream);
	struct known_process *const p = process(m, e->process);

	w->end = e->tick;
	p->last = MAX(e->tick, p->last);
	if (e->level > 0)
		return;
	while (w->next < m->count && m->at[w->next] < e->tick)
		w->next++;
	if (w->next == m->count)
		return;
	if (m->at[w->next] == e->tick)
		look(m, w, e->stream, w->next);
	w->tail = whole(m, e->stream);
	w->tail_count = 0;
	add_seams(e->stream, &w->tail_seams, &w->tail_count, &w->tail_room);
	w->tail_window = stream_window(e->stream);
}

/* A call turns out to have been open since before the window. */
static void snapshots_enter(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	struct watched *w;

	if (e->deferred != REPLAY_DEFERRED_OLD)
		return;
	w = watched(m, e->stream);
	*vec_add(&w->old, &w->old_room, &w->old_count) =
		(struct old_call){ stream_window(e->stream), e->func };
}

/* ---- coroutines off every thread ---- */

/* The coroutine's index; made when it is first asked for. The first event may
 * be any. */
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

/* Events of a coroutine come from several threads in any order; the latest
 * decides. */
static void happened(struct known_co *c, ticks tick, bool on_thread)
{
	if (tick < c->last)
		return;
	c->last = tick;
	c->on_thread = on_thread;
}

/* The frames of the topmost coroutine. */
static stack_id own_frames(struct snapshots *m, const struct stream *st)
{
	return stream_own_stack(st, m->stacks);
}

/* The rest that the other end of a pair has begun, or NULL. */
static struct rest *rest_of(struct snapshots *m, const struct replay_event *e)
{
	const uint32_t id = e->is_second && e->pair < m->rest_of_room ?
			    m->rest_of[e->pair] : 0;

	if (id == 0)
		return NULL;
	m->rest_of[e->pair] = 0;
	assert(m->rests[id - 1].is == REST_OPEN);
	return &m->rests[id - 1];
}

/* One end of a rest is known; the other one comes with the same pair. */
static void begin_rest(struct snapshots *m, const struct replay_event *e,
		       const struct rest *r)
{
	uint32_t i = m->rest_free;

	if (i != 0) {
		m->rest_free = m->rests[i - 1].co;
		m->rests[i - 1] = *r;
	} else {
		*vec_add(&m->rests, &m->rest_room, &m->rest_count) = *r;
		i = (uint32_t)m->rest_count;
	}
	vec_need_zeroed(&m->rest_of, &m->rest_of_room, (size_t)e->pair + 1);
	m->rest_of[e->pair] = i;
}

/* Both ends are known: keep it if a moment lies between. Most rests are free
 * again at once, so memory grows with the moments and not with the switches. */
static void settle(struct snapshots *m, struct rest *r)
{
	const size_t at = moment_from(m, r->from);

	r->is = REST_WHOLE;
	if (at < m->count && m->at[at] < r->to)
		return;
	*r = (struct rest){ .co = m->rest_free, .is = REST_FREE };
	m->rest_free = (uint32_t)(r - m->rests) + 1;
}

/* A coroutine leaves its thread. What lies behind the last moment is of no
 * interest. */
static void snapshots_suspend(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	struct rest *const r = rest_of(m, e);

	happened(&m->cos[co], e->tick, false);
	if (suspend_ends(e->reason) ||
	    m->count == 0 || e->tick > m->at[m->count - 1])
		return;
	if (r) {
		r->stack = own_frames(m, e->stream);
		settle(m, r);
		return;
	}
	begin_rest(m, e, &(struct rest){ co, SNAPSHOT_SUSPENDED,
		own_frames(m, e->stream), REST_OPEN, e->tick, UINT64_MAX });
}

/* A coroutine comes back to a thread; its first resume ends its being new. */
static void snapshots_resume(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	struct known_co *const c = &m->cos[co];
	const ticks from = e->slept < e->tick ? e->tick - e->slept : 0;
	struct rest *const r = rest_of(m, e);
	stack_id frames;

	happened(c, e->tick, true);
	c->first = MIN(e->tick, c->first);
	if (m->count == 0 || from > m->at[m->count - 1])
		return;
	if (r) {
		r->to = e->tick;
		settle(m, r);
		return;
	}
	frames = own_frames(m, e->stream);
	/* A first resume has no other end. */
	if (e->slept > 0 || frames != 0)
		begin_rest(m, e, &(struct rest){ co, SNAPSHOT_SUSPENDED,
			frames, REST_OPEN, from, e->tick });
}

/* From now until its first resume the coroutine is new. */
static void snapshots_create(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	const uint32_t co = find_co(m, e);
	struct known_co *const c = &m->cos[co];

	c->made = e->tick;
	happened(c, e->tick, false);
}

const struct replay_sink snapshots_sink = {
	.enter = snapshots_enter, .resume = snapshots_resume,
	.suspend = snapshots_suspend, .create = snapshots_create,
	.chunk_begin = snapshots_chunk_begin,
	.chunk_end = snapshots_chunk_end,
	.pass = snapshots_pass, .off = snapshots_off,
	.noted = snapshots_noted,
};

/* ---- the end: what is open when no event follows ---- */

static void add_rest(struct snapshots *m, const struct rest *r)
{
	*vec_add(&m->rests, &m->rest_room, &m->rest_count) = *r;
}

/* The other end never came: the coroutine slept on, or its records are
 * missing. */
static void close_rest(struct snapshots *m, struct rest *r)
{
	const struct known_co *const c = &m->cos[r->co];
	const struct known_process *const p = &m->processes[c->process];

	r->is = REST_WHOLE;
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

/* Before the first resume, and after an event whose successor is missing. */
static void close_co(struct snapshots *m, uint32_t i)
{
	const struct known_co *const c = &m->cos[i];
	const struct known_process *const p = &m->processes[c->process];

	if (c->made != 0)
		add_rest(m, &(struct rest){ i, SNAPSHOT_NEW, 0,
			REST_WHOLE, c->made,
			c->first < p->last + 1 ? c->first : p->last + 1 });
	if (c->on_thread && p->missing > c->last)
		add_rest(m, &(struct rest){ i, SNAPSHOT_UNKNOWN, 0, REST_WHOLE,
					    c->last, p->last + 1 });
}

/* A look at a moment outside of the stream's chunks. */
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

	if (!w->is_used || w->level > 0)
		return;
	if (w->is_headless)
		for (size_t k = moment_from(m, p->first);
		     k < m->count && m->at[k] < w->first; k++)
			add_look(m, i, k, SNAPSHOT_UNKNOWN);
	if (!w->is_over)
		for (size_t k = moment_from(m, w->end + 1);
		     k < m->count && m->at[k] <= p->last; k++)
			add_look(m, i, k, SNAPSHOT_LAST);
}

/* Rests that close_co adds are whole: only those that were there before need to
 * be closed. */
void snapshots_close(struct snapshots *m)
{
	const size_t rests = m->rest_count;

	for (size_t i = 0; i < rests; i++)
		if (m->rests[i].is == REST_OPEN)
			close_rest(m, &m->rests[i]);
	for (size_t i = 0; i < m->co_count; i++)
		close_co(m, (uint32_t)i);
	for (size_t i = 0; i < m->watched_room; i++)
		close_stream(m, (uint32_t)i);
}
