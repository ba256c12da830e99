/* switch.c - coroutines: created, put on top of a thread's stack, taken off
 * again; and their stacks, kept meanwhile within the chunk. A resume in a later
 * chunk, or on another thread, brings its stack with it (RESUME_STACK).
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include <string.h>

/* Interpreters allow about 200 coroutines that resume one another. */
enum { MAX_SEGMENTS = 4096 };

/* co: index + 1. Valid until a coroutine is added. */
static struct coroutine *coroutine(struct replay *r, uint32_t co)
{
	return &r->session->coroutines[co - 1];
}

/* The coroutine of the stream's process with that serial, as index + 1. */
static uint32_t find(struct replay *r, const struct stream *st,
		     uint64_t serial)
{
	const uint32_t process = r->session->threads[st->thread].process;

	return replay_identities_coroutine(r, process, serial);
}

static struct instant now(const struct stream *st)
{
	return (struct instant){ st->now, st->thread };
}

void replay_switch_create(struct replay *r, struct stream *st,
			  const uint64_t *record)
{
	const uint64_t serial = rec_value(record[1]);
	const uint64_t vm = rec_value(record[2]);
	struct coroutine *c;

	if (serial == 0) {
		replay_unnested(r, st);
		return;
	}
	c = coroutine(r, find(r, st, serial));
	if (vm != 0)
		c->vm = vm;
	else
		c->is_native = true;
	c->creator = replay_top(st)->serial;
	if (r->sink)
		replay_emit_create(r, st, serial, vm);
}

/* An entry plus a sleep, if that is still a tick; values from ENTRY_NONE on
 * mean something else. */
static ticks later(ticks entry, uint64_t slept)
{
	return slept < ENTRY_NONE - entry ? entry + slept : ENTRY_UNKNOWN;
}

/* Push the coroutine's frames as its last suspend in this chunk left them. If
 * the same frame resumes it as before, its nodes are the same too. */
static void restore(struct replay *r, struct stream *st,
		    const struct kept *k, uint64_t slept)
{
	const struct frame *from;
	struct frame *to;
	const node_id under = replay_here(st);
	const bool same = k->under == under && k->tree == st->tree;
	node_id node = under;

	if (k->count == 0)
		return;
	replay_stack_need(st, st->depth + k->count);
	from = r->kept_frames + k->first;
	to = st->frame + st->depth;
	for (size_t i = 0; i < k->count; i++) {
		uint32_t flags = i == 0 ? replay_time_body(r, st) : 0;

		to[i] = from[i];
		to[i].self = SELF_GIVEN;
		if (to[i].entry < ENTRY_NONE)
			to[i].entry = later(to[i].entry, slept);
		else if (frame_is_omitted(&to[i]))
			flags |= CCT_OMITTED;
		if (!same)
			to[i].node = cct_child(st->tree, node, to[i].func,
					       flags);
		node = to[i].node;
	}
	st->depth += k->count;
	replay_top(st)->on_body = k->on_body;
	replay_top(st)->base += k->on_body;
}

/* Push the frames that a RESUME brings back. */
static void push_given(struct replay *r, struct stream *st,
		       const uint64_t *record)
{
	const size_t n = (size_t)rec_value(record[3]);

	if (rec_func(record[0]) & RESUME_BODY)
		replay_stack_push_body(r, st, record[4 + n]);
	replay_stack_push_open(r, st, record + 4, n);
}

/* Is this coroutine on the stack? Segment 0 is the thread's own and does not
 * count. */
static bool is_on(const struct stream *st, uint64_t serial)
{
	for (size_t i = st->segments - 1; i > 0; i--)
		if (st->segment[i].serial == serial)
			return true;
	return false;
}

/* A coroutine that comes with its native one, or is only closed, is not resumed
 * by anyone; the latter does not run either. */
static void count_resume(struct replay *r, struct stream *st, uint32_t co,
			 uint64_t slept, uint32_t flags)
{
	struct coroutine *const c = coroutine(r, co);

	c->resumes += (flags & (RESUME_WITH | RESUME_CLOSES)) == 0;
	c->suspended += slept;
	c->inferred += (flags & RESUME_INFERRED) != 0;
	coroutine_was(c, COROUTINE_RUNNING, now(st));
	if (!(flags & RESUME_CLOSES))
		coroutine_ran(c, st->thread);
}

