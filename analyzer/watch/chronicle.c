/* chronicle.c - gives the calls of each stream, when they end or are suspended,
 * to a track. Must not know how a track keeps them: track.c.
 *
 * Threads are replayed one after the other, or in turns, so each stream fills
 * tracks of its own, for its thread and for each coroutine that it runs. At the
 * end the tracks of a coroutine become one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/chronicle.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* A call that is open, or a run of a coroutine. What is not shown is there only
 * if something depends on it. */
struct slot {
	uint32_t place;          /* of a frame: 2 * its depth + 1; of a run:
	                          * 2 * that of the frames that it may have */
	uint32_t track, depth;   /* on it */
	uint32_t run;            /* run: that of the one below it */
	struct span span;
	uint64_t serial;         /* run: the coroutine */
	bool is_shown;
	bool opens;              /* what is on top of it is shown: `under` */
	bool is_chosen;          /* run: of the coroutine that is asked for */
	bool is_active;          /* run: it is shown in its own lane, too */
	bool is_back, is_alone;  /* what SPAN_BACK and SPAN_ALONE say of it
	                          * there */
	bool is_lua;             /* of sampled Lua, without a frame: it made
	                          * the frame of that place, or the run */
};

/* A stream's open slots, outermost first. A call has one only from the first
 * other event on that happens in it: most calls are over before. */
struct lane {
	bool is_used, is_shown;  /* --thread */
	struct slot *slot; size_t count, room;
	size_t seen;             /* frames below this were looked at */
	uint32_t run;            /* index + 1 of the topmost run's slot */
	uint32_t own, track;     /* the thread's; that of the topmost run */
	uint32_t depth;          /* how many slots on it are shown */
	uint64_t coroutine;      /* serial of the topmost run; 0: none */
	size_t opens, chosen;    /* how many slots open, or are chosen */
	ticks now;               /* of the last event */
	ticks least;             /* of the last one before the chunk */
	bool has_chunk, is_off;  /* the last one ended, with CHUNK_LAST */
	bool is_alone;           /* what is next on the track is not folded
	                          * with what is before it */
	/* In lanes: the thread is recorded since `active`; it is off the CPU
	 * from..to, which may go on. */
	bool is_active;
	ticks active, off_from, off_to;
	bool off_ready;
	/* So many slots on top are what ticks of sampled Lua told of, up to
	 * that one; nothing else has happened since `now`. */
	size_t sampled;
	ticks sampled_to;
};

struct chronicle {
	struct chronicle_options options;
	struct chronicle_found found;
	struct lane *lanes; size_t lane_room;      /* by stream_number */
	const struct stream *stream; struct lane *lane; /* the last one */
	struct map *track_of;    /* stream and coroutine: index + 1 */
	struct map *shown;       /* lanes: process and serial of coroutines
	                          * that have one; NULL: all */
	size_t track_room, mark_room;
	size_t spans;            /* kept, without those that pend */
	ticks below;
};

/* ---- tracks ---- */

/* For qsort: by falling active, then in the session's order. */
ORDER_BY(compare_active, struct coroutine *,
	 ORDER((*y)->active, (*x)->active) ?: ORDER(*x, *y))

static void choose_coroutines(struct chronicle *t)
{
	const struct session *const s = t->options.lanes_of;
	const size_t n = s->coroutine_count, most = t->options.most;
	const struct coroutine **const by = mem_alloc((n + 1) * sizeof(*by));

	for (size_t i = 0; i < n; i++)
		by[i] = &s->coroutines[i];
	qsort(by, n, sizeof(*by), compare_active);
	t->shown = map_new();
	for (size_t i = 0; i < most; i++)
		*map_put(t->shown, by[i]->process, by[i]->serial) = 1;
	t->found.rest.coroutines = n - most;
	mem_free(by);
}

