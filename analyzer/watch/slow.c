/* slow.c - follows the wanted calls of each stream from entry to exit.
 * Suspensions are in slow_wait.c.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow.h"
#include "analyzer/watch/slow_state.h"
#include "analyzer/base/vec.h"

struct slow *slow_new(const struct slow_options *options)
{
	struct slow *const s = mem_alloc(sizeof(*s));

	s->options = *options;
	s->stacks = stack_table_new();
	s->lane_of = map_new();
	s->co_of = map_new();
	s->wait_of = map_new();
	return s;
}

void slow_free(struct slow *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->lane_count; i++) {
		mem_free(s->lanes[i]->slots);
		mem_free(s->lanes[i]);
	}
	for (size_t i = 0; i < s->wait_count; i++)
		mem_free(s->waits[i].held);
	stack_table_free(s->stacks);
	map_free(s->lane_of);
	map_free(s->co_of);
	map_free(s->wait_of);
	mem_free(s->lanes);
	mem_free(s->parts);
	mem_free(s->waits);
	mem_free(s->best);
	mem_free(s);
}

const struct slow_found *slow_found(const struct slow *s)
{
	return &s->found;
}

int slow_wants(const struct slow *s, func_id func)
{
	return func < s->options.funcs && s->options.wanted[func];
}

static struct lane *lane(struct slow *s, const struct stream *st)
{
	uint32_t *id;

	if (st == s->last)
		return s->last_lane;
	id = map_put(s->lane_of, stream_thread(st),
		     stream_level(st));
	if (*id == 0) {
		struct lane *const l = mem_alloc(sizeof(*l));

		l->thread = stream_thread(st);
		l->level = stream_level(st);
		*vec_add(&s->lanes, &s->lane_room, &s->lane_count) = l;
		*id = (uint32_t)s->lane_count;
	}
	s->last = st;
	s->last_lane = s->lanes[*id - 1];
	return s->last_lane;
}

struct slot *slow_slots(struct lane *l, size_t count)
{
	const size_t before = l->room;

	vec_need(&l->slots, &l->room, count);
	for (size_t i = before; i < l->room; i++)
		l->slots[i] = (struct slot){ 0 };
	return l->slots;
}

struct slow_call slow_close(const struct slot *slot, ticks at,
			    enum slow_end end)
{
	const ticks total = at > slot->entry ? at - slot->entry : 0;
	const ticks wall = total + slot->slept;

	return (struct slow_call){
		.func = slot->func, .thread = slot->thread, .total = total,
		.begin = wall < at ? at - wall : 0, .self = slot->self,
		.suspended = slot->slept, .end = end,
		.is_partial = slot->is_partial };
}

stack_id slow_under(struct slow *s, const struct stream *st, size_t base)
{
	const stack_id id = stream_window(st) == 0 ? 0 :
			    stack_table_push(s->stacks, 0, 0, STACK_BEFORE);

	return stream_stack(st, 0, base, s->stacks, id);
}

void slow_end_carried(struct slow *s, const struct slot *slot,
		      struct slow_call *call, stack_id own)
{
	struct stack_frame frame;

	slow_best_count(s, call);
	if (!slow_best_is_one(s, call))
		return;
	frame = *stack_table_get(s->stacks, own);
	call->stack = !slot->is_carried ? own :
		stack_table_push(s->stacks, slot->under, frame.func,
				 frame.flags);
	slow_best_put(s, call);
}

static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct lane *const l = lane(ctx, st);
	const size_t depth = stream_depth(st);

	if (depth > 0 && depth <= l->room)
		l->slots[depth - 1].self += to - from;
}

static void enter(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	struct stream_frame frame;
	struct slot *slot;
	struct lane *l;

	if (e->deferred != REPLAY_NOW) {
		s->found.unknown += (e->deferred == REPLAY_DEFERRED_OLD ||
				     e->deferred == REPLAY_DEFERRED_OMITTED) &&
				    slow_wants(s, e->func);
		return;
	}
	l = lane(s, e->stream);
	slot = &slow_slots(l, (size_t)e->depth + 1)[e->depth];
	if (!slow_wants(s, e->func)) {
		slot->func = 0;
		return;
	}
	l->process = e->process;
	frame = stream_frame(e->stream, e->depth);
	*slot = (struct slot){
		.func = e->func, .is_known = frame.is_known,
		.entry = frame.entry, .thread = e->thread,
		.is_partial = e->why != REPLAY_SEEN };
}

static enum slow_end end_of(const struct replay_event *e)
{
	switch (e->why) {
	case REPLAY_UNWOUND:
		return e->reason == UNWIND_RESET ? SLOW_CUT : SLOW_UNWOUND;
	case REPLAY_DIED:
		return SLOW_DIED;
	case REPLAY_CUT:
		return SLOW_CUT;
	case REPLAY_OPEN_AT_END:
		return SLOW_OPEN;
	default:
		return SLOW_RETURNED;
	}
}

static size_t top_base(const struct stream *st)
{
	struct stream_segment top;

	top = stream_top(st);
	return top.base;
}

static uint32_t flags_of(const struct replay_event *e, const struct slot *slot)
{
	return (e->depth == top_base(e->stream) && e->coroutine != 0 ?
		STACK_BODY : 0) | (slot->is_known ? 0 : STACK_BEFORE);
}

/* Its coroutine's frames, itself innermost. */
static stack_id own_stack(struct slow *s, const struct slot *slot,
			  const struct replay_event *e)
{
	return stack_table_push(s->stacks, stream_stack(e->stream, top_base(e->stream), e->depth, s->stacks, 0),
			  e->func, flags_of(e, slot));
}

