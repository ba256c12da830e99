/* timeline.c - follows what is open on each stream, and lays it down in lanes
 * when it ends; folds the lanes when they hold too much. Decides nothing about
 * how lanes are drawn.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/timeline.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

enum { DEPTHS = 128 };           /* at first */

/* An open call of a stream, by depth, if it is known otherwise than by its own
 * begin: it was open before, or goes on after a resume; else func is 0. */
struct slot { func_id func; ticks from; };

/* A segment of a stream. */
struct run {
	uint64_t serial;
	ticks since, from;       /* since: as the stream has it */
	size_t base;
	uint32_t lane, by;
	func_id body;            /* of a coroutine, if known; else 0 */
	bool is_chosen;          /* it, or what resumed it, was asked for */
};

/* A stream: its segments and open calls, as the last event left them. */
struct track {
	bool is_seen, is_wanted;
	const struct stream *stream;
	uint32_t lane, process;
	ticks last;              /* of its latest event */
	uint64_t next, lost;     /* number of the next chunk; records lost */
	ticks off_from, off_to;  /* it was off the CPU; not laid down yet */
	struct slot *slots; size_t slot_room;
	struct run *runs; size_t run_count, run_room;
};

struct timeline_work {
	const struct session *session;
	struct timeline_options options;
	struct track *tracks; size_t track_room; /* by stream_number */
	struct track *track;     /* of the last event; NULL: there was none */
	/* By process and serial: the coroutine's index in the session + 1; and
	 * by index: its lane, or TIMELINE_NONE. */
	struct map *index_of;
	uint32_t *lane_of;
};

/* ---- lanes -------------------------------------------------------------- */

/* What has no lane is counted. */
static void put_nowhere(struct timeline *t, const struct timeline_span *s)
{
	t->rest.calls += s->calls;
	if (s->kind != TIMELINE_RUN)
		return;
	t->rest.runs++;
	t->rest.active += s->busy;
}

/* Coarser, while there are too many spans. */
static void settle(struct timeline *t)
{
	while (t->held > t->most && timeline_coarsen(t))
		;
}

/* The part of the span that is in the range. In a damaged trace, a chunk may
 * begin before the end of the one before it, which calls in both go on from. */
static void put(struct timeline *t, const struct stream *st, uint32_t lane,
		struct timeline_span s)
{
	struct timeline_lane *l;

	s.to = MAX(s.from, s.to);
	if (s.to < t->from || s.from > t->to)
		return;
	s.from = MAX(t->from, s.from);
	s.to = MIN(t->to, s.to);
	s.busy = s.longest = s.to - s.from;
	if (lane == TIMELINE_NONE) {
		put_nowhere(t, &s);
		return;
	}
	l = &t->lanes[lane];
	if (s.kind == TIMELINE_WAIT) {
		timeline_lay(t, &l->waits, s);
	} else if (s.kind == TIMELINE_OFF || s.kind == TIMELINE_LOST) {
		timeline_lay(t, &l->gaps, s);
	} else {
		if (l->last && l->last != st) {
			l->spans.fence = l->spans.count;
			l->is_mixed = true;
		}
		l->last = st;
		timeline_lay(t, &l->spans, s);
	}
	settle(t);
}

static uint32_t add_lane(struct timeline *t, const struct timeline_lane *l)
{
	*vec_add(&t->lanes, &t->lane_room, &t->lane_count) = *l;
	return (uint32_t)t->lane_count - 1;
}

/* For qsort: by falling active, then in the session's order. */
ORDER_BY(compare_active, struct coroutine *,
	 ORDER((*y)->active, (*x)->active) ?: ORDER(*x, *y))
ORDER_BY(compare_places, struct coroutine *, ORDER(*x, *y))