/* The range is that of the options, within the session's. */
static void begin_lanes(struct chronicle *t)
{
	struct chronicle_options *const o = &t->options;
	const struct session *const s = o->lanes_of;
	const ticks from = session_first_tick(s), to = session_last_tick(s);

	t->found.from = o->to > 0 ? MIN(to, MAX(from, o->from)) : from;
	t->found.to = o->to > 0 ? MAX(t->found.from, MIN(to, o->to)) : to;
	if (o->to == 0)
		o->to = to + 1;
	if (o->most > 0 && o->most < s->coroutine_count)
		choose_coroutines(t);
}

struct chronicle *chronicle_new(const struct chronicle_options *options)
{
	struct chronicle *const t = mem_alloc(sizeof(*t));

	t->options = *options;
	t->below = options->below;
	t->track_of = map_new();
	if (options->lanes_of)
		begin_lanes(t);
	return t;
}

void chronicle_free(struct chronicle *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->found.count; i++)
		track_fini(&t->found.tracks[i]);
	for (size_t i = 0; i < t->lane_room; i++)
		mem_free(t->lanes[i].slot);
	map_free(t->track_of);
	map_free(t->shown);
	mem_free_all(t->found.tracks, t->found.marks, t->lanes, t);
}

const struct chronicle_found *chronicle_found(const struct chronicle *t)
{
	return &t->found;
}

/* The track of a coroutine (0: the thread) on the event's stream. A new one's
 * parent is the one that the stream is on. */
static uint32_t track_for(struct chronicle *t, const struct lane *l,
		      const struct replay_event *e, uint64_t coroutine)
{
	uint32_t *const id = map_put(t->track_of, stream_number(e->stream),
				     coroutine);

	if (*id == 0) {
		*vec_add(&t->found.tracks, &t->track_room, &t->found.count) =
			(struct track){
				.process = e->process, .thread = e->thread,
				.level = e->level, .coroutine = coroutine,
				.parent = l->track, .suspended = UINT64_MAX,
				.is_rest = coroutine != 0 && t->shown &&
					map_find(t->shown, e->process,
						 coroutine) == 0 };
		*id = (uint32_t)t->found.count;
	}
	return *id - 1;
}

static void fold_track(struct chronicle *t, struct track *k)
{
	track_fold(k, t->below);
	t->spans += k->count;
}

/* Too many spans are kept: fold shorter ones until they are not. */
static void fold_more(struct chronicle *t)
{
	enum { FIRST = 16 };

	while (t->spans > t->options.max_spans && t->below < UINT64_MAX / 2) {
		t->below = t->below < FIRST ? FIRST : t->below * 2;
		t->spans = 0;
		for (size_t i = 0; i < t->found.count; i++) {
			fold_track(t, &t->found.tracks[i]);
			if (t->found.tracks[i].waits)
				fold_track(t, t->found.tracks[i].waits);
		}
	}
}

/* What a lane says of its coroutine or thread. False: it has no spans. */
static bool count_active(struct chronicle *t, struct track *k,
			 const struct span *s)
{
	struct chronicle_rest *const rest = &t->found.rest;

	if (k->is_rest)
		rest->calls += s->calls;
	if (s->kind != SPAN_ACTIVE)
		return !k->is_rest;
	if (k->is_rest) {
		rest->runs++;
		rest->active += s->longest;
		return false;
	}
	k->from = k->runs > 0 ? MIN(s->begin, k->from) : s->begin;
	k->to = MAX(s->end, k->to);
	k->runs++;
	k->active += s->longest;
	return true;
}

/* A span is over. A call counts where it begins, its time inside of the range
 * that is asked for. */
static void give(struct chronicle *t, struct track *k, struct span *s)
{
	const ticks from = t->options.from, to = t->options.to;
	const size_t before = k->count;

	if (to > 0) {
		if (s->begin >= to || s->end < from)
			return;
		if (s->begin < from) {
			s->begin = from;
			s->calls = 0;
		}
		s->end = s->end > to ? to : s->end;
	}
	s->longest = s->end - s->begin;
	t->found.calls += s->calls;
	if (t->options.lanes_of && !count_active(t, k, s))
		return;
	track_add(k, s, t->below);
	t->spans += k->count - before;
	if (t->options.max_spans > 0 && t->spans > t->options.max_spans)
		fold_more(t);
}

