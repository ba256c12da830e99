/* slow_wait.c - calls of coroutines over suspensions. Threads are replayed one
 * after the other: a suspend and its resume may come in either order.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow_state.h"
#include "analyzer/base/vec.h"

static uint32_t number_of(struct slow *s, uint32_t process, uint64_t coroutine)
{
	uint32_t *const id = map_put(s->co_of, process, coroutine);

	if (*id == 0)
		*id = ++s->cos;
	return *id;
}

static struct wait *find_wait(struct slow *s, const struct replay_event *e,
			      ticks tick)
{
	const uint32_t id = map_find(s->wait_of,
		number_of(s, e->process, e->coroutine), tick);

	return id == 0 ? NULL : &s->waits[id - 1];
}

static struct wait *new_wait(struct slow *s, const struct replay_event *e,
			     ticks tick, int is_resume)
{
	uint32_t id = s->wait_free;

	if (id != 0) {
		s->wait_free = s->waits[id - 1].next_free;
	} else {
		vec_need(&s->waits, &s->wait_room, s->wait_count + 1);
		id = (uint32_t)++s->wait_count;
	}
	s->waits[id - 1] = (struct wait){
		.is_resume = is_resume, .is_used = 1, .process = e->process,
		.level = e->level, .coroutine = e->coroutine, .tick = tick };
	*map_put(s->wait_of, number_of(s, e->process, e->coroutine), tick) =
		id;
	return &s->waits[id - 1];
}

static void free_wait(struct slow *s, struct wait *w)
{
	map_remove(s->wait_of, number_of(s, w->process, w->coroutine),
		   w->tick);
	mem_free(w->held);
	*w = (struct wait){ .next_free = s->wait_free };
	s->wait_free = (uint32_t)(w - s->waits) + 1;
}

static void hold(struct wait *w, size_t count, size_t at,
		 const struct slot *slot)
{
	if (!w->held)
		w->held = mem_alloc(count * sizeof(*w->held));
	w->held[w->count++] = (struct held){ (uint32_t)at, *slot };
}

/* --- what stands on the stack before and after ------------------------- */

static stack_id *list(const struct stack_table *t, stack_id id, size_t *n)
{
	stack_id *ids;

	*n = stack_table_depth(t, id);
	ids = mem_alloc((*n + 1) * sizeof(*ids));
	for (size_t i = *n; i-- > 0; id = stack_table_get(t, id)->below)
		ids[i] = id;
	return ids;
}

static int is_same(const struct stack_table *t, stack_id a, stack_id b)
{
	const struct stack_frame *const x = stack_table_get(t, a);
	const struct stack_frame *const y = stack_table_get(t, b);

	return x->func == y->func &&
	       !((x->flags ^ y->flags) & STACK_OMITTED);
}

/* Where the frames of the stack before are in the stack after; UINT32_MAX for
 * those that died in between. The caller's to free. */
static uint32_t *align(const struct stack_table *t, stack_id before,
		       stack_id after)
{
	size_t n, k, j = 0;
	stack_id *const a = list(t, before, &n), *const b = list(t, after, &k);
	uint32_t *const to = mem_alloc((n + 1) * sizeof(*to));

	for (size_t i = 0; i < n; i++)
		to[i] = j < k && is_same(t, a[i], b[j]) ? (uint32_t)j++ :
			UINT32_MAX;
	mem_free(a);
	mem_free(b);
	return to;
}

static stack_id prefix(const struct stack_table *t, stack_id id, size_t frames)
{
	for (size_t n = stack_table_depth(t, id); n > frames; n--)
		id = stack_table_get(t, id)->below;
	return id;
}

/* A call that a yield, or the end of all, found on its coroutine's stack. */
static void end_held(struct slow *s, const struct wait *w, struct slot *slot,
		     size_t at, enum slow_end end)
{
	const stack_id own = prefix(s->stacks, w->own, at + 1);
	struct slow_call call;

	if (!slot->is_known) {
		s->found.unknown++;
		return;
	}
	for (int whole = slot->part == 0;; whole = 1) {
		call = slow_close(slot, w->tick, end);
		call.process = w->process;
		call.level = w->level;
		call.coroutine = w->coroutine;
		call.depth = (uint32_t)at;
		if (whole)
			break;
		if (slow_part_end(s, slot, &call, w->tick, own))
			return;
	}
	slow_end_carried(s, slot, &call, own);
}

/* --- events ------------------------------------------------------------ */

/* Of the topmost segment. */
struct top { size_t base, depth; struct slot *slots; stack_id own; };

static struct top look_top(struct slow *s, struct lane *l,
			   const struct stream *st)
{
	struct stream_segment seg;
	struct top top = { .depth = stream_depth(st) };

	seg = stream_top(st);
	top.base = seg.base;
	top.slots = slow_slots(l, top.depth + 1);
	(void)s;
	return top;
}

static size_t count_wanted(const struct top *t)
{
	size_t n = 0;

	for (size_t i = t->base; i < t->depth; i++)
		n += t->slots[i].func != 0;
	return n;
}

