/* replay_stack.c - a stream's stack beyond plain calls: taken over from a
 * chunk's open stacks, compared with them, unwound, closed.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/vec.h"

#include <inttypes.h>
#include <stdio.h>

void replay_stack_need(struct stream *st, size_t frames)
{
	vec_need(&st->frame, &st->room, frames);
}

/* Empty: one segment without frames, hanging at a node. */
void replay_stack_init(struct stream *st, node_id root)
{
	replay_stack_need(st, 1);
	vec_need(&st->segment, &st->segment_room, 1);
	st->frame[0] = (struct frame){ .node = root, .entry = ENTRY_UNKNOWN };
	st->depth = 1;
	st->segment[0] = (struct segment){ .base = 1 };
	st->segments = 1;
}

static int is_lua(const struct replay *r, func_id func)
{
	return func_get(r->session->funcs, func)->kind == FUNC_LUA;
}

/* The outermost function of a coroutine is known. Of several the first one is
 * its body; but one that is native may have been a signal handler's, which
 * ended before the Lua function that is the body began. Chunks of other threads
 * may come earlier or later. */
void replay_stack_body(struct replay *r, struct stream *st, func_id func)
{
	const uint32_t co = replay_top(st)->co;
	const func_id body = co ? r->session->coroutines[co - 1].body : 0;

	if (!co)
		return;
	if (body && is_lua(r, body) != is_lua(r, func)) {
		if (is_lua(r, body))
			return;
	} else if (body && r->co_kept[co - 1].body_at <= st->now) {
		return;
	}
	r->session->coroutines[co - 1].body = func;
	r->co_kept[co - 1].body_at = st->now;
}

static func_id omitted_func(struct replay *r, uint64_t n)
{
	char name[48];

	snprintf(name, sizeof(name), "[%" PRIu64 " frames]", n);
	return func_special(r->session->funcs, name);
}

static struct frame open_frame(struct replay *r, const struct stream *st,
			       uint64_t word)
{
	const uint64_t age = rec_gap(word);

	if (rec_func(word) == REC_FUNC_OMITTED)
		return (struct frame){ .func = omitted_func(r, age),
				       .entry = ENTRY_UNKNOWN - age };
	return (struct frame){
		.func = r->func[rec_func(word)],
		.entry = age == REC_AGE_UNKNOWN || age > st->now ||
			 st->now - age >= ENTRY_NONE ?
				ENTRY_UNKNOWN : st->now - age,
	};
}

/* Push n open frames on the topmost segment. */
void replay_stack_push_open(struct replay *r, struct stream *st,
			    const uint64_t *word, size_t n)
{
	replay_stack_need(st, st->depth + n);
	for (size_t i = 0; i < n; i++) {
		struct frame f = open_frame(r, st, word[i]);
		uint32_t flags = frame_is_omitted(&f) ? CCT_OMITTED : 0;

		if (st->segments > 1 && st->depth == replay_top(st)->base) {
			flags |= replay_clock_body(r, st);
			if (!(flags & CCT_OMITTED))
				replay_stack_body(r, st, f.func);
		}
		f.node = cct_child(st->tree, st->frame[st->depth - 1].node,
				   f.func, flags);
		st->frame[st->depth++] = f;
	}
}

/* The topmost segment's frames were open before. */
static void emit_open(struct replay *r, struct stream *st)
{
	for (size_t i = replay_top(st)->base; i < st->depth; i++)
		if (!frame_is_omitted(&st->frame[i]))
			replay_emit_enter(r, st, st->now, st->frame[i].func,
					  i - 1, REPLAY_OPEN_BEFORE);
}

static void adopt(struct replay *r, struct stream *st,
		  const struct chunk *v)
{
	const uint32_t process = r->session->threads[st->thread].process;
	struct chunk_segment s = { 0 };

	while (decode_next_segment(v, &s)) {
		if (s.serial) {
			const uint32_t co =
				replay_identities_coroutine(r, process,
							    s.serial);

			*vec_add(&st->segment, &st->segment_room,
				 &st->segments) = (struct segment){
					s.serial, co, st->depth, st->now };
			replay_identities_ran(r, co, st->thread);
		}
		replay_stack_push_open(r, st, s.frame, s.frames);
		if (r->sink)
			emit_open(r, st);
	}
}

/* Frames left out on either side stand for any function. */
static int same_frames(const struct replay *r, const struct frame *ours,
		       size_t n, const uint64_t *word, size_t k)
{
	uint64_t a = 0, b = 0; /* how much of ours[i] and word[j] is used up */
	size_t i = 0, j = 0;

	while (i < n && j < k) {
		const int any = frame_is_omitted(&ours[i]) ||
				rec_func(word[j]) == REC_FUNC_OMITTED;
		const uint64_t x = frame_is_omitted(&ours[i]) ?
			frame_omitted(&ours[i]) - a : 1;
		const uint64_t y = rec_func(word[j]) == REC_FUNC_OMITTED ?
			rec_gap(word[j]) - b : 1;

		if (!any && ours[i].func != r->func[rec_func(word[j])])
			return 0;
		a = x <= y ? 0 : a + y;
		b = y <= x ? 0 : b + x;
		i += x <= y;
		j += y <= x;
	}
	return i == n && j == k;
}