/* The frames below are what they were at its entry, if it was not suspended. */
static void end_here(struct slow *s, const struct slot *slot,
		     struct slow_call *call, const struct replay_event *e)
{
	if (slot->is_carried) {
		slow_end_carried(s, slot, call, own_stack(s, slot, e));
		return;
	}
	slow_best_count(s, call);
	if (!slow_best_is_one(s, call))
		return;
	call->stack = stack_table_push(s->stacks, slow_under(s, e->stream,
							     e->depth),
				 e->func, flags_of(e, slot));
	slow_best_put(s, call);
}

static struct slow_call closed(const struct slot *slot,
			       const struct replay_event *e)
{
	struct slow_call call = slow_close(slot, e->tick, end_of(e));

	call.process = e->process;
	call.level = e->level;
	call.coroutine = e->coroutine;
	call.depth = e->depth - (uint32_t)top_base(e->stream);
	return call;
}

static void leave(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	struct lane *l;
	struct slot *slot;
	struct slow_call call;

	if (e->deferred != REPLAY_NOW || !slow_wants(s, e->func))
		return;
	l = lane(s, e->stream);
	slot = &slow_slots(l, (size_t)e->depth + 1)[e->depth];
	if (slot->func != e->func)
		return;
	if (!slot->is_known) {
		s->found.unknown++;
		slot->func = 0;
		return;
	}
	call = closed(slot, e);
	if (slot->part == 0 ||
	    !slow_part_end(s, slot, &call, e->tick, own_stack(s, slot, e))) {
		call = closed(slot, e);
		end_here(s, slot, &call, e);
	}
	slot->func = 0;
}

static void resume(void *ctx, const struct replay_event *e)
{
	struct lane *const l = lane(ctx, e->stream);

	l->process = e->process;
	slow_wait_resume(ctx, l, e);
}

static void suspend(void *ctx, const struct replay_event *e)
{
	struct lane *const l = lane(ctx, e->stream);

	l->process = e->process;
	slow_wait_suspend(ctx, l, e);
}

void slow_finish(struct slow *s)
{
	slow_wait_finish(s);
	slow_best_sort(s);
}

const struct replay_sink slow_sink = {
	.enter = enter, .leave = leave, .resume = resume, .suspend = suspend,
	.pass = pass,
};