/* Until its first suspension the frames below are those of its entry. */
static void carry(struct slow *s, struct slot *slot, const struct stream *st,
		  size_t depth)
{
	if (slot->part != 0 || slot->is_carried)
		return;
	slot->under = slow_under(s, st, depth);
	slot->is_carried = 1;
}

/* The resume came first: w. */
static void meet_resume(struct slow *s, const struct top *t, struct wait *w,
			const struct replay_event *e)
{
	struct wait here = *w;
	uint32_t *const to = align(s->stacks, t->own, w->own);
	size_t k = 0;

	here.own = t->own;
	for (size_t i = t->base; i < t->depth; i++) {
		const uint32_t at = to[i - t->base];

		for (; k < w->count && w->held[k].at < at &&
		       at != UINT32_MAX; k++)
			slow_part_give_up(s, w->held[k].slot.part);
		if (t->slots[i].func == 0)
			continue;
		carry(s, &t->slots[i], e->stream, i);
		if (at != UINT32_MAX && k < w->count && w->held[k].at == at)
			slow_part_join(s, &t->slots[i], w->held[k++].slot.part);
		else
			end_held(s, &here, &t->slots[i], i - t->base,
				 SLOW_UNWOUND);
	}
	for (; k < w->count; k++)
		slow_part_give_up(s, w->held[k].slot.part);
	mem_free(to);
	free_wait(s, w);
}

void slow_wait_suspend(struct slow *s, struct lane *l,
		       const struct replay_event *e)
{
	struct top t;
	struct wait *w;
	size_t wanted;

	if (e->reason == SUSPEND_RETURN || e->reason == SUSPEND_ERROR)
		return;
	t = look_top(s, l, e->stream);
	wanted = count_wanted(&t);
	w = find_wait(s, e, e->tick);
	if (wanted > 0 || w)
		t.own = stream_stack(e->stream, t.base, t.depth, s->stacks, 0);
	if (w && w->is_resume) {
		meet_resume(s, &t, w, e);
		return;
	}
	if (w)
		free_wait(s, w);
	w = new_wait(s, e, e->tick, 0);
	w->own = t.own;
	for (size_t i = t.base; i < t.depth; i++) {
		if (t.slots[i].func == 0)
			continue;
		carry(s, &t.slots[i], e->stream, i);
		hold(w, wanted, i - t.base, &t.slots[i]);
	}
}

/* What is there now; nothing is known of what was before. */
static void read_frames(struct slow *s, const struct top *t,
			const struct replay_event *e)
{
	struct stream_frame f;

	for (size_t i = t->base; i < t->depth; i++) {
		f = stream_frame(e->stream, i);
		t->slots[i] = (struct slot){ 0 };
		if (f.omitted == 0 && slow_wants(s, f.func))
			t->slots[i] = (struct slot){
				.func = f.func, .is_known = f.is_known,
				.entry = f.entry, .thread = e->thread,
				.is_partial = 1 };
	}
}

/* The suspend came first: w. */
static void meet_suspend(struct slow *s, const struct top *t, struct wait *w,
			 const struct replay_event *e)
{
	uint32_t *const to = align(s->stacks, w->own, t->own);

	for (size_t k = 0; k < w->count; k++) {
		struct held *const h = &w->held[k];
		struct slot *const slot = to[h->at] == UINT32_MAX ? NULL :
					  &t->slots[t->base + to[h->at]];

		if (!slot) {
			end_held(s, w, &h->slot, h->at, SLOW_UNWOUND);
			continue;
		}
		h->slot.is_known = slot->is_known;
		h->slot.entry = slot->entry;
		h->slot.slept += e->slept;
		*slot = h->slot;
	}
	mem_free(to);
	free_wait(s, w);
}

void slow_wait_resume(struct slow *s, struct lane *l,
		      const struct replay_event *e)
{
	const ticks tick = e->slept < e->tick ? e->tick - e->slept : 0;
	struct top t = look_top(s, l, e->stream);
	struct wait *w = find_wait(s, e, tick);
	size_t wanted;

	read_frames(s, &t, e);
	wanted = count_wanted(&t);
	if (wanted > 0)
		t.own = stream_stack(e->stream, t.base, t.depth, s->stacks, 0);
	if (w && !w->is_resume) {
		meet_suspend(s, &t, w, e);
		return;
	}
	/* With nothing wanted it waits, too: what the suspend had died. */
	if (w || (wanted == 0 && e->slept == 0))
		return;
	w = new_wait(s, e, tick, 1);
	w->own = t.own;
	for (size_t i = t.base; i < t.depth; i++) {
		struct slot *const slot = &t.slots[i];

		if (slot->func == 0)
			continue;
		slot->is_partial = 0;
		slot->slept = e->slept;
		slot->part = slow_part_new(s);
		hold(w, wanted, i - t.base, slot);
	}
}

void slow_wait_finish(struct slow *s)
{
	for (size_t i = 0; i < s->wait_count; i++) {
		struct wait *const w = &s->waits[i];

		for (size_t k = 0; w->is_used && !w->is_resume && k < w->count;
		     k++)
			end_held(s, w, &w->held[k].slot, w->held[k].at,
				 SLOW_OPEN);
	}
	slow_part_finish(s);
}
