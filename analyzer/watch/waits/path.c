/* path.c - walks along the lanes of a chronicle: the topmost span of a lane
 * says whether its coroutine runs; the waits of the thread below it, and the
 * objects that this waited for, divide the rest.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/path.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* Coroutines that resume one another. */
enum { MAX_RUNS = 4096 };

/* Spans that follow one another. */
struct spans { const struct span *at; size_t count; };

/* By span of a track, that which contains it; and the spans of depth 0. */
struct index {
	uint32_t *parent;
	struct span *base; size_t bases, base_room;
};

struct path {
	const struct session *session;
	const struct chronicle_found *found;
	struct waits *waits;
	struct map *tracks;
	struct map *body_of;     /* by process and serial */
	struct index *index;     /* by track, empty: not asked for yet */
	const struct waits_span **spans; /* by thread, then by begin */
	size_t span_count;
	struct path_step *steps; size_t count, room;
	uint32_t depth;          /* the deepest steps */
};

ORDER_BY(by_thread, struct waits_span *, ORDER((*x)->thread, (*y)->thread) ?:
	 ORDER((*x)->begin, (*y)->begin))

static uint32_t *track_put(struct map *of, const struct track *k)
{
	return map_put(of, k->coroutine ? k->process : k->thread, k->coroutine);
}

struct map *path_tracks(const struct chronicle_found *f)
{
	struct map *const of = map_new();

	for (size_t i = f->count; i-- > 0;)
		if (f->tracks[i].level == 0)
			*track_put(of, &f->tracks[i]) = (uint32_t)i + 1;
	return of;
}

uint32_t path_track(const struct map *of, const struct path_who *who)
{
	const uint32_t at = !who->is_known ? 0 :
		map_find(of, who->coroutine ? who->process : who->thread,
			 who->coroutine);

	return at == 0 ? (uint32_t)TRACK_NONE : at - 1;
}

struct path *path_new(const struct session *s, const struct chronicle_found *f,
		      struct waits *w)
{
	struct path *const p = mem_alloc(sizeof(*p));

	*p = (struct path){ .session = s, .found = f, .waits = w,
		.tracks = path_tracks(f), .body_of = map_new(),
		.index = mem_alloc((f->count + 1) * sizeof(*p->index)),
		.spans = mem_alloc((w->span_count + 1) * sizeof(*p->spans)),
		.span_count = w->span_count };
	for (size_t i = 0; i < s->coroutine_count; i++)
		if (s->coroutines[i].body != 0)
			*map_put(p->body_of, s->coroutines[i].process,
				 s->coroutines[i].serial) =
				s->coroutines[i].body;
	for (size_t i = 0; i < w->span_count; i++)
		p->spans[i] = &w->spans[i];
	order_sort(p->spans, p->span_count, by_thread);
	return p;
}

void path_free(struct path *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->found->count; i++)
		mem_free_all(p->index[i].parent, p->index[i].base);
	map_free(p->tracks);
	map_free(p->body_of);
	mem_free_all(p->index, p->spans, p->steps, p);
}

func_id path_body(const struct path *p, uint32_t process, uint64_t coroutine)
{
	return map_find(p->body_of, process, coroutine);
}

/* ---- what a lane shows at a moment -------------------------------------- */

static const struct index *index_of(struct path *p, uint32_t track)
{
	const struct track *const k = &p->found->tracks[track];
	struct index *const x = &p->index[track];
	uint32_t *last = NULL;
	size_t room = 0;

	if (x->parent)
		return x;
	x->parent = mem_alloc((k->count + 1) * sizeof(*x->parent));
	for (size_t i = 0; i < k->count; i++) {
		const uint32_t depth = k->spans[i].depth;

		vec_need(&last, &room, (size_t)depth + 1);
		last[depth] = (uint32_t)i;
		x->parent[i] = depth == 0 ? TRACK_NONE : last[depth - 1];
		if (depth == 0)
			*vec_add(&x->base, &x->base_room, &x->bases) =
				k->spans[i];
	}
	mem_free(last);
	return x;
}

/* The deepest span of the track at a tick, or TRACK_NONE. *until: how long it
 * is so, if that is less than it was. */