void replay_switch_resume(struct replay *r, struct stream *st,
			  const uint64_t *record)
{
	const uint32_t flags = rec_func(record[0]);
	const uint64_t serial = rec_value(record[1]);
	const uint64_t slept = rec_value(record[2]);
	const node_id under = replay_lua_caller(r, st);
	struct co_kept *kept;
	uint32_t co;

	if ((flags & RESUME_BORROWED) && serial == 0) {
		replay_stack_borrow(r, st, record + 4,
				    (size_t)rec_value(record[3]));
		return;
	}
	if (serial == 0 || st->segments >= MAX_SEGMENTS ||
	    is_on(st, serial)) {
		replay_unnested(r, st);
		return;
	}
	co = find(r, st, serial);
	kept = &r->co_kept[co - 1];
	count_resume(r, st, co, slept, flags);
	*vec_add(&st->segment, &st->segment_room, &st->segments) =
		(struct segment){ .serial = serial, .co = co,
				  .base = st->depth, .since = st->now,
				  .under = under };
	if (flags & RESUME_STACK)
		push_given(r, st, record);
	else if (kept->chunk == r->chunk)
		restore(r, st, &r->kept[kept->kept], slept);
	kept->chunk = 0;
	if (st->depth > segment_first(replay_top(st)))
		replay_time_slept(r, st, slept);
	if (r->sink)
		replay_emit_resume(r, st, slept, flags);
}

/* Room to keep n frames of a coroutine; that it had in this chunk is reused. It
 * is twice as much as needed, so that a coroutine whose stack grows slowly is
 * not given a new place each time. */
static struct kept *new_kept(struct replay *r, uint32_t co, size_t n)
{
	struct co_kept *const c = &r->co_kept[co - 1];
	struct kept *k;

	if (c->kept < r->kept_count && r->kept[c->kept].room >= n &&
	    r->kept[c->kept].co == co)
		return &r->kept[c->kept];
	vec_need(&r->kept, &r->kept_room, r->kept_count + 1);
	vec_need(&r->kept_frames, &r->kept_frames_room, r->kept_used + 2 * n);
	c->kept = (uint32_t)r->kept_count;
	k = &r->kept[r->kept_count++];
	*k = (struct kept){ .first = r->kept_used, .room = 2 * n, .co = co };
	r->kept_used += 2 * n;
	return k;
}

/* Keep the frames of the topmost coroutine. */
static void keep(struct replay *r, const struct stream *st)
{
	const struct segment *const top = replay_top(st);
	const size_t from = segment_first(top), n = st->depth - from;
	struct kept *const k = new_kept(r, top->co, n);

	k->count = n;
	k->on_body = top->on_body;
	k->under = top->under;
	k->tree = st->tree;
	if (n > 0)
		memcpy(r->kept_frames + k->first, st->frame + from,
		       n * sizeof(*st->frame));
	r->co_kept[top->co - 1].chunk = r->chunk;
}

/* reason: one of the SUSPEND_ reasons, without other flags. */
static enum coroutine_state state_after(uint32_t reason)
{
	return reason == SUSPEND_RETURN ? COROUTINE_RETURNED :
	       reason == SUSPEND_ERROR ? COROUTINE_ERROR :
	       reason == SUSPEND_CLOSED ? COROUTINE_CLOSED :
	       COROUTINE_SUSPENDED;
}

/* The topmost coroutine leaves the thread. If it can run again its frames are
 * kept for its resume; after a return it has none left. If there are none now,
 * what has replaced its body has ended, and so has the body. The sink is told
 * while they are still on the stack. */
static void take_off(struct replay *r, struct stream *st, uint32_t flags)
{
	const struct segment *const top = replay_top(st);
	struct coroutine *const c = coroutine(r, top->co);
	const uint32_t reason = flags & SUSPEND_REASON;

	c->active += st->now - top->since;
	c->inferred += (flags & SUSPEND_INFERRED) != 0;
	coroutine_was(c, state_after(reason), now(st));
	if (reason == SUSPEND_RETURN && st->depth > top->base)
		replay_unnested(r, st);
	if (suspend_ends(reason)) {
		while (st->depth > top->base)
			replay_stack_pop(r, st, REPLAY_DIED, 0);
		replay_stack_end_body(r, st, reason == SUSPEND_RETURN ?
				      REPLAY_SEEN : REPLAY_DIED, 0);
	} else {
		if (st->depth == top->base)
			replay_stack_end_body(r, st, REPLAY_UNWOUND,
					      UNWIND_SKIPPED);
		keep(r, st);
	}
	if (r->sink)
		replay_emit_suspend(r, st, flags);
	st->depth = segment_first(top);
	st->segments--;
}

/* Coroutines above the one that is suspended cannot have gone on: the records
 * contradict the stack. */
void replay_switch_suspend(struct replay *r, struct stream *st,
			   const uint64_t *record)
{
	const uint64_t serial = rec_value(record[1]);

	if (serial == 0 || !is_on(st, serial)) {
		replay_unnested(r, st);
		return;
	}
	while (replay_top(st)->serial != serial) {
		replay_unnested(r, st);
		take_off(r, st, SUSPEND_ERROR);
	}
	take_off(r, st, rec_func(record[0]));
}