/* ---- a stream's slots ---- */

static __attribute__((noinline)) struct lane *
find_lane(struct chronicle *t, const struct replay_event *e)
{
	const size_t number = stream_number(e->stream);
	struct lane *l;

	if (number >= t->lane_room)
		vec_need_zeroed(&t->lanes, &t->lane_room, number + 1);
	l = &t->lanes[number];
	if (!l->is_used) {
		l->is_used = true;
		l->depth = t->options.lanes_of ? 1 : 0;
		l->is_shown = !t->options.threads ||
			      (e->thread < t->options.thread_count &&
			       t->options.threads[e->thread]);
		l->own = l->track = track_for(t, l, e, 0);
	}
	t->stream = e->stream;
	t->lane = l;
	return l;
}

static __attribute__((noinline)) void
pop(struct chronicle *t, struct lane *l, ticks at)
{
	struct slot *const s = &l->slot[--l->count];
	const bool is_run = s->place % 2 == 0 && !s->is_lua;

	s->span.end = at < s->span.begin ? s->span.begin : at;
	if (s->is_active && l->is_shown)
		give(t, &t->found.tracks[l->track], &(struct span){
			.kind = SPAN_ACTIVE, .begin = s->span.begin,
			.end = s->span.end, .func = s->span.func,
			.to = s->track,
			.flags = (s->is_back ? SPAN_BACK : 0) |
				 (s->is_alone ? SPAN_ALONE : 0) });
	if (is_run) {
		l->run = s->run;
		l->coroutine = s->run ? l->slot[s->run - 1].serial : 0;
		l->chosen -= s->is_chosen;
		t->found.tracks[l->track].suspended = at;
		l->is_alone = false;
	}
	l->opens -= s->opens;
	l->track = s->track;
	l->depth = s->depth;
	if (s->is_shown && l->is_shown)
		give(t, &t->found.tracks[s->track], &s->span);
	/* So are the functions that resumed it. */
	while (is_run && l->count > 0 && l->slot[l->count - 1].is_lua &&
	       l->slot[l->count - 1].place == s->place)
		pop(t, l, at);
}

/* What ticks told of is known no longer. */
static __attribute__((noinline)) void
end_sampled(struct chronicle *t, struct lane *l, size_t kept)
{
	for (; l->sampled > kept; l->sampled--)
		pop(t, l, l->sampled_to);
}

/* The event's lane; made when it is first asked for. Its time never goes
 * back. */
static inline struct lane *lane_for(struct chronicle *t,
				const struct replay_event *e)
{
	struct lane *const l = t->stream == e->stream ? t->lane :
			       find_lane(t, e);

	if (l->sampled > 0)
		end_sampled(t, l, 0);
	return l;
}

/* All from that place on is over. */
static inline void pop_from(struct chronicle *t, struct lane *l,
			    size_t place, ticks at)
{
	while (l->count > 0 && l->slot[l->count - 1].place >= place)
		pop(t, l, at);
	l->seen = MIN(place / 2, l->seen);
}

/* The topmost coroutine is gone, and all on top of it. What it was resumed by
 * may have no frames either, and stays. */
static void pop_run(struct chronicle *t, struct lane *l, ticks at)
{
	const size_t kept = l->run - 1;

	l->seen = MIN(l->slot[kept].place / 2, l->seen);
	while (l->count > kept)
		pop(t, l, at);
}

static inline bool has(const uint8_t *set, const struct chronicle *t,
		       func_id func)
{
	return set && func < t->options.funcs && set[func];
}

/* Is what begins now part of what is asked for? */
static bool is_wanted(const struct chronicle *t, const struct lane *l)
{
	return (!t->options.under || l->opens > 0) &&
	       (t->options.serial == 0 || l->chosen > 0);
}

