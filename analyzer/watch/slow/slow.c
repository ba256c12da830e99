/* slow.c - takes the wanted calls of each stream as they end, and follows those
 * of coroutines over suspensions. Threads are replayed one after the other: a
 * suspend and its resume may come in either order. Which calls are kept is
 * decided in slow_list.c.
 *
 * Where the suspend comes first, a `wait` holds its open calls, and the resume
 * takes them over. Where the resume comes first, each of its calls gets a piece
 * (slow_pieces.h), to which the suspend adds later what it knows of the time
 * before.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/slow.h"
#include "analyzer/watch/slow/slow_pieces.h"
#include "analyzer/watch/slow/slow_waits.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>

/* A stream. Slots by depth: of calls that were not entered on the stack as it
 * is, since it was suspended or adopted; func 0: none. Stacks by number of
 * frames, from stack[0] on, which stands below the first frame: where recursion
 * is deep, each call that returns is slower than all before, and its stack is
 * wanted. */
struct lane {
	struct slot *slots;
	size_t room;
	stack_id *stack;
	size_t known, stack_room; /* stack[0] to stack[known] are right */
	struct slow_waits waits;
};

/* A suspend that waits for its resume, or the other way round. */
struct wait {
	bool is_used, is_resume;
	uint32_t process, level;
	uint64_t coroutine;
	ticks tick;              /* of the suspend */
	stack_id own;            /* the coroutine's frames */
	struct held { uint32_t at; struct slot slot; } *held; /* wanted ones */
	size_t count;
};

/* All that one collection knows. A call that is open is on its stream's stack,
 * maybe with a slot, or, while its coroutine is suspended, in what a wait
 * holds. */
struct slow {
	struct slow_list list;
	struct stack_table *stacks;
	struct lane **lanes; size_t lane_room;     /* by stream_number */
	const struct stream *stream; struct lane *lane; /* the last one */
	struct slow_pieces pieces;
	struct wait *waits; size_t wait_room;      /* by replay_event.pair */
};

struct slow *slow_new(const struct slow_options *options)
{
	struct slow *const s = mem_alloc(sizeof(*s));

	s->list.options = *options;
	s->list.least = options->longer;
	s->list.found.stacks = s->stacks = stack_table_new();
	if (options->columns > 0)
		s->list.found.over_time = mem_alloc(options->columns *
			HIST_OCTAVES * sizeof(*s->list.found.over_time));
	s->pieces = (struct slow_pieces){ .list = &s->list,
					  .stacks = s->stacks };
	return s;
}

void slow_free(struct slow *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->lane_room; i++) {
		if (s->lanes[i])
			mem_free_all(s->lanes[i]->slots, s->lanes[i]->stack,
				     s->lanes[i]->waits.at);
		mem_free(s->lanes[i]);
	}
	for (size_t i = 0; i < s->wait_room; i++)
		mem_free(s->waits[i].held);
	stack_table_free(s->stacks);
	mem_free(s->lanes);
	slow_pieces_fini(&s->pieces);
	mem_free_all(s->waits, s->list.best, s->list.found.over_time, s);
}

const struct slow_found *slow_found(const struct slow *s)
{
	return &s->list.found;
}

/* The stream's lane; made when it is first asked for. */
static struct lane *lane(struct slow *s, const struct stream *st)
{
	size_t number;

	if (s->stream == st)
		return s->lane;
	number = stream_number(st);
	if (number >= s->lane_room)
		vec_need_zeroed(&s->lanes, &s->lane_room, number + 1);
	if (!s->lanes[number])
		s->lanes[number] = mem_alloc(sizeof(struct lane));
	s->stream = st;
	s->lane = s->lanes[number];
	return s->lane;
}

/* The lane's slots, at least so many. */
static struct slot *slots(struct lane *l, size_t count)
{
	vec_need_zeroed(&l->slots, &l->room, count);
	return l->slots;
}

/* What is known of an open frame now. */
static struct slot slot_of(struct lane *l, const struct stream *st,
			   size_t depth)
{
	const struct stream_frame f = stream_frame(st, depth);
	struct slot slot = { .func = f.omitted > 0 ? 0 : f.func,
			     .is_known = f.is_known, .entry = f.entry,
			     .thread = stream_thread(st) };

	if (slot.func && depth < l->room && l->slots[depth].func == slot.func)
		slot = l->slots[depth];
	slot.self += f.self;
	if (slot.func)
		slow_waits_of(&l->waits, st, depth, f.entry, &slot.parts);
	return slot;
}

/* ---- ends of calls ---- */