/* The coroutines that get lanes, in the session's order. */
static void add_coroutines(struct timeline *t)
{
	const struct session *const s = t->work->session;
	const size_t n = s->coroutine_count;
	const size_t most = t->work->options.coroutines;
	const size_t kept = most > 0 && most < n ? most : n;
	const struct coroutine **const by = mem_alloc((n + 1) * sizeof(*by));

	t->work->lane_of = mem_alloc((n + 1) * sizeof(*t->work->lane_of));
	for (size_t i = 0; i < n; i++) {
		by[i] = &s->coroutines[i];
		t->work->lane_of[i] = TIMELINE_NONE;
		*map_put(t->work->index_of, by[i]->process, by[i]->serial) =
			(uint32_t)i + 1;
	}
	if (kept < n) {
		qsort(by, n, sizeof(*by), compare_active);
		qsort(by, kept, sizeof(*by), compare_places);
	}
	for (size_t i = 0; i < kept; i++) {
		const size_t index = (size_t)(by[i] - s->coroutines);

		t->work->lane_of[index] = add_lane(t, &(struct timeline_lane){
			.is_coroutine = true, .process = by[i]->process,
			.coroutine = (uint32_t)index });
	}
	t->rest.coroutines = n - kept;
	mem_free(by);
}

/* The range is that of the options, within the session's. */
static void set_range(struct timeline *t)
{
	const struct session *const s = t->work->session;
	const struct timeline_options *const o = &t->work->options;

	t->from = session_first_tick(s);
	t->to = t->from;
	for (size_t i = 0; i < s->thread_count; i++)
		t->to = MAX(s->threads[i].last, t->to);
	t->end = t->to + 1;
	if (o->to == 0)
		return;
	t->end = MIN(o->to, t->end);
	if (o->from > t->from)
		t->from = MIN(o->from, t->to);
	if (o->to < t->to)
		t->to = MAX(o->to, t->from);
}

struct timeline *timeline_new(const struct session *s,
			      const struct timeline_options *options)
{
	struct timeline *const t = mem_alloc(sizeof(*t));

	t->work = mem_alloc(sizeof(*t->work));
	t->work->session = s;
	t->work->options = *options;
	t->work->index_of = map_new();
	t->depths = DEPTHS;
	t->most = 2 * options->spans;
	set_range(t);
	for (size_t i = 0; i < s->thread_count; i++)
		add_lane(t, &(struct timeline_lane){
			.process = s->threads[i].process,
			.thread = (uint32_t)i });
	add_coroutines(t);
	return t;
}

static void free_work(struct timeline_work *w)
{
	for (size_t i = 0; w && i < w->track_room; i++) {
		mem_free_all(w->tracks[i].slots, w->tracks[i].runs);
	}
	if (w) {
		map_free(w->index_of);
		mem_free_all(w->lane_of, w->tracks);
	}
	mem_free(w);
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->lane_count; i++) {
		mem_free_all(t->lanes[i].spans.at, t->lanes[i].gaps.at,
			     t->lanes[i].waits.at);
	}
	free_work(t->work);
	mem_free_all(t->lanes, t);
}

/* ---- streams ------------------------------------------------------------ */

/* A signal handler's stream gets its lane when it is first seen; so does a
 * thread that came after the first replay. */
static void begin_track(struct timeline *t, struct track *k,
			const struct replay_event *e)
{
	const struct timeline_options *const o = &t->work->options;
	const bool is_known = e->thread < t->work->session->thread_count;

	k->is_seen = true;
	k->stream = e->stream;
	k->process = e->process;
	k->is_wanted = is_known && (!o->threads || o->threads[e->thread]);
	k->lane = !is_known ? TIMELINE_NONE : e->level == 0 ? e->thread :
		  add_lane(t, &(struct timeline_lane){
			.process = e->process, .thread = e->thread,
			.level = e->level });
}

static __attribute__((noinline)) struct track *
find_track(struct timeline *t, const struct replay_event *e)
{
	const size_t number = stream_number(e->stream);
	struct track *k;

	if (number >= t->work->track_room)
		vec_need_zeroed(&t->work->tracks, &t->work->track_room,
				number + 1);
	k = &t->work->tracks[number];
	if (!k->is_seen)
		begin_track(t, k, e);
	t->work->track = k;
	return k;
}

/* The event's stream, or NULL if what happens there is not wanted. */
static inline struct track *track(struct timeline *t,
				  const struct replay_event *e)
{
	struct track *const last = t->work->track;
	struct track *const k = last && last->stream == e->stream ? last :
				find_track(t, e);

	return k->is_wanted ? k : NULL;
}