/* A new slot on the track that the stream is on. */
static struct slot *push(struct lane *l, size_t place, bool is_shown)
{
	struct slot *const s = vec_add(&l->slot, &l->room, &l->count);

	*s = (struct slot){ .place = (uint32_t)place, .track = l->track,
			    .depth = l->depth, .is_shown = is_shown };
	s->span.depth = l->depth;
	if (is_shown && l->is_alone && l->depth == 0) {
		s->span.flags = SPAN_ALONE;
		l->is_alone = false;
	}
	l->depth += is_shown;
	return s;
}

/* The first function of a run is the body of its coroutine. */
static void see_body(struct lane *l, func_id func)
{
	if (l->run > 0 && l->slot[l->run - 1].span.func == 0)
		l->slot[l->run - 1].span.func = func;
}

/* Functions of sampled Lua are open from now on, as long as the frame, or the
 * run, of that place is. They may have been before, too. */
static void open_lua(struct chronicle *t, struct lane *l, const func_id *func,
		     size_t n, size_t place, ticks at)
{
	for (size_t i = 0; i < n; i++) {
		struct slot *s;

		if (!is_wanted(t, l) || has(t->options.skip, t, func[i]))
			continue;
		s = push(l, place, true);
		s->is_lua = true;
		s->span.begin = at;
		s->span.func = func[i];
	}
}

/* Those that made the call of a frame, in lanes. */
static void open_callers(struct chronicle *t, struct lane *l,
			 const struct replay_event *e, size_t depth,
			 const struct replay_call *call, ticks at)
{
	func_id func[NOTED_FRAMES];
	size_t n;

	if (!t->options.lanes_of || !stream_is_sampled(e->stream))
		return;
	n = stream_lua_funcs(e->stream, depth, call->func, call->begin, func);
	if (n > 0)
		see_body(l, func[0]);
	open_lua(t, l, func, n, 2 * depth + 1, at);
}

/* A frame is open from now on. calls: 1 if the call begins now. */
static void open_frame(struct chronicle *t, struct lane *l, func_id func,
		 size_t depth, ticks at, unsigned calls)
{
	const bool opens = has(t->options.under, t, func);
	struct slot *s;

	l->seen = depth + 1;
	see_body(l, func);
	l->opens += opens;
	if ((!is_wanted(t, l) || has(t->options.skip, t, func)) && !opens)
		return;
	s = push(l, 2 * depth + 1, is_wanted(t, l) &&
		 !has(t->options.skip, t, func));
	s->opens = opens;
	s->span.begin = at;
	s->span.calls = calls;
	s->span.func = func;
}

/* ---- coroutines ---- */

/* A coroutine is on the stack from now on; below it there are so many frames.
 * Without tracks for coroutines its frames go on top of those. */
static void begin_run(struct chronicle *t, struct lane *l,
		const struct replay_event *e, uint64_t serial, size_t depth,
		ticks at)
{
	const bool is_chosen = t->options.serial != 0 &&
		serial == t->options.serial &&
		(t->options.pid == 0 || e->pid == t->options.pid);
	const bool is_shown = t->options.by_coroutine && is_wanted(t, l);
	struct slot *const s = push(l, 2 * depth, is_shown);

	s->serial = serial;
	s->is_chosen = is_chosen;
	l->chosen += is_chosen;
	s->run = l->run;
	s->span.kind = SPAN_RUN;
	s->span.begin = at;
	s->is_active = t->options.lanes_of && is_wanted(t, l);
	l->run = (uint32_t)l->count;
	l->coroutine = serial;
	if (!t->options.by_coroutine)
		return;
	l->track = track_for(t, l, e, serial);
	l->slot[l->count - 1].span.to = l->track;
	l->depth = t->options.lanes_of ? 1 : 0;
}

/* What the run has next on its track is not folded with what is before it: of a
 * lane, the run itself. */
static void begin_alone(const struct chronicle *t, struct lane *l,
			bool is_alone)
{
	l->slot[l->run - 1].is_alone = is_alone;
	l->is_alone = is_alone && !t->options.lanes_of;
}