static uint32_t span_at(struct path *p, uint32_t track, ticks at, ticks *until)
{
	const struct track *const k = &p->found->tracks[track];
	const uint32_t *const parent = index_of(p, track)->parent;
	const size_t next = ORDER_FIRST(i, k->count, k->spans[i].begin <= at);
	uint32_t i = next == 0 ? TRACK_NONE : (uint32_t)next - 1;

	while (i != TRACK_NONE && k->spans[i].end <= at)
		i = parent[i];
	if (next < k->count)
		*until = MIN(k->spans[next].begin, *until);
	if (i != TRACK_NONE)
		*until = MIN(k->spans[i].end, *until);
	return i;
}

static struct spans base_of(struct path *p, uint32_t track)
{
	const struct index *const x = index_of(p, track);

	return (struct spans){ x->base, x->bases };
}

/* When a thread was off the CPU. */
static struct spans off_of(const struct path *p, uint32_t track)
{
	const struct track *const w = p->found->tracks[track].waits;

	return w ? (struct spans){ w->spans, w->count } : (struct spans){ 0 };
}

/* The span at a tick, or NULL. *next: the one after the tick, or the end. */
static const struct span *at_in(struct spans s, ticks at,
				const struct span **next)
{
	const size_t n = ORDER_FIRST(i, s.count, s.at[i].begin <= at);

	*next = s.at + n;
	return n > 0 && s.at[n - 1].end > at ? &s.at[n - 1] : NULL;
}

/* How much of a time is in them, but for what was not recorded. */
static ticks part_of(struct spans s, ticks from, ticks to)
{
	ticks sum = 0;

	for (size_t i = ORDER_FIRST(k, s.count, s.at[k].end <= from);
	     i < s.count && s.at[i].begin < to; i++)
		if (s.at[i].kind != SPAN_OFF && s.at[i].kind != SPAN_MISSING)
			sum += MIN(to, s.at[i].end) - MAX(from, s.at[i].begin);
	return sum;
}

/* The track of the thread that a track's coroutine is on at a tick. */
static uint32_t thread_at(struct path *p, uint32_t track, ticks at)
{
	const struct span *next, *s;

	for (int i = 0; i < MAX_RUNS && track != TRACK_NONE; i++) {
		if (p->found->tracks[track].coroutine == 0)
			return track;
		s = at_in(base_of(p, track), at, &next);
		track = s && s->kind == SPAN_ACTIVE ? s->to : TRACK_NONE;
	}
	return TRACK_NONE;
}

static bool is_open(const struct span *s)
{
	return (s->kind == SPAN_CALL || s->kind == SPAN_SAMPLED) &&
	       s->func != 0;
}

/* A stack with the calls of a track at a tick, up to a span. What only ticks of
 * sampled Lua saw stands behind a frame that says so. The body of a sampled
 * coroutine, which has no records, is open whatever else is known. */
static stack_id push_calls(struct path *p, uint32_t track, uint32_t span,
			   stack_id stack)
{
	struct stack_table *const t = p->waits->stacks;
	const struct track *const k = &p->found->tracks[track];
	const uint32_t depth = k->spans[span].depth;
	const func_id body = map_find(p->body_of, k->process, k->coroutine);
	uint32_t *const at = mem_alloc(((size_t)depth + 1) * sizeof(*at));
	bool is_body = k->coroutine != 0, is_sampled = false;

	for (uint32_t i = span; i != TRACK_NONE;
	     i = index_of(p, track)->parent[i])
		at[k->spans[i].depth] = i;
	for (uint32_t d = 0; d <= depth; d++) {
		const struct span *const s = &k->spans[at[d]];

		if (!is_open(s))
			continue;
		if (s->kind == SPAN_SAMPLED && !is_sampled)
			stack = stack_table_push(t, stack, 0, STACK_SAMPLED);
		is_sampled |= s->kind == SPAN_SAMPLED;
		stack = stack_table_push(t, stack, s->func,
					 is_body ? STACK_BODY : 0);
		is_body = false;
	}
	if (is_body && body != 0 && func_get(p->session->funcs, body)->noted)
		stack = stack_table_push(t, stack, body, STACK_BODY);
	mem_free(at);
	return stack;
}

/* The stitched stack of a thread's track at a tick; below: without that
 * coroutine's part, and all on top of it. */