/* The call that a slot becomes when it ends at a tick, but for where it is. */
static void close_slot(struct slow_call *call, const struct slot *slot,
		       ticks at, enum slow_end end)
{
	const ticks total = at > slot->entry ? at - slot->entry : 0;
	const ticks wall = total + slot->slept;

	call->func = slot->func;
	call->thread = slot->thread;
	call->begin = wall < at ? at - wall : 0;
	call->total = total;
	call->self = slot->self;
	call->parts.off = MIN(slot->parts.off, total);
	call->parts.ready = MIN(slot->parts.ready, call->parts.off);
	call->parts.unknown = MIN(slot->parts.unknown, total - call->parts.off);
	call->parts.collecting = MIN(slot->parts.collecting,
				     total - call->parts.off);
	call->suspended = slot->slept;
	call->end = end;
	call->is_partial = slot->is_partial;
	call->stack = 0;
}

/* Frames from this one on are others now. */
static void change(struct lane *l, size_t frame)
{
	l->known = frame < l->known ? frame : l->known;
}

/* The stack below frame `base`; [open before start] below that where a window's
 * base is not known. A frame that stands for others stays and becomes less, so
 * nothing is remembered from it on. */
static stack_id under(struct slow *s, const struct stream *st, size_t base)
{
	struct lane *const l = lane(s, st);
	const stack_id id = stream_window(st) == 0 ? 0 :
			    stack_table_push(s->stacks, 0, 0, STACK_BEFORE);

	vec_need_zeroed(&l->stack, &l->stack_room, base + 1);
	if (l->stack[0] != id)
		l->known = 0;
	l->stack[0] = id;
	stream_stacks(st, l->known, base, s->stacks, l->stack);
	while (l->known < base && stream_frame(st, l->known).omitted == 0)
		l->known++;
	return l->stack[base];
}

/* ---- waiting for the other end of a suspension ---- */

/* What waits for this event, or NULL. */
static struct wait *other_end(struct slow *s, const struct replay_event *e)
{
	struct wait *const w = e->is_second && e->pair < s->wait_room ?
			       &s->waits[e->pair] : NULL;

	return w && w->is_used ? w : NULL;
}

/* Its place may be used for another pair. */
static void free_wait(struct wait *w)
{
	mem_free(w->held);
	*w = (struct wait){ 0 };
}

/* The event came first: wait for the other end. What stood under the number is
 * done with, because numbers are used again only then. */
static struct wait *new_wait(struct slow *s, const struct replay_event *e,
			     ticks tick, bool is_resume)
{
	struct wait *w;

	vec_need_zeroed(&s->waits, &s->wait_room, (size_t)e->pair + 1);
	w = &s->waits[e->pair];
	free_wait(w);
	*w = (struct wait){
		.is_resume = is_resume, .is_used = true, .process = e->process,
		.level = e->level, .coroutine = e->coroutine, .tick = tick };
	return w;
}

/* Remember an open call until the other end comes; count: how many there
 * will be. */
static void hold(struct wait *w, size_t count, size_t at,
		 const struct slot *slot)
{
	if (!w->held)
		w->held = mem_alloc(count * sizeof(*w->held));
	w->held[w->count++] = (struct held){ (uint32_t)at, *slot };
}

/* A stack's ids, outermost first; the caller frees them. */
static stack_id *list(const struct stack_table *t, stack_id id, size_t *n)
{
	stack_id *ids;

	*n = stack_table_depth(t, id);
	ids = mem_alloc((*n + 1) * sizeof(*ids));
	for (size_t i = *n; i-- > 0; id = stack_table_get(t, id)->below)
		ids[i] = id;
	return ids;
}

/* Frames left out are the same as any number of frames left out. */
static bool is_same(const struct stack_table *t, stack_id a, stack_id b)
{
	const struct stack_frame *const x = stack_table_get(t, a);
	const struct stack_frame *const y = stack_table_get(t, b);

	return x->func == y->func &&
	       !((x->flags ^ y->flags) & STACK_OMITTED);
}

/* Where the frames of the stack before are in the stack after; UINT32_MAX for
 * those that ended in between. The two may differ: native frames that a yield
 * jumped over are in the first one only. The caller frees the array. */
static uint32_t *align(const struct stack_table *t, stack_id before,
		       stack_id after)
{
	size_t n, k, j = 0;
	stack_id *const a = list(t, before, &n), *const b = list(t, after, &k);
	uint32_t *const to = mem_alloc((n + 1) * sizeof(*to));

	for (size_t i = 0; i < n; i++)
		to[i] = j < k && is_same(t, a[i], b[j]) ? (uint32_t)j++ :
			UINT32_MAX;
	mem_free_all(a, b);
	return to;
}