/* How many coroutines are on the stack. */
static size_t runs(const struct lane *l)
{
	size_t n = 0;

	for (uint32_t i = l->run; i > 0; i = l->slot[i - 1].run)
		n++;
	return n;
}

/* The stack was replaced: its coroutines, so many, were not seen to come or to
 * go. */
static void sync(struct chronicle *t, struct lane *l,
		 const struct replay_event *e, size_t want, ticks at)
{
	struct stream_segment g;

	/* Those that are not there, and all on top of them, are gone. */
	while (l->run > 0) {
		const size_t n = runs(l);

		if (n <= want) {
			g = stream_segment(e->stream, n);
			if (g.serial == l->coroutine)
				break;
		}
		pop_run(t, l, l->now);
	}
	for (size_t k = runs(l) + 1; k <= want; k++) {
		g = stream_segment(e->stream, k);
		begin_run(t, l, e, g.serial, g.base, MAX(at, l->now));
		begin_alone(t, l, true);
	}
}

/* What was entered since the last event, up to a depth, is open. segments: what
 * was on the stack then. */
static void catch_up(struct chronicle *t, struct lane *l,
		     const struct replay_event *e, size_t depth,
		     size_t segments)
{
	while (l->seen < depth) {
		const struct stream_frame f = stream_frame(e->stream, l->seen);
		const ticks begin = MAX(f.entry, l->least);

		if (f.omitted > 0) {
			l->seen++;
			continue;
		}
		if (stream_segment(e->stream, segments - 1).serial !=
		    l->coroutine)
			sync(t, l, e, segments - 1, begin);
		open_callers(t, l, e, l->seen, &(struct replay_call){
			.func = f.func, .begin = f.entry }, begin);
		open_frame(t, l, f.func, l->seen, begin, 1);
	}
}

/* The whole stack. */
static void catch_up_all(struct chronicle *t, struct lane *l,
			 const struct replay_event *e)
{
	catch_up(t, l, e, stream_depth(e->stream), stream_segments(e->stream));
}

/* ---- events ---- */

/* The tick of an event, which becomes the lane's. In a damaged chunk it may lie
 * before that of the last one: time stands still then. */
static ticks advance(struct lane *l, const struct replay_event *e)
{
	if (e->tick > l->now)
		l->now = e->tick;
	return l->now;
}

/* The call was open before. */
static void chronicle_enter(void *ctx, const struct replay_event *e)
{
	struct chronicle *const t = ctx;
	struct lane *l;

	if (e->deferred != REPLAY_NOW) {
		t->found.unknown += e->deferred == REPLAY_DEFERRED_OLD ||
				    e->deferred == REPLAY_DEFERRED_OMITTED;
		return;
	}
	l = lane_for(t, e);
	if (e->coroutine != l->coroutine)
		sync(t, l, e, stream_segments(e->stream) - 1, e->tick);
	pop_from(t, l, 2 * (size_t)e->depth + 1, l->now);
	open_frame(t, l, e->func, e->depth, advance(l, e), 0);
}

static void chronicle_adopt(void *ctx, const struct replay_event *e)
{
	lane_for(ctx, e)->seen = stream_depth(e->stream);
}

static void chronicle_leave(void *ctx, const struct replay_event *e)
{
	struct chronicle *const t = ctx;
	struct lane *l;

	if (e->deferred != REPLAY_NOW)
		return;
	l = lane_for(t, e);
	catch_up(t, l, e, MIN(stream_depth(e->stream), (size_t)e->depth + 1),
		 stream_segments(e->stream));
	pop_from(t, l, 2 * (size_t)e->depth + 1, advance(l, e));
}

/* A call of a function, of which all are asked for: it is shown without having
 * been open. */