static stack_id stack_at(struct path *p, uint32_t track, ticks at,
			 uint32_t below)
{
	stack_id stack = 0;
	ticks until = UINT64_MAX;

	for (int i = 0; i < MAX_RUNS && track != TRACK_NONE; i++) {
		const uint32_t span = span_at(p, track, at, &until);
		const struct track *const k = &p->found->tracks[track];

		if (span == TRACK_NONE)
			break;
		stack = push_calls(p, track, span, stack);
		track = k->spans[span].kind == SPAN_RUN &&
			k->spans[span].to != below ? k->spans[span].to :
			TRACK_NONE;
	}
	return stack;
}

/* The innermost function at a tick, also in coroutines that run; 0: none.
 * *until: as in span_at. */
static func_id func_at(struct path *p, uint32_t track, ticks at, ticks *until)
{
	func_id func = 0;

	for (int i = 0; i < MAX_RUNS && track != TRACK_NONE; i++) {
		const uint32_t span = span_at(p, track, at, until);
		const struct span *s;

		if (span == TRACK_NONE)
			break;
		s = &p->found->tracks[track].spans[span];
		func = s->func ? s->func : func;
		track = s->kind == SPAN_RUN ? s->to : TRACK_NONE;
	}
	return func;
}

/* A moment at which the function was innermost that was so for most of the
 * time. */
static ticks hottest(struct path *p, uint32_t track, ticks from, ticks to)
{
	struct sum { ticks all, longest, at; } *sums = NULL, *best = NULL;
	struct map *const of = map_new();
	size_t count = 0, room = 0;
	ticks at = from, until, found;

	for (; at < to; at = until) {
		uint32_t *i;

		until = to;
		i = map_put(of, func_at(p, track, at, &until), 0);
		if (*i == 0) {
			*vec_add(&sums, &room, &count) = (struct sum){ 0 };
			*i = (uint32_t)count;
		}
		sums[*i - 1].all += until - at;
		if (until - at > sums[*i - 1].longest) {
			sums[*i - 1].longest = until - at;
			sums[*i - 1].at = at;
		}
	}
	for (size_t i = 0; i < count; i++)
		best = !best || sums[i].all > best->all ? &sums[i] : best;
	found = best ? best->at : from;
	map_free(of);
	mem_free(sums);
	return found;
}

/* ---- steps -------------------------------------------------------------- */

static struct path_who who_at(struct path *p, uint32_t track, ticks at)
{
	const uint32_t on = thread_at(p, track, at);
	const struct track *k;

	if (track == TRACK_NONE)
		return (struct path_who){ .is_known = false };
	k = &p->found->tracks[track];
	return (struct path_who){ .is_known = true, .process = k->process,
		.thread = on == TRACK_NONE ? k->thread :
			  p->found->tracks[on].thread,
		.coroutine = k->coroutine };
}

static void add(struct path *p, struct path_step s)
{
	if (s.begin < s.end)
		*vec_add(&p->steps, &p->room, &p->count) = s;
}

/* The wait of a thread for an object at a tick, or NULL. *next: when the one
 * after it begins, if that is less than it was. */
static const struct waits_span *wait_at(const struct path *p, uint32_t thread,
					ticks at, ticks *next)
{
	const size_t i = ORDER_FIRST(k, p->span_count,
		p->spans[k]->thread < thread || (p->spans[k]->thread == thread
		&& p->spans[k]->begin <= at));

	if (i < p->span_count && p->spans[i]->thread == thread)
		*next = MIN(p->spans[i]->begin, *next);
	return i > 0 && p->spans[i - 1]->thread == thread &&
	       p->spans[i - 1]->end > at ? p->spans[i - 1] : NULL;
}

/* How long a track's thread ran in a time; 0 if that is not known. */
static ticks ran(struct path *p, uint32_t track, ticks from, ticks to)
{
	const uint32_t thread = p->found->tracks[track].thread;
	const ticks on = part_of(base_of(p, track), from, to);
	ticks until = to;

	return (thread < p->session->thread_count &&
		p->session->threads[thread].known == 0) ||
	       wait_at(p, thread, from, &until) || until < to ? 0 :
	       on - MIN(on, part_of(off_of(p, track), from, to));
}

/* The thread that ran longest in the time in which this one had no core, unless
 * that is less than a quarter of it: other programs ran then. */