/* The outermost frames of a stack. */
static stack_id outermost(const struct stack_table *t, stack_id id,
			  size_t frames)
{
	for (size_t n = stack_table_depth(t, id); n > frames; n--)
		id = stack_table_get(t, id)->below;
	return id;
}

/* A call of a suspended coroutine ends, unseen. */
static void end_held(struct slow *s, const struct wait *w, struct slot *slot,
		     size_t at, enum slow_end end)
{
	struct slow_call call;
	stack_id own;

	if (!slot->is_known) {
		s->list.found.unknown++;
		return;
	}
	own = slot->piece != 0 ? outermost(s->stacks, w->own, at + 1) :
	      stack_table_push(s->stacks, 0, slot->func,
			       at == 0 && w->coroutine ? STACK_BODY : 0);
	/* Closed again if its earlier part was added meanwhile. */
	for (int whole = slot->piece == 0;; whole = 1) {
		close_slot(&call, slot, w->tick, end);
		call.process = w->process;
		call.level = w->level;
		call.coroutine = w->coroutine;
		call.depth = (uint32_t)at;
		if (whole)
			break;
		if (slow_pieces_end(&s->pieces, slot, &call, w->tick, own))
			return;
	}
	slow_pieces_end_carried(&s->pieces, slot, &call, own);
}

/* ---- suspend and resume ---- */

/* Of the topmost segment. */
struct top { size_t base, depth; struct slot *slots; stack_id own; };

/* The slots of the topmost coroutine's frames; own is for the caller to fill,
 * as a stack costs more than most events are worth. */
static struct top look_top(struct lane *l, const struct stream *st)
{
	struct top top = { .base = stream_top(st).base,
			   .depth = stream_depth(st) };

	assert(top.base <= top.depth);
	top.slots = slots(l, top.depth + 1);
	return top;
}

/* How many open calls of the topmost coroutine are followed. */
static size_t count_wanted(const struct top *t)
{
	size_t n = 0;

	for (size_t i = t->base; i < t->depth; i++)
		n += t->slots[i].func != 0;
	return n;
}

/* Until its first suspension the frames below are those of its entry, so this
 * is the last moment to note them. With a piece, the entry was before. */
static void carry(struct slow *s, struct slot *slot, const struct stream *st,
		  size_t depth)
{
	if (slot->piece != 0 || slot->is_carried)
		return;
	slot->under = under(s, st, depth);
	slot->is_carried = true;
}

/* The resume came first: w. Calls that are in both stacks become one; a call
 * that is only in the suspend's ended unseen; one that is only in the resume's
 * has no earlier part. */
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
			slow_pieces_give_up(&s->pieces, w->held[k].slot.piece);
		if (t->slots[i].func == 0)
			continue;
		carry(s, &t->slots[i], e->stream, i);
		if (at != UINT32_MAX && k < w->count && w->held[k].at == at)
			slow_pieces_join(&s->pieces, &t->slots[i],
					 w->held[k++].slot.piece);
		else
			end_held(s, &here, &t->slots[i], i - t->base,
				 SLOW_UNWOUND);
	}
	for (; k < w->count; k++)
		slow_pieces_give_up(&s->pieces, w->held[k].slot.piece);
	mem_free(to);
	free_wait(w);
}

/* The suspend comes first: open calls wait in w for the resume. */
static void leave_open(struct slow *s, const struct top *t, struct wait *w,
		       size_t wanted, const struct replay_event *e)
{
	w->own = t->own;
	for (size_t i = t->base; i < t->depth; i++) {
		if (t->slots[i].func == 0)
			continue;
		carry(s, &t->slots[i], e->stream, i);
		hold(w, wanted, i - t->base, &t->slots[i]);
	}
}

/* The coroutine's open calls wait until it is resumed. */
static void hold_open(struct slow *s, struct lane *l,
		      const struct replay_event *e)
{
	struct wait *w = other_end(s, e);
	struct slot slot;
	struct top t;
	size_t wanted;

	t = look_top(l, e->stream);
	for (size_t i = t.base; i < t.depth; i++) {
		slot = slot_of(l, e->stream, i);
		if (slow_list_wants(&s->list, slot.func))
			t.slots[i] = slot;
	}
	wanted = count_wanted(&t);
	if (wanted > 0 || w)
		t.own = stream_stack(e->stream, t.base, t.depth, s->stacks, 0);
	if (w)
		meet_resume(s, &t, w, e);
	else
		leave_open(s, &t, new_wait(s, e, e->tick, false), wanted, e);
	for (size_t i = t.base; i < t.depth; i++)
		t.slots[i].func = 0;
}