static void pass_by(struct chronicle *t, struct lane *l,
		    const struct replay_call *c, ticks from, ticks to)
{
	struct track *const k = &t->found.tracks[l->track];
	const uint32_t depth = l->depth + c->depth - (uint32_t)l->seen;
	struct span s;

	if (l->is_shown && !l->is_alone && (t->options.to == 0 ||
	    (from >= t->options.from && to < t->options.to)) &&
	    track_join_call(k, c->func, depth, from, to, t->below)) {
		t->found.calls++;
		return;
	}
	s = (struct span){ .begin = from, .end = to, .calls = 1,
			   .func = c->func, .depth = depth };
	if (l->is_alone && depth == 0) {
		s.flags = SPAN_ALONE;
		l->is_alone = false;
	}
	if (l->is_shown)
		give(t, &t->found.tracks[l->track], &s);
}

/* The first of several calls is on a run that may be new: what it is in, or
 * itself, comes first there. */
static void see_first(struct chronicle *t, struct lane *l,
		      const struct replay_event *e, const struct replay_call *c)
{
	struct stream_frame f = { .func = c->func, .entry = c->begin };

	if (l->seen < stream_depth(e->stream))
		f = stream_frame(e->stream, l->seen);
	if (e->coroutine != l->coroutine)
		sync(t, l, e, stream_segments(e->stream) - 1,
		     MAX(f.entry, l->least));
	see_body(l, f.func);
}

static ticks chronicle_calls(void *ctx, const struct replay_event *e,
		   const struct replay_call *call, size_t n)
{
	struct chronicle *const t = ctx;
	struct lane *const l = lane_for(t, e);
	const bool is_all = !t->options.under && !t->options.skip &&
		t->options.serial == 0 && !(t->options.lanes_of &&
					    stream_is_sampled(e->stream));

	see_first(t, l, e, call);
	for (const struct replay_call *c = call; c < call + n; c++) {
		const ticks from = MAX(c->begin, l->least);
		const ticks to = MAX(c->end, l->least);

		if (is_all && l->seen <= c->depth) {
			pass_by(t, l, c, from, to);
			continue;
		}
		catch_up(t, l, e, c->depth, stream_segments(e->stream));
		if (l->seen <= c->depth) {
			open_callers(t, l, e, c->depth, c, from);
			open_frame(t, l, c->func, c->depth, from, 1);
		}
		pop_from(t, l, 2 * (size_t)c->depth + 1, to);
	}
	advance(l, e);
	return is_all ? UINT64_MAX : 0;
}

/* The frames that the coroutine has had go on. Its spans may join those before
 * if nothing was in between: it was suspended when this stream did that. */
static void chronicle_resume(void *ctx, const struct replay_event *e)
{
	struct chronicle *const t = ctx;
	struct lane *const l = lane_for(t, e);
	const size_t depth = stream_depth(e->stream);
	func_id func[NOTED_FRAMES];
	ticks now;

	catch_up(t, l, e, e->depth, stream_segments(e->stream) - 1);
	now = advance(l, e);
	if (t->options.lanes_of)
		open_lua(t, l, func, stream_lua_resumers(e->stream, func),
			 2 * (size_t)e->depth, now);
	begin_run(t, l, e, e->coroutine, e->depth, now);
	begin_alone(t, l, t->options.by_coroutine &&
		t->found.tracks[l->track].suspended != e->tick - e->slept);
	for (size_t i = e->depth; i < depth; i++) {
		const struct stream_frame f = stream_frame(e->stream, i);

		if (f.omitted > 0)
			continue;
		open_callers(t, l, e, i, &(struct replay_call){
			.func = f.func, .begin = f.entry }, now);
		open_frame(t, l, f.func, i, now, 0);
	}
	l->seen = depth;
}

static void chronicle_suspend(void *ctx, const struct replay_event *e)
{
	struct chronicle *const t = ctx;
	struct lane *const l = lane_for(t, e);
	ticks now;

	catch_up_all(t, l, e);
	now = advance(l, e);
	while (l->run > 0 && l->coroutine != e->coroutine)
		pop_run(t, l, now);
	if (l->run == 0)
		return;
	l->slot[l->run - 1].is_back = true;
	pop_run(t, l, now);
}

