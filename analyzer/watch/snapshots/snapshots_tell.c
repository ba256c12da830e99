/* snapshots_tell.c - tells what snapshots.c has collected, moment by moment:
 * the stacks of threads, with their handlers' on top, then those of coroutines
 * off every thread. Must not know how a stack is printed.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots/snapshots_private.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

/* What telling needs. frames is put together anew for each stack. */
struct teller {
	struct snapshots *m;
	const struct func_table *funcs;
	snapshots_fn fn;
	void *ctx;
	struct snapshot_frame *frames;
	size_t count, room;
	uint32_t *awake;         /* rests that a moment is in, as indices */
	size_t awake_count;
	struct map *seen;        /* coroutines told of at this moment */
	bool has_unknown;        /* some rests are told only if not seen */
};

/* ---- telling of threads ---- */

/* By moment, process, thread, level. */
static int compare_looks(const void *a, const void *b, void *snapshots)
{
	const struct snapshots *const m = snapshots;
	const struct look *const x = a, *const y = b;
	const struct watched *const p = &m->watched[x->stream];
	const struct watched *const q = &m->watched[y->stream];

	return UP(moment) ?: ORDER(p->process, q->process) ?:
	       ORDER(p->thread, q->thread) ?: ORDER(p->level, q->level);
}

/* Append the frames of a stack, outermost first. */
static void add_stack(struct teller *t, stack_id id, uint64_t coroutine,
		      uint32_t level)
{
	const size_t n = stack_table_depth(t->m->stacks, id);

	vec_need(&t->frames, &t->room, t->count + n + 1);
	for (size_t i = t->count + n; i-- > t->count; ) {
		const struct stack_frame *const f =
			stack_table_get(t->m->stacks, id);

		t->frames[i] = (struct snapshot_frame){
			.func = f->func, .flags = f->flags,
			.coroutine = coroutine, .level = level };
		if (f->flags & STACK_OMITTED) {
			t->frames[i].func = 0;
			t->frames[i].omitted = f->func;
		}
		id = f->below;
	}
	t->count += n;
}

/* Append calls that turned out later to have been open below. The one that
 * ended last is the outermost; those that ended before the look are left out.
 * If no call ever showed itself, one frame stands for what is not known. */
static void add_old(struct teller *t, const struct look *l)
{
	const struct watched *const w = &t->m->watched[l->stream];
	bool any = false;

	for (size_t i = w->old_count; i-- > 0; ) {
		if (w->old[i].window != l->window)
			continue;
		any = true;
		if (i >= l->old)
			*vec_add(&t->frames, &t->room, &t->count) =
				(struct snapshot_frame){
					.func = w->old[i].func,
					.flags = STACK_BEFORE };
	}
	if (!any)
		*vec_add(&t->frames, &t->room, &t->count) =
			(struct snapshot_frame){ .flags = STACK_BEFORE };
}

/* Append a look's frames; returns the coroutine that runs on top. */
static uint64_t add_look_frames(struct teller *t, const struct look *l)
{
	const struct seam *const seams = t->m->seams + l->seam;
	const uint32_t level = t->m->watched[l->stream].level;
	uint64_t top = 0;
	size_t base, k = 0;

	if (l->window != 0)
		add_old(t, l);
	base = t->count;
	add_stack(t, l->stack, 0, level);
	for (size_t i = base; i < t->count; i++) {
		for (; k < l->seams && seams[k].base + base <= i; k++)
			top = seams[k].serial;
		t->frames[i].coroutine = top;
	}
	return l->seams > 0 ? seams[l->seams - 1].serial : 0;
}

/* Is frame i a function of one of two kinds? Frames left out are of none. */
static bool is_kind(const struct teller *t, size_t i, enum func_kind a,
		   enum func_kind b)
{
	const func_id id = t->frames[i].func;
	enum func_kind kind;

	if (id == 0)
		return false;
	kind = func_get((struct func_table *)t->funcs, id)->kind;
	return kind == a || kind == b;
}

/* Give a stack to the caller. */
static void tell(struct teller *t, struct snapshot_stack *s)
{
	for (size_t i = 0; i + 1 < t->count; i++)
		if (is_kind(t, i, FUNC_NATIVE, FUNC_CODE) &&
		    is_kind(t, i + 1, FUNC_LUA, FUNC_LUA))
			t->frames[i].flags |= SNAPSHOT_ENTERS_LUA;
	s->frames = t->frames;
	s->count = t->count;
	t->fn(t->ctx, s);
	t->count = 0;
}

/* The coroutines on a thread are not told of again. That is needed only where
 * some rests are unknown: known ones cannot overlap. */
static void see(struct teller *t, uint32_t process, const struct look *l)
{
	if (t->has_unknown)
		for (uint32_t k = 0; k < l->seams; k++)
			*map_put(t->seen, process,
				 t->m->seams[l->seam + k].serial) = 1;
}