/* Is the stack that the chunk gives the one we have? */
int replay_stack_same(const struct replay *r, const struct stream *st,
		      const struct chunk *v)
{
	struct chunk_segment s = { 0 };
	size_t i = 0;

	if (!v->stack)
		return st->segments == 1 && st->depth == 1;
	for (; decode_next_segment(v, &s); i++) {
		const size_t end = i + 1 < st->segments ?
			st->segment[i + 1].base : st->depth;

		if (i >= st->segments || st->segment[i].serial != s.serial ||
		    !same_frames(r, st->frame + st->segment[i].base,
				 end - st->segment[i].base, s.frame, s.frames))
			return 0;
	}
	return i == st->segments;
}

/* A chunk begins: its open stacks are ours, or become ours. */
void replay_stack_begin(struct replay *r, struct stream *st,
			const struct chunk *v, int contiguous)
{
	const int same = contiguous && replay_stack_same(r, st, v);

	if (contiguous && !same) {
		replay_unnested(r, st);
		replay_stack_close(r, st, REPLAY_CUT);
	}
	st->now = v->header.tick_begin;
	if (same)
		return;
	adopt(r, st, v);
	if (r->sink)
		replay_emit_adopt(r, st);
}

/* Was the end of a call that did not return seen when it came? */
static int is_seen(enum replay_why why, uint32_t reason)
{
	return why == REPLAY_DIED ||
	       (why == REPLAY_UNWOUND && reason != UNWIND_RESET);
}

/* Take the innermost frame off. */
void replay_stack_pop(struct replay *r, struct stream *st,
		      enum replay_why why, uint32_t reason)
{
	const struct frame *const f = &st->frame[st->depth - 1];

	if (f->entry < ENTRY_NONE && is_seen(why, reason))
		cct_time(st->tree, f->node, st->now - f->entry);
	if (r->sink && !frame_is_omitted(f))
		replay_emit_leave(r, st, st->now, f->func, st->depth - 2, why,
				  reason);
	st->depth--;
}

/* All that is open ends here, unseen. */
void replay_stack_close(struct replay *r, struct stream *st,
			enum replay_why why)
{
	struct session *const s = r->session;

	for (;;) {
		const struct segment *const top = replay_top(st);

		while (st->depth > top->base)
			replay_stack_pop(r, st, why, 0);
		if (st->segments == 1)
			return;
		s->coroutines[top->co - 1].active += st->now - top->since;
		st->segments--;
	}
}

/* One of the frames that were left out of the stack's middle has ended. */
static void take_omitted(struct stream *st, uint64_t n)
{
	struct frame *const f = &st->frame[st->depth - 1];

	if (frame_omitted(f) > n)
		f->entry += n;
	else
		st->depth--;
}

static void unwind(struct replay *r, struct stream *st, const uint64_t *record)
{
	const uint32_t reason = rec_func(record[0]);
	uint64_t n = rec_value(record[1]);

	while (n > 0 && st->depth > replay_top(st)->base) {
		const struct frame *const f = &st->frame[st->depth - 1];

		if (frame_is_omitted(f)) {
			const uint64_t have = frame_omitted(f);

			take_omitted(st, n);
			n -= n < have ? n : have;
		} else {
			replay_stack_pop(r, st, REPLAY_UNWOUND, reason);
			n--;
		}
	}
	if (n > 0)
		replay_unnested(r, st);
}

/* A LEAVE that is not the innermost call's. */
static void odd_leave(struct replay *r, struct stream *st, func_id func)
{
	if (st->depth > replay_top(st)->base &&
	    frame_is_omitted(&st->frame[st->depth - 1])) {
		take_omitted(st, 1);
		replay_emit_pair(r, st, func, REPLAY_DEFERRED_OMITTED);
	} else {
		replay_unnested(r, st);
	}
}

static void leave_old(struct replay *r, struct stream *st, func_id func)
{
	if (st->depth > 1 || st->segments > 1 ||
	    !replay_window_leave_old(st, func)) {
		replay_unnested(r, st);
		return;
	}
	st->frame[0].node = replay_clock_side(st, st->window->root);
	replay_emit_pair(r, st, func, REPLAY_DEFERRED_OLD);
}

/* Any record but a call that nests; its gap has passed. */
void replay_stack_record(struct replay *r, struct stream *st,
			 const uint64_t *record)
{
	const uint32_t func = rec_func(*record);

	switch (rec_kind(*record)) {
	case REC_LEAVE:
		odd_leave(r, st, r->func[func]);
		break;
	case REC_LEAVE_OLD:
		leave_old(r, st, r->func[func]);
		break;
	case REC_UNWIND:
		unwind(r, st, record);
		break;
	case REC_RESUME:
		replay_switch_resume(r, st, record);
		break;
	case REC_SUSPEND:
		replay_switch_suspend(r, st, record);
		break;
	case REC_CREATE:
		replay_switch_create(r, st, record);
		break;
	case REC_INTERRUPT:
		replay_handler_interrupt(r, st, record);
		break;
	case REC_MARK:
		r->session->threads[st->thread].marks++;
		if (r->sink)
			replay_emit_mark(r, st, r->func[func]);
		break;
	default:
		break;
	}
}