static void mark(void *ctx, const struct replay_event *e)
{
	struct chronicle *const t = ctx;
	struct lane *const l = lane_for(t, e);

	catch_up_all(t, l, e);
	if (!l->is_shown || (t->options.to > 0 &&
	    (e->tick < t->options.from || e->tick >= t->options.to)))
		return;
	if (t->options.max_spans > 0 &&
	    t->found.mark_count >= t->options.max_spans) {
		t->found.marks_left_out++;
		return;
	}
	*vec_add(&t->found.marks, &t->mark_room, &t->found.mark_count) =
		(struct chronicle_mark){ e->tick, e->func, l->track };
}

/* In lanes: the thread is no longer recorded. */
static void end_active(struct chronicle *t, struct lane *l)
{
	if (l->is_active && l->is_shown && is_wanted(t, l))
		give(t, &t->found.tracks[l->track], &(struct span){
			.kind = SPAN_ACTIVE, .begin = l->active, .end = l->now,
			.to = TRACK_NONE });
	l->is_active = false;
}

static void begin_active(struct chronicle *t, struct lane *l, ticks at)
{
	if (l->is_active || !t->options.lanes_of)
		return;
	l->is_active = true;
	l->active = at;
}

/* Records are missing before this chunk if nothing says that recording was off;
 * what was open has ended. */
static void chronicle_chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	struct chronicle *const t = ctx;
	struct lane *const l = lane_for(t, e);
	struct span gap = { .begin = l->now, .end = chunk->header.tick_begin,
			    .kind = l->is_off ? SPAN_OFF : SPAN_MISSING };
	bool is_gap;

	if (stream_depth(e->stream) == 0 && stream_segments(e->stream) == 1)
		pop_from(t, l, 0, l->now);
	is_gap = l->has_chunk && l->count == 0 && gap.begin < gap.end;
	if (is_gap)
		end_active(t, l);
	if (is_gap && l->is_shown && (t->options.lanes_of ?
	    is_wanted(t, l) && e->level == 0 : !l->is_off))
		give(t, &t->found.tracks[l->track], &gap);
	begin_active(t, l, chunk->header.tick_begin);
	l->is_off = (chunk->header.flags & CHUNK_LAST) != 0;
	l->has_chunk = true;
	l->least = l->now;
}

static void chronicle_chunk_end(void *ctx, const struct replay_event *e)
{
	struct lane *const l = lane_for(ctx, e);

	catch_up_all(ctx, l, e);
	advance(l, e);
}

/* The thread's waits have a track of their own. */
static void end_wait(struct chronicle *t, struct lane *l)
{
	struct span s = { .kind = l->off_ready ? SPAN_READY : SPAN_BLOCKED,
			  .begin = l->off_from, .end = l->off_to };
	struct track *const of = &t->found.tracks[l->own];

	l->off_from = l->off_to = 0;
	if (s.begin >= s.end)
		return;
	if (!of->waits)
		of->waits = mem_alloc(sizeof(*of->waits));
	give(t, of->waits, &s);
}

/* Waiting goes on over calls and returns: they cut it into pieces. */
static void chronicle_off(void *ctx, const struct stream *st, ticks from,
			  ticks to, bool ready)
{
	struct chronicle *const t = ctx;
	const size_t number = stream_number(st);
	struct lane *const l = number < t->lane_room ? &t->lanes[number] : NULL;

	if (!l || !l->is_used || !l->is_shown || t->options.serial != 0)
		return;
	if (l->off_to != from || l->off_ready != ready) {
		end_wait(t, l);
		l->off_from = from;
		l->off_ready = ready;
	}
	l->off_to = to;
}

/* The slots that are open because of ticks say so; a slot that the tick has,
 * too, stays: nothing was recorded meanwhile. */