/* Is it the coroutine that was asked for? */
static bool is_asked(const struct timeline *t, const struct track *k,
		     uint64_t serial)
{
	const struct timeline_options *const o = &t->work->options;

	return o->coroutine == 0 || (serial == o->coroutine &&
	       (o->pid == 0 ||
		t->work->session->processes[k->process].pid == o->pid));
}

static struct run *top_run(const struct track *k)
{
	return &k->runs[k->run_count - 1];
}

static void open_run(struct timeline *t, struct track *k,
		     const struct stream_segment *s, ticks from)
{
	const struct run *const below = k->run_count > 0 ? top_run(k) : NULL;
	struct run r = { .serial = s->serial, .since = s->since, .from = from,
			 .base = s->base, .lane = k->lane,
			 .by = TIMELINE_NONE };

	r.is_chosen = (below && below->is_chosen) || is_asked(t, k, s->serial);
	if (below) {
		const uint32_t index = map_find(t->work->index_of, k->process,
						s->serial);

		r.by = below->lane;
		r.lane = index == 0 ? TIMELINE_NONE :
			 t->work->lane_of[index - 1];
		r.body = index == 0 ? 0 :
			 t->work->session->coroutines[index - 1].body;
	}
	*vec_add(&k->runs, &k->run_room, &k->run_count) = r;
}

static void put_run(struct timeline *t, const struct stream *st,
		    const struct run *r, ticks to, uint32_t back)
{
	struct timeline_span s = timeline_span(TIMELINE_RUN, r->from, to);

	s.func = r->body;
	s.by = r->by;
	s.back = back;
	if (r->is_chosen)
		put(t, st, r->lane, s);
}

/* The run was on top of the lower one's calls. */
static void put_guest(struct timeline *t, const struct stream *st,
		      const struct run *lower, const struct run *r, ticks to)
{
	struct timeline_span g = timeline_span(TIMELINE_GUEST, r->from, to);

	if (!lower->is_chosen)
		return;
	g.who = r->lane;
	g.func = r->body;
	g.depth = timeline_depth(lower->base, r->base);
	put(t, st, lower->lane, g);
}

/* The topmost run ends. is_switch: by a suspend, to what is below it. */
static void close_run(struct timeline *t, struct track *k,
		      const struct stream *st, ticks to, bool is_switch)
{
	const struct run r = *top_run(k);
	const struct run *lower;

	k->run_count--;
	lower = k->run_count > 0 ? top_run(k) : NULL;
	put_run(t, st, &r, to, lower && is_switch ? lower->lane :
		(uint32_t)TIMELINE_NONE);
	if (lower)
		put_guest(t, st, lower, &r, to);
}

/* Coroutines may leave a stack, and appear on it, without a switch: where
 * records are missing. The thread's own segment is not looked at. */
static void follow(struct timeline *t, struct track *k, const struct stream *st)
{
	const size_t n = stream_segments(st);
	size_t same = 1;

	for (; same < n && same < k->run_count; same++) {
		const struct stream_segment s = stream_segment(st, same);

		if (s.serial != k->runs[same].serial ||
		    s.since != k->runs[same].since)
			break;
	}
	while (k->run_count > same)
		close_run(t, k, st, k->last, false);
	while (k->run_count > 0 && k->run_count < n) {
		const struct stream_segment s =
			stream_segment(st, k->run_count);

		open_run(t, k, &s, s.since);
	}
}

static void put_slot(struct track *k, size_t depth, struct slot s)
{
	vec_need_zeroed(&k->slots, &k->slot_room, depth + 1);
	k->slots[depth] = s;
}

/* An event's track with its runs as they are now, or NULL. */
static inline struct track *arrive(struct timeline *t,
				   const struct replay_event *e)
{
	struct track *const k = track(t, e);

	if (!k || k->run_count == 0)
		return NULL;
	if (k->run_count > 1 || stream_segments(e->stream) > 1)
		follow(t, k, e->stream);
	k->last = e->tick;
	return k;
}

/* ---- events ------------------------------------------------------------- */