/* At its end it has none. Its frames are on the stack until this is over. */
static void slow_suspend(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	struct lane *const l = lane(s, e->stream);

	if (!suspend_ends(e->reason))
		hold_open(s, l, e);
	change(l, MIN(e->depth, stream_top(e->stream).base));
}

/* What is there now; nothing is known of what was before. A call is partial
 * unless its suspend came, or can still come. */
static void read_frames(struct slow *s, struct lane *l, const struct top *t,
			const struct replay_event *e)
{
	for (size_t i = t->base; i < t->depth; i++) {
		t->slots[i].func = 0;
		t->slots[i] = slot_of(l, e->stream, i);
		t->slots[i].is_partial = true;
		if (!slow_list_wants(&s->list, t->slots[i].func))
			t->slots[i].func = 0;
	}
}

/* The suspend came first: w. The calls go on with the entry that the replay
 * gives, which is later by the sleep. */
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
	free_wait(w);
}

/* What the coroutine had open when it was suspended goes on here. */
static void slow_resume(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	struct lane *const l = lane(s, e->stream);
	struct top t = look_top(l, e->stream);
	struct wait *w = other_end(s, e);
	size_t wanted;

	change(l, MIN(e->depth, t.base));
	read_frames(s, l, &t, e);
	wanted = count_wanted(&t);
	if (wanted > 0)
		t.own = stream_stack(e->stream, t.base, t.depth, s->stacks, 0);
	if (w) {
		meet_suspend(s, &t, w, e);
		return;
	}
	if (e->pair == 0)
		return;
	/* It waits even with nothing wanted: then the wanted calls that the
	 * suspend had open have ended unseen. */
	w = new_wait(s, e, e->slept < e->tick ? e->tick - e->slept : 0, true);
	w->own = t.own;
	for (size_t i = t.base; i < t.depth; i++) {
		struct slot *const slot = &t.slots[i];

		if (slot->func == 0)
			continue;
		slot->is_partial = false;
		slot->slept = e->slept;
		slot->piece = slow_pieces_add(&s->pieces, slot->thread);
		hold(w, wanted, i - t.base, slot);
	}
}

/* ---- calls ---- */

/* The call was open before. Deferred entries are of calls whose own entry
 * nobody saw. */
static void slow_enter(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	const bool is_wanted = slow_list_wants(&s->list, e->func);
	struct slot *slot;
	struct lane *l;

	if (e->deferred != REPLAY_NOW) {
		s->list.found.unknown += is_wanted &&
			(e->deferred == REPLAY_DEFERRED_OLD ||
			 e->deferred == REPLAY_DEFERRED_OMITTED);
		return;
	}
	l = lane(s, e->stream);
	change(l, e->depth);
	if (!is_wanted)
		return;
	slot = &slots(l, (size_t)e->depth + 1)[e->depth];
	slot->func = 0;
	*slot = slot_of(l, e->stream, e->depth);
	slot->is_partial = true;
}

/* How a call ended, from how its exit came about. A window that began anew
 * (UNWIND_RESET) tells nothing of the call itself. */
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

/* How the call's own frame is marked in its stack. */
static uint32_t flags_of(const struct replay_event *e, const struct slot *slot)
{
	func_id by[NOTED_FRAMES];
	const bool is_body = e->coroutine != 0 &&
		e->depth == stream_top(e->stream).base &&
		stream_lua_funcs(e->stream, e->depth, e->func, slot->entry,
				 by) == 0;

	return (is_body ? STACK_BODY : 0) |
	       (slot->is_known ? 0 : STACK_BEFORE);
}

/* The call, on those below it. */
static stack_id push_call(struct slow *s, const struct slot *slot,
			  const struct replay_event *e, stack_id below)
{
	return stack_table_push(s->stacks,
				stream_lua(e->stream, e->depth, e->func,
					   slot->entry, s->stacks, below),
				e->func, flags_of(e, slot));
}

/* Its coroutine's frames, itself innermost. */
static stack_id own_stack(struct slow *s, const struct slot *slot,
			  const struct replay_event *e)
{
	const size_t base = stream_top(e->stream).base;

	return push_call(s, slot, e, stream_stack(e->stream, base, e->depth,
						  s->stacks, 0));
}

/* The frames below are what they were at its entry. */
static void keep(struct slow *s, const struct slot *slot,
		 struct slow_call *call, const struct replay_event *e)
{
	if (!slow_list_takes(&s->list, call))
		return;
	call->stack = push_call(s, slot, e, under(s, e->stream, e->depth));
	slow_list_put(&s->list, call);
}

