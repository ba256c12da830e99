/* snapshots.c - looks at the stacks of a replay when one of the moments passes,
 * and keeps what coroutines were suspended in.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots.h"
#include "analyzer/watch/snapshots_state.h"
#include "analyzer/base/vec.h"

#include <string.h>

struct snapshots *snapshots_new(const ticks *at, size_t count)
{
	struct snapshots *const m = mem_alloc(sizeof(*m));

	m->at = at;
	m->count = count;
	m->stacks = stack_table_new();
	m->watched_of = map_new();
	m->co_of = map_new();
	m->rest_of = map_new();
	return m;
}

void snapshots_free(struct snapshots *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->watched_count; i++) {
		mem_free(m->watched[i].tail_seams);
		mem_free(m->watched[i].old);
	}
	stack_table_free(m->stacks);
	map_free(m->watched_of);
	map_free(m->co_of);
	map_free(m->rest_of);
	mem_free(m->watched);
	mem_free(m->looks);
	mem_free(m->seams);
	mem_free(m->cos);
	mem_free(m->rests);
	mem_free(m->processes);
	mem_free(m);
}

size_t snapshots_from(const struct snapshots *m, ticks tick)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->at[middle] < tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct watched *watched(struct snapshots *m, const struct stream *st)
{
	uint32_t *const id = map_put(m->watched_of, stream_thread(st),
				     stream_level(st));

	if (*id == 0) {
		*vec_add(&m->watched, &m->watched_room, &m->watched_count) =
			(struct watched){
				.thread = stream_thread(st),
				.level = stream_level(st) };
		*id = (uint32_t)m->watched_count;
	}
	return &m->watched[*id - 1];
}

/* The stream's look at a moment; what it said before is overruled. */
static struct look *look_at(struct snapshots *m, struct watched *w,
			    size_t moment)
{
	struct look *l = w->look > 0 ? &m->looks[w->look - 1] : NULL;

	if (!l || l->moment != moment) {
		vec_need(&m->looks, &m->look_room, m->look_count + 1);
		l = &m->looks[m->look_count++];
		w->look = m->look_count;
	}
	*l = (struct look){ .stream = (uint32_t)(w - m->watched),
			    .moment = (uint32_t)moment };
	return l;
}

static size_t add_seams(const struct stream *st, struct seam **seams,
			size_t *count, size_t *room)
{
	const size_t first = *count;
	struct stream_segment s;

	for (size_t k = 1; k < stream_segments(st); k++) {
		s = stream_segment(st, k);
		vec_need(seams, room, *count + 1);
		(*seams)[(*count)++] = (struct seam){ s.serial, s.base };
	}
	return *count - first;
}

static stack_id whole(struct snapshots *m, const struct stream *st)
{
	return stream_stack(st, 0, stream_depth(st), m->stacks, 0);
}

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

static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, st);

	while (w->next < m->count && m->at[w->next] < from)
		w->next++;
	for (; w->next < m->count && m->at[w->next] < to; w->next++)
		look(m, w, st, w->next);
}

/* Nothing is recorded from the stream's last chunk to this one. */
static void skip(struct snapshots *m, struct watched *w, ticks to)
{
	const enum snapshot_state state = w->is_over ? SNAPSHOT_OFF :
						     SNAPSHOT_UNKNOWN;

	for (size_t i = snapshots_from(m,
				       w->end); i < m->count && m->at[i] < to;
	     i++)
		if (w->look == 0 || m->looks[w->look - 1].moment != i)
			look_at(m, w, i)->state = state;
}

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

static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *v)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, e->stream);
	struct known_process *const p = process(m, e->process);
	const ticks begin = v->header.tick_begin;

	w->process = e->process;
	if (begin < p->first)
		p->first = begin;
	if (e->level > 0)
		return;
	if (w->end == 0) {
		w->first = begin;
		w->is_headless = v->header.number > 0;
	} else if (w->end < begin) {
		skip(m, w, begin);
	}
	if ((w->end == 0 ? w->is_headless : w->end < begin && !w->is_over) &&
	    begin > p->missing)
		p->missing = begin;
	w->is_over = (v->header.flags & CHUNK_LAST) != 0;
}

/* A moment on a chunk's last tick: this is how it stands, unless the next chunk
 * has something for the same tick. */
static void chunk_end(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	struct watched *const w = watched(m, e->stream);
	struct known_process *const p = process(m, e->process);

	w->end = e->tick;
	if (e->tick > p->last)
		p->last = e->tick;
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

static void enter(void *ctx, const struct replay_event *e)
{
	struct snapshots *const m = ctx;
	struct watched *w;

	if (e->deferred != REPLAY_DEFERRED_OLD)
		return;
	w = watched(m, e->stream);
	*vec_add(&w->old, &w->old_room, &w->old_count) = (struct old_call){
		stream_window(e->stream), e->func };
}

const struct replay_sink snapshots_sink = {
	.enter = enter, .resume = snapshots_rest_resume,
	.suspend = snapshots_rest_suspend, .create = snapshots_rest_create,
	 .chunk_begin = chunk_begin, .chunk_end = chunk_end,
	.pass = pass,
};