/* The call was open before. Entries that are told later were not seen. */
static void enter(void *ctx, const struct replay_event *e)
{
	struct timeline *const t = ctx;
	struct track *const k = e->deferred == REPLAY_NOW ? arrive(t, e) :
				NULL;

	if (k)
		put_slot(k, e->depth, (struct slot){ e->func, e->tick });
}

/* A call in the topmost run; is_part: it began before. */
static void put_call(struct timeline *t, const struct track *k,
		     const struct replay_call *c, bool is_part)
{
	const struct run *const r = top_run(k);
	struct timeline_span s = timeline_span(TIMELINE_CALL, c->begin, c->end);

	s.func = c->func;
	s.calls = !is_part && c->begin >= t->from && c->begin < t->end;
	s.depth = timeline_depth(r->base, c->depth);
	if (r->is_chosen)
		put(t, k->stream, r->lane, s);
}

/* The lane of the topmost run, if the last span there is of this stream. */
static struct timeline_lane *own_lane(const struct timeline *t,
				      const struct track *k)
{
	const struct run *const r = top_run(k);
	struct timeline_lane *const l = r->lane == TIMELINE_NONE ? NULL :
					&t->lanes[r->lane];

	return l && r->is_chosen && l->last == k->stream ? l : NULL;
}

static ticks calls(void *ctx, const struct replay_event *e,
		   const struct replay_call *call, size_t n)
{
	struct timeline *const t = ctx;
	struct track *const k = arrive(t, e);

	for (size_t i = 0; k && i < n; i++) {
		struct timeline_lane *const l = own_lane(t, k);

		if (l) {
			i += timeline_lay_short(t, &l->spans, top_run(k)->base,
						call + i, n - i);
			settle(t);
		}
		if (i < n)
			put_call(t, k, &call[i], false);
	}
	return UINT64_MAX;
}

/* An open call ends, or its part in the topmost run. */
static void end_frame(struct timeline *t, const struct track *k,
		      const struct replay_event *e, size_t depth)
{
	const struct stream_frame f = stream_frame(e->stream, depth);
	struct slot *const s = depth < k->slot_room &&
			       k->slots[depth].func == f.func ?
			       &k->slots[depth] : NULL;

	if (f.omitted == 0)
		put_call(t, k, &(struct replay_call){
			.begin = s ? s->from : f.entry, .end = e->tick,
			.func = f.func, .depth = (uint32_t)depth }, s);
	if (s)
		s->func = 0;
}

static void leave(void *ctx, const struct replay_event *e)
{
	struct timeline *const t = ctx;
	struct track *const k = e->deferred == REPLAY_NOW ? arrive(t, e) :
				NULL;

	if (k)
		end_frame(t, k, e, e->depth);
}

/* Its open calls go on, and are not counted again. */
static void resume(void *ctx, const struct replay_event *e)
{
	struct timeline *const t = ctx;
	struct track *const k = arrive(t, e);
	const size_t depth = stream_depth(e->stream);

	for (size_t i = stream_top(e->stream).base; k && i < depth; i++) {
		const struct stream_frame f = stream_frame(e->stream, i);

		put_slot(k, i, (struct slot){ f.omitted > 0 ? 0 : f.func,
					      e->tick });
	}
}

static void suspend(void *ctx, const struct replay_event *e)
{
	struct timeline *const t = ctx;
	struct track *const k = arrive(t, e);
	const size_t base = stream_top(e->stream).base;

	for (size_t i = stream_depth(e->stream); k && i-- > base; )
		end_frame(t, k, e, i);
	if (k && k->run_count > 1)
		close_run(t, k, e->stream, e->tick, true);
}

/* What is missing, or was not recorded, before the chunk. */
static void put_gap(struct timeline *t, const struct track *k,
		    const struct stream *st, const struct chunk_header *h)
{
	const bool is_lost = h->number != k->next ||
			     h->lost[LOST_FULL] > k->lost;
	const ticks from = k->run_count > 0 && k->last < h->tick_begin ?
			   k->last : h->tick_begin;

	if (k->run_count == 0 ? is_lost : is_lost || from < h->tick_begin)
		put(t, st, k->lane, timeline_span(is_lost ? TIMELINE_LOST :
					 TIMELINE_OFF, from, h->tick_begin));
}