static void end_here(struct slow *s, const struct slot *slot,
		     struct slow_call *call, const struct replay_event *e)
{
	if (slot->is_carried) {
		slow_pieces_end_carried(&s->pieces, slot, call,
			stack_table_push(s->stacks, 0, e->func,
					 flags_of(e, slot)));
		return;
	}
	slow_list_count(&s->list, call);
	keep(s, slot, call, e);
}

/* The call that ends with an event. */
static void close_here(struct slow_call *call, const struct slot *slot,
		       const struct replay_event *e)
{
	close_slot(call, slot, e->tick, end_of(e));
	call->process = e->process;
	call->level = e->level;
	call->coroutine = e->coroutine;
	call->depth = e->depth - (uint32_t)stream_top(e->stream).base;
}

/* A call with a piece is counted now only if its earlier part has come. Then
 * the slot is whole, and what it becomes is read from it again. */
static void end(struct slow *s, struct slot *slot, const struct replay_event *e)
{
	struct slow_call call;

	if (!slot->is_known) {
		s->list.found.unknown++;
		return;
	}
	close_here(&call, slot, e);
	if (slot->piece != 0) {
		if (slow_pieces_end(&s->pieces, slot, &call, e->tick,
				    own_stack(s, slot, e)))
			return;
		close_here(&call, slot, e);
	}
	end_here(s, slot, &call, e);
}

static void slow_leave(void *ctx, const struct replay_event *e)
{
	struct slow *const s = ctx;
	struct lane *l;
	struct slot slot;

	if (e->deferred != REPLAY_NOW)
		return;
	l = lane(s, e->stream);
	change(l, e->depth);
	if (!slow_list_wants(&s->list, e->func))
		return;
	slot = slot_of(l, e->stream, e->depth);
	end(s, &slot, e);
	if (e->depth < l->room)
		l->slots[e->depth].func = 0;
}

/* Where a call may be kept, its stack is needed. */
static ticks slow_calls(void *ctx, const struct replay_event *e,
		   const struct replay_call *call, size_t n)
{
	struct slow *const s = ctx;
	const struct replay_call *const last = &call[n - 1];
	const bool is_brief = last->end - last->begin < s->list.least;
	struct slot slot = { .func = last->func, .is_known = true,
			     .entry = last->begin, .self = last->self,
			     .thread = e->thread };
	struct lane *const l = lane(s, e->stream);

	for (size_t i = 0; i < n; i++)
		change(l, call[i].depth);
	slow_list_count_brief(&s->list, e->thread, call, n - !is_brief);
	if (!is_brief && slow_list_wants(&s->list, last->func)) {
		slow_waits_of(&l->waits, e->stream, last->depth, last->begin,
			      &slot.parts);
		end(s, &slot, e);
	}
	return s->list.least;
}

/* All frames may be others now. */
static void slow_adopt(void *ctx, const struct replay_event *e)
{
	change(lane(ctx, e->stream), 0);
}

static void slow_off(void *ctx, const struct stream *st, ticks from, ticks to,
		     bool ready)
{
	slow_waits_add(&lane(ctx, st)->waits, st, &(struct slow_parts){
		.off = to - from, .ready = ready ? to - from : 0 });
}

static void slow_unknown(void *ctx, const struct stream *st, ticks from,
			 ticks to)
{
	slow_waits_add(&lane(ctx, st)->waits, st, &(struct slow_parts){
		.unknown = to - from });
}

static void slow_noted(void *ctx, const struct replay_event *e,
		       const struct replay_noted *n)
{
	if (n->state == NOTED_COLLECTOR)
		slow_waits_add(&lane(ctx, e->stream)->waits, e->stream,
			       &(struct slow_parts){ .collecting = n->span });
}

/* ---- the end ---- */

/* Coroutines that never ran again leave their calls open. Calls that have
 * ended, but whose earlier part never came, are counted as they are. */
void slow_finish(struct slow *s)
{
	for (size_t i = 0; i < s->wait_room; i++) {
		struct wait *const w = &s->waits[i];

		for (size_t k = 0; w->is_used && !w->is_resume && k < w->count;
		     k++)
			end_held(s, w, &w->held[k].slot, w->held[k].at,
				 SLOW_OPEN);
	}
	slow_pieces_finish(&s->pieces);
	slow_list_sort(&s->list);
}

const struct replay_sink slow_sink = {
	.enter = slow_enter, .leave = slow_leave, .calls = slow_calls,
	.resume = slow_resume, .suspend = slow_suspend, .adopt = slow_adopt,
	.off = slow_off, .unknown = slow_unknown, .noted = slow_noted,
};