static void chronicle_noted(void *ctx, const struct replay_event *e,
			    const struct replay_noted *n)
{
	struct chronicle *const t = ctx;
	struct lane *const l = t->stream == e->stream ? t->lane :
			       find_lane(t, e);
	const ticks from = e->tick - MIN(e->tick, n->span);
	size_t same = 0, first;

	if (n->count == 0)
		return;
	/* What was entered since lies on top of what ticks told of. */
	if (l->seen < stream_depth(e->stream))
		end_sampled(t, l, 0);
	catch_up_all(t, l, e);
	first = l->count - l->sampled;
	while (same < MIN(l->sampled, n->count) &&
	       l->slot[first + same].span.func == n->func[same])
		same++;
	end_sampled(t, l, same);
	see_body(l, n->func[0]);
	for (size_t i = same; i < n->count && is_wanted(t, l); i++) {
		struct slot *const s = push(l, 2 * l->seen + 1, true);

		s->is_lua = true;
		s->span.kind = SPAN_SAMPLED;
		s->span.begin = MAX(from, MAX(l->now, l->sampled_to));
		s->span.func = n->func[i];
		l->sampled++;
	}
	l->sampled_to = MAX(e->tick, l->now);
}

#define CHRONICLE_SINK \
	.enter = chronicle_enter, .leave = chronicle_leave, \
	.calls = chronicle_calls, .resume = chronicle_resume, \
	.suspend = chronicle_suspend, .mark = mark, \
	.chunk_begin = chronicle_chunk_begin, \
	.chunk_end = chronicle_chunk_end, .adopt = chronicle_adopt

const struct replay_sink chronicle_sink = { CHRONICLE_SINK };
const struct replay_sink chronicle_lanes_sink = {
	CHRONICLE_SINK, .off = chronicle_off, .noted = chronicle_noted };

/* ---- the end ---- */

/* One track for each coroutine: the first one that has it takes the spans of
 * the others. same: by track, that one. */
static void join_tracks(struct chronicle *t, uint32_t *same)
{
	struct map *const first = map_new();

	for (size_t i = 0; i < t->found.count; i++) {
		struct track *const k = &t->found.tracks[i];
		uint32_t *id;

		track_flush(k);
		same[i] = (uint32_t)i;
		if (k->coroutine == 0)
			continue;
		id = map_put(first, k->process, k->coroutine);
		if (*id == 0) {
			*id = (uint32_t)i + 1;
			continue;
		}
		same[i] = *id - 1;
		track_join(&t->found.tracks[same[i]], k);
	}
	map_free(first);
}

static void count_folded(struct chronicle *t, const struct track *k)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->spans[i].flags & (SPAN_FOLDED | SPAN_DEEP))
			t->found.folded += k->spans[i].calls;
}

static void end_lane(struct chronicle *t, struct lane *l)
{
	end_sampled(t, l, 0);
	pop_from(t, l, 0, l->now);
	end_active(t, l);
	end_wait(t, l);
}

void chronicle_finish(struct chronicle *t)
{
	uint32_t *const same = mem_grow(NULL, t->found.count + 1,
					sizeof(*same));

	for (size_t i = 0; i < t->lane_room; i++)
		end_lane(t, &t->lanes[i]);
	join_tracks(t, same);
	for (size_t i = 0; i < t->found.count; i++) {
		struct track *const k = &t->found.tracks[i];

		k->parent = same[k->parent];
		for (size_t j = 0; j < k->count; j++)
			if (k->spans[j].to < t->found.count)
				k->spans[j].to = same[k->spans[j].to];
		t->found.clipped += track_finish(k);
		if (k->waits)
			track_finish(k->waits);
		count_folded(t, k);
	}
	for (size_t i = 0; i < t->found.mark_count; i++)
		t->found.marks[i].track = same[t->found.marks[i].track];
	t->found.below = t->below;
	mem_free(same);
}

/* Spans rise by their beginnings. */
const struct span *chronicle_of_run(const struct chronicle_found *f,
				   const struct span *run)
{
	const struct track *const k = &f->tracks[run->to];
	const size_t first = ORDER_FIRST(i, k->count,
					 k->spans[i].begin < run->begin);

	return first < k->count && k->spans[first].begin <= run->end ?
	       &k->spans[first] : NULL;
}