static void add_ready(struct path *p, struct path_step s)
{
	const ticks span = s.end - s.begin;
	uint32_t best = TRACK_NONE;
	ticks most = span / 4;

	for (uint32_t i = 0; i < p->found->count; i++) {
		const struct track *const k = &p->found->tracks[i];
		const ticks sum = k->coroutine != 0 || k->level > 0 ||
			k->thread == s.who.thread ? 0 :
			ran(p, i, s.begin, s.end);

		if (sum > most) {
			most = sum;
			best = i;
		}
	}
	s.kind = PATH_READY;
	s.by = who_at(p, best, s.begin);
	if (best != TRACK_NONE)
		s.by_stack = stack_at(p, best, hottest(p, best, s.begin, s.end),
				      TRACK_NONE);
	add(p, s);
}

static void follow(struct path *, uint32_t track, ticks from, ticks to,
		   uint32_t depth);

/* The step, and what the one did whom it was because of. */
static void add_with(struct path *p, struct path_step s)
{
	const uint32_t by = path_track(p->tracks, &s.by);

	add(p, s);
	if (s.depth < p->depth && by != TRACK_NONE)
		follow(p, by, s.begin, s.end, s.depth + 1);
}

static struct path_who owner_of(const struct path *p,
				const struct waits_span *w)
{
	struct path_who who = { .process = w->of.process };

	who.is_known = waits_owner(p->session, w, &who.thread);
	return who;
}

/* A wait for an object up to s.end, which may be before it ends: a part for
 * each of those who held it in turn, and of nobody between them. Returns when
 * the last of them let it go; what follows is due to nobody. */
static ticks add_waits(struct path *p, struct path_step s,
		       const struct waits_span *w)
{
	const ticks end = s.end;
	struct waits_span rest = *w;
	const struct waits_end *e;
	uint32_t by;

	rest.begin = MAX(w->begin, s.begin);
	for (size_t n = waits_ends_in(p->waits, &rest, &e);
	     n > 0 && s.begin < end; n--, e++) {
		if (e->since > s.begin) {
			s.by = (struct path_who){ .is_known = false };
			s.by_stack = 0;
			s.end = MIN(end, e->since);
			add(p, s);
			s.begin = s.end;
		}
		if (s.begin == end)
			break;
		s.end = MIN(end, e->at);
		s.by = (struct path_who){ true, e->of.process, e->thread,
					  e->coroutine };
		s.by_stack = e->stack;
		add_with(p, s);
		s.begin = s.end;
	}
	if (waits_ends_in(p->waits, w, &e) > 0)
		return s.begin;
	s.by = owner_of(p, w);
	by = path_track(p->tracks, &s.by);
	s.by_stack = by == TRACK_NONE ? 0 :
		     stack_at(p, by, s.begin, TRACK_NONE);
	add_with(p, s);
	return end;
}

/* What a thread did that did not run in that stack. */
static enum path_kind asleep_in(const struct path *p, stack_id stack)
{
	const struct session *const s = p->session;
	const func_id func = stack == 0 ? 0 :
			     stack_table_get(p->waits->stacks, stack)->func;

	return session_note(s, "waits") && !func_is_libc(s->funcs, func) ?
	       PATH_OTHER : PATH_BLOCKED;
}

/* From s.begin to s.end at most the same holds of a thread; on: its track.
 * Returns until when. */
static ticks add_same(struct path *p, uint32_t track, uint32_t on,
		      struct path_step s)
{
	ticks next = s.end;
	const struct waits_span *const w =
		wait_at(p, s.who.thread, s.begin, &next);
	const struct spans all = off_of(p, on);
	const struct span *after;
	const struct span *const off = at_in(all, s.begin, &after);
	ticks until;

	if (after < all.at + all.count)
		next = MIN(next, after->begin);
	if (w) {
		s.kind = PATH_WAITS;
		s.of = w->of;
		s.stack = w->stack;
		s.end = MIN(s.end, w->end);
		until = add_waits(p, s, w);
		if (until > s.begin)
			return until;
	}
	/* Let go on, and not yet going on, it may wait for a core. */
	s.end = MIN(next, off ? MIN(s.end, off->end) : s.end);
	if (off && off->kind == SPAN_READY) {
		s.stack = stack_at(p, on, s.begin, TRACK_NONE);
		add_ready(p, s);
		return s.end;
	}
	if (!w) {
		s.stack = stack_at(p, on, off ? s.begin :
			hottest(p, track, s.begin, s.end), TRACK_NONE);
		s.kind = off ? asleep_in(p, s.stack) : PATH_RUNS;
	}
	add(p, s);
	return s.end;
}