/* The thread's own run ends where recording does; that of a handler's stream
 * lasts for its chunk. */
static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	struct timeline *const t = ctx;
	const struct chunk_header *const h = &chunk->header;
	struct track *const k = track(t, e);

	if (!k)
		return;
	if (e->level == 0 && k->lane != TIMELINE_NONE &&
	    t->work->options.coroutine == 0)
		put_gap(t, k, e->stream, h);
	if (k->last != h->tick_begin || e->level > 0)
		while (k->run_count > 0)
			close_run(t, k, e->stream, k->last, false);
	if (k->run_count == 0)
		open_run(t, k, &(struct stream_segment){ 0 }, h->tick_begin);
	k->last = h->tick_begin;
	k->next = h->number + 1;
	k->lost = h->lost[LOST_FULL];
}

static void chunk_end(void *ctx, const struct replay_event *e)
{
	struct track *const k = track(ctx, e);

	if (k)
		k->last = e->tick;
}

static void put_wait(struct timeline *t, struct track *k)
{
	if (k->off_from < k->off_to)
		put(t, k->stream, k->lane,
		    timeline_span(TIMELINE_WAIT, k->off_from, k->off_to));
	k->off_from = k->off_to = 0;
}

/* Waiting goes on over calls and returns: they cut it into pieces. */
static void off(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct timeline *const t = ctx;
	const size_t number = stream_number(st);
	struct track *const k = number < t->work->track_room ?
				&t->work->tracks[number] : NULL;

	if (!k || !k->is_wanted || k->lane == TIMELINE_NONE ||
	    t->work->options.coroutine != 0)
		return;
	if (k->off_to != from) {
		put_wait(t, k);
		k->off_from = from;
	}
	k->off_to = to;
}

const struct replay_sink timeline_sink = {
	.enter = enter, .leave = leave, .calls = calls, .resume = resume,
	.suspend = suspend, .off = off,
	.chunk_begin = chunk_begin, .chunk_end = chunk_end,
};

/* ---- the end ------------------------------------------------------------ */

/* By time, the outermost first. */
ORDER_BY(compare_begins, struct timeline_span,
	 UP(from) ?: UP(depth) ?: UP(to) ?: UP(func))

/* What is too deep has been joined over the ends of what is around it where two
 * streams shared the lane: what began before it counts its calls. */
static void drop_deep(struct timeline *t, struct timeline_spans *in)
{
	size_t kept = 0;

	for (size_t i = 0; i < in->count; i++) {
		if (!timeline_is_deep(t, &in->at[i]))
			in->at[kept++] = in->at[i];
		else if (kept > 0)
			in->at[kept - 1].calls += in->at[i].calls;
		else
			t->rest.calls += in->at[i].calls;
	}
	t->held -= in->count - kept;
	in->count = kept;
}

static void sum_up(struct timeline_lane *l)
{
	for (size_t i = 0; i < l->spans.count; i++) {
		const struct timeline_span *const s = &l->spans.at[i];

		l->calls += s->calls;
		if (s->kind != TIMELINE_RUN)
			continue;
		if (l->runs == 0)
			l->begin = s->from;
		l->runs += s->parts;
		l->active += s->busy;
		l->end = MAX(s->to, l->end);
	}
}

void timeline_finish(struct timeline *t)
{
	for (size_t i = 0; i < t->work->track_room; i++) {
		struct track *const k = &t->work->tracks[i];

		while (k->run_count > 0)
			close_run(t, k, k->stream, k->last, false);
		put_wait(t, k);
	}
	timeline_fold(t);
	while (t->held > t->work->options.spans && timeline_coarsen(t))
		;
	if (t->rest.runs == 0)
		t->rest.coroutines = 0;
	for (size_t i = 0; i < t->lane_count; i++) {
		struct timeline_lane *const l = &t->lanes[i];

		timeline_sort(&l->spans, compare_begins);
		drop_deep(t, &l->spans);
		timeline_sort(&l->gaps, compare_begins);
		timeline_sort(&l->waits, compare_begins);
		sum_up(l);
	}
}