/* Tell the looks of one thread, from i on, as one stack: its handlers' frames
 * come on top. Returns where the next thread's begin. */
static size_t tell_thread(struct teller *t, size_t i, size_t end)
{
	const struct look *const l = &t->m->looks[i];
	const struct watched *const w = &t->m->watched[l->stream];
	struct snapshot_stack s = {
		.moment = l->moment, .state = l->state,
		.process = w->process, .thread = w->thread, .is_thread = 1 };

	for (; i < end; i++) {
		const struct look *const k = &t->m->looks[i];
		uint64_t top;

		if (t->m->watched[k->stream].thread != w->thread)
			break;
		/* A handler that has nothing open is not there. */
		if (w->level == 0 && k != l && k->stack == 0)
			continue;
		see(t, w->process, k);
		top = add_look_frames(t, k);
		s.coroutine = k == l || top != 0 ? top : s.coroutine;
	}
	/* A handler whose thread is not known to be there at all. */
	if (w->level > 0)
		s.state = SNAPSHOT_UNKNOWN;
	if (s.state != SNAPSHOT_UNKNOWN || w->level == 0 || t->count > 0)
		tell(t, &s);
	return i;
}

/* ---- telling of coroutines ---- */

/* By beginning. */
ORDER_BY(compare_rests, struct rest, UP(from))

/* By process and coroutine. */
static int compare_awake(const void *a, const void *b, void *snapshots)
{
	const struct snapshots *const m = snapshots;
	const struct rest *const x = &m->rests[*(const uint32_t *)a];
	const struct rest *const y = &m->rests[*(const uint32_t *)b];
	const struct known_co *const p = &m->cos[x->co];
	const struct known_co *const q = &m->cos[y->co];

	/* What is known comes before what is not. */
	return ORDER(p->process, q->process) ?: ORDER(p->serial, q->serial) ?:
	       ORDER(x->state == SNAPSHOT_UNKNOWN,
		     y->state == SNAPSHOT_UNKNOWN);
}

/* A coroutine that is known to be elsewhere is not also told as unknown. */
static void tell_rest(struct teller *t, const struct rest *r, size_t moment)
{
	const struct known_co *const c = &t->m->cos[r->co];
	struct snapshot_stack s = {
		.moment = moment, .state = r->state, .process = c->process,
		.coroutine = c->serial, .since = r->from };

	if (t->has_unknown) {
		uint32_t *const seen = map_put(t->seen, c->process, c->serial);

		if (*seen && r->state == SNAPSHOT_UNKNOWN)
			return;
		*seen = 1;
	}
	add_stack(t, r->stack, c->serial, 0);
	tell(t, &s);
}

/* The rests that a moment lies in: those of the moment before that last, and
 * new ones. */
static void tell_rests(struct teller *t, size_t moment, size_t *next)
{
	struct snapshots *const m = t->m;
	const ticks at = m->at[moment];
	size_t kept = 0;

	for (; *next < m->rest_count && m->rests[*next].from <= at; ++*next)
		if (m->rests[*next].is == REST_WHOLE)
			t->awake[t->awake_count++] = (uint32_t)*next;
	for (size_t i = 0; i < t->awake_count; i++)
		if (m->rests[t->awake[i]].to > at)
			t->awake[kept++] = t->awake[i];
	t->awake_count = kept;
	qsort_r(t->awake, kept, sizeof(*t->awake), compare_awake, m);
	for (size_t i = 0; i < kept; i++)
		tell_rest(t, &m->rests[t->awake[i]], moment);
}

void snapshots_each(struct snapshots *m, const struct func_table *funcs,
		  snapshots_fn fn, void *ctx)
{
	struct teller t = { .m = m, .funcs = funcs, .fn = fn, .ctx = ctx };
	size_t look = 0, rest = 0;

	snapshots_close(m);
	if (m->look_count > 0)
		qsort_r(m->looks, m->look_count, sizeof(*m->looks),
			compare_looks, m);
	order_sort(m->rests, m->rest_count, compare_rests);
	for (size_t i = 0; i < m->rest_count; i++)
		t.has_unknown |= m->rests[i].state == SNAPSHOT_UNKNOWN;
	t.seen = map_new();
	t.awake = mem_alloc((m->rest_count + 1) * sizeof(*t.awake));
	for (size_t i = 0; i < m->count; i++) {
		size_t end = look;

		while (end < m->look_count && m->looks[end].moment == i)
			end++;
		while (look < end)
			look = tell_thread(&t, look, end);
		tell_rests(&t, i, &rest);
		map_clear(t.seen);
	}
	mem_free_all(t.awake, t.frames);
	map_free(t.seen);
}
