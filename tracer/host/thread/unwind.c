/* unwind.c - native calls and returns that are not the common case: which
 * frames died without a word. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/shadow_stack.h"

#include <errno.h>

/* Is there a native frame under f on the stack that runs? */
static int is_seen(const struct thread_state *s, const struct frame *f)
{
	return f > shadow_ground(s) && !frame_is_lua(f - 1);
}

/* Rule 1: how many of the innermost frames are dead when a hook is entered
 * with this stack pointer, call site and return address. */
static struct frame *live_end(struct thread_state *s, const struct frame *n)
{
	const int alt = shadow_in_alt(s, n->sp);
	struct frame *f = s->top;

	while (is_seen(s, f) && shadow_in_alt(s, f[-1].sp) && !alt)
		f--;
	if (is_seen(s, f) && shadow_in_alt(s, f[-1].sp) != alt)
		return f; /* a handler on its own stack, on top of the thread's */
	while (is_seen(s, f) && f[-1].sp < n->sp && !BROKEN(sp))
		f--;
	if (BROKEN(inlined))
		return f;
	while (is_seen(s, f) && f[-1].sp == n->sp && f[-1].site != n->site)
		f--;
	for (struct frame *g = f; is_seen(s, g) && g[-1].sp == n->sp; g--) {
		if (g[-1].ret == n->ret)
			return g - 1;
	}
	return f;
}

static int absorbs(struct thread_state *s, const struct frame *n)
{
	struct frame *const top = s->top - 1;

	if (!frame_waits(top, FRAME_ABSORBS))
		return 0;
	if (top->key != n->key || BROKEN(absorb)) {
		if (BROKEN(again))
			frame_settle(top);
		else
			frame_wait_on(top);
		return 0;
	}
	frame_settle(top);
	top->absorbed = n->site;
	return 1;
}

/* On a stack that is not the thread's and that nobody announced. */
static int strayed(const struct thread_state *s, uint64_t sp)
{
	return s->stack_high != 0 && sp > s->stack_high &&
	       !shadow_in_alt(s, sp);
}

/* The jump may be on its way yet. */
static void ask_again(struct thread_state *s, uint64_t now)
{
	const struct frame *const top = s->top;
	const uint64_t asked = s->top[-1].flags;

	frame_settle(&s->top[-1]);
	stack_doubt(s, now);
	if (s->top == top && !BROKEN(again)) {
		s->top[-1].flags = asked;
		frame_wait_on(&s->top[-1]);
	}
}

/* A signal handler's call, on the stack that is about to be left, after this was
 * told: it says nothing of the frames of the other one. */
static int is_left(struct thread_state *s, uint64_t sp)
{
	enum { HANDLERS = 16384 };

	if (sp >= s->fiber_left || sp + HANDLERS < s->fiber_left)
		s->fiber_left = 0;
	return s->fiber_left != 0;
}

SLOW int shadow_native_enter(struct thread_state *s, const struct frame *n,
			     uint64_t now)
{
	const int saved = errno;
	struct frame *live;

	if ((s->top == shadow_ground(s) && s->fiber != 0) || is_left(s, n->sp))
		goto out;
	if (frame_waits(s->top - 1, FRAME_DOUBTED))
		ask_again(s, now);
	if (absorbs(s, n))
		return 0;
	if (s->fiber == 0 && strayed(s, n->sp)) {
		atomic_fetch_add_explicit(&s->slot->lost[LOST_SWITCH], 1,
					  memory_order_relaxed);
		shadow_forget(s);
		s->stack_high = 0;
		chunk_switch(s, 0);
	}
	while (s->segments > 1 && shadow_segment(s)->inferred &&
	       n->sp >= shadow_segment(s)->sp)
		shadow_detach_top(s, now);
	live = live_end(s, n);
	if (live < s->top)
		shadow_unwind(s, live, UNWIND_SKIPPED, now);
out:
	errno = saved;
	return 1;
}

static int is_exit_of(const struct frame *f, uint64_t fn, uint64_t site)
{
	return f->key == fn &&
	       (frame_is_lua(f) ? f->absorbed : f->site) == site;
}

static void leave_old(struct thread_state *s, uint64_t fn, uint64_t now)
{
	uint32_t index;

	if (s->fiber != 0 && s->fiber_unknown)
		return; /* begun unseen */
	if (!s->base_unknown || s->top > s->frames + 1) {
		atomic_fetch_add_explicit(&s->slot->lost[LOST_SWITCH], 1,
					  memory_order_relaxed);
		return;
	}
	chunk_need(s, 2);
	index = chunk_index(s, fn);
	chunk_put(s, rec_put(REC_LEAVE_OLD, index, chunk_gap(s, now)));
}

SLOW void shadow_native_exit(struct thread_state *s, uint64_t fn, uint64_t site,
			     uint64_t now)
{
	const int saved = errno;
	struct frame *f = s->top - 1;

	if (s->too_deep > 0) {
		s->too_deep--;
		errno = saved;
		return;
	}
	while (f >= shadow_ground(s) && !is_exit_of(f, fn, site) &&
	       !BROKEN(exit))
		f--;
	if (f < shadow_ground(s) || !is_exit_of(f, fn, site)) {
		leave_old(s, fn, now);
		errno = saved;
		return;
	}
	while (s->segments > 1 && f < s->frames + shadow_segment(s)->base)
		shadow_detach_top(s, now);
	shadow_unwind(s, f + 1, UNWIND_SKIPPED, now);
	if (frame_is_lua(f) && !frame_is_untold(f))
		f->absorbed = FRAME_NONE_ABSORBED; /* its Lua return follows */
	else
		shadow_leave(s, now);
	errno = saved;
}