/* A coroutine is not active until `next` begins. */
static void add_suspended(struct path *p, uint32_t track, struct path_step s,
			  const struct span *next)
{
	const struct spans base = base_of(p, track);
	const bool is_resumed = next < base.at + base.count &&
				next->to != TRACK_NONE;
	const uint32_t on = is_resumed ?
			    thread_at(p, next->to, next->begin) : TRACK_NONE;
	ticks until = UINT64_MAX;
	uint32_t last = TRACK_NONE;

	s.kind = PATH_SUSPENDED;
	if (next > base.at && next[-1].end > 0)
		last = span_at(p, track, next[-1].end - 1, &until);
	if (last != TRACK_NONE)
		s.stack = push_calls(p, track, last, 0);
	if (is_resumed)
		s.by = who_at(p, next->to, next->begin);
	if (on != TRACK_NONE)
		s.by_stack = stack_at(p, on, next->begin, track);
	add_with(p, s);
}

static void follow(struct path *p, uint32_t track, ticks from, ticks to,
		   uint32_t depth)
{
	const struct track *const k = &p->found->tracks[track];
	const struct spans base = base_of(p, track);

	while (from < to) {
		const struct span *next;
		const struct span *const s = at_in(base, from, &next);
		const uint32_t on = s && s->kind == SPAN_ACTIVE ?
				    thread_at(p, track, from) : TRACK_NONE;
		struct path_step step = { .kind = PATH_UNKNOWN, .begin = from,
			.depth = depth, .who = who_at(p, track, from),
			.end = s ? MIN(to, s->end) :
			       next < base.at + base.count ?
			       MIN(to, next->begin) : to };

		if (on != TRACK_NONE)
			step.end = add_same(p, track, on, step);
		else if (!s && k->coroutine != 0)
			add_suspended(p, track, step, next);
		else
			add(p, step);
		from = step.end;
	}
}

struct path_step *path_steps(struct path *p, const struct path_who *who,
			     ticks from, ticks to, uint32_t depth,
			     size_t *count)
{
	struct path_step *steps;
	const uint32_t track = path_track(p->tracks, who);

	p->depth = depth;
	if (track != TRACK_NONE)
		follow(p, track, from, to, 0);
	else
		add(p, (struct path_step){ .kind = PATH_UNKNOWN, .begin = from,
			.end = to, .who = *who });
	steps = p->steps;
	*count = p->count;
	p->steps = NULL;
	p->count = p->room = 0;
	return steps;
}

/* ---- sums --------------------------------------------------------------- */

static func_id innermost(const struct waits *w, stack_id stack)
{
	const struct stack_frame *const f = stack == 0 ? NULL :
				stack_table_get(w->stacks, stack);

	return f && !(f->flags & (STACK_OMITTED | STACK_BEFORE)) ? f->func : 0;
}

func_id path_caller(const struct waits *w, stack_id stack)
{
	struct func_table *const funcs = w->session->funcs;

	return !func_is_library(funcs, innermost(w, stack)) ? 0 :
	       innermost(w, stack_table_own(w->stacks, funcs, stack));
}

static bool is_of(const struct waits *w, const struct path_step *sum,
		  const struct path_step *step)
{
	return sum->kind == step->kind &&
	       innermost(w, sum->stack) == innermost(w, step->stack) &&
	       path_caller(w, sum->stack) == path_caller(w, step->stack) &&
	       (step->kind != PATH_WAITS ||
		waits_compare(&sum->of, &step->of) == 0);
}

ORDER_BY(by_falling_time, struct path_step,
	 DOWN(end) ?: UP(kind) ?: UP(stack))

/* There are few of them. */
struct path_step *path_sums(const struct waits *w, const struct path_step *step,
			    size_t n, size_t *count)
{
	struct path_step *list = NULL;
	size_t room = 0, k;

	*count = 0;
	for (size_t i = 0; i < n; i++, step++) {
		const ticks time = step->end - step->begin;

		if (step->depth > 0)
			continue;
		for (k = 0; k < *count && !is_of(w, &list[k], step); k++)
			;
		if (k == *count)
			*vec_add(&list, &room, count) = (struct path_step){
				.kind = step->kind, .of = step->of };
		list[k].end += time;
		list[k].steps++;
		if (time > list[k].longest) {
			list[k].longest = time;
			list[k].stack = step->stack;
		}
	}
	order_sort(list, *count, by_falling_time);
	return list;
}
