/* unwind.c - which frames a native event shows to be dead. Frames of the
 * stack that runs have stack pointers that fall from frame to frame: a
 * native event at a higher one means that those below it have ended.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/unwind.h"
#include "tracer/host/base/break.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/module.h"

#include <errno.h>

/* ------------------------------------------------------------------ enter */

/* Is there a native frame under f on the stack that runs? */
static bool is_seen(const struct thread_state *s, const struct frame *f)
{
	return f > shadow_ground(s) && !frame_is_lua(f - 1);
}

/* Does the stack pointer say that f has ended? */
static bool is_passed(const struct frame *f, const struct frame *n)
{
	return (f->sp < n->sp && !BROKEN(sp)) ||
	       (f->sp == n->sp && f->site != n->site && !BROKEN(inlined));
}

/* Where the search for f's return address ends: above it is the stack of a
 * caller that has not ended. 0: f has. */
static uint64_t search_end(const struct thread_state *s, const struct frame *f,
			   const struct frame *n)
{
	enum { HEAD = 512 }; /* bytes that a head may need */
	const uint64_t end = f->sp + HEAD;

	if (end < n->sp)
		return 0;
	while (is_seen(s, f) && is_passed(f - 1, n))
		f--;
	if (is_seen(s, f) && shadow_in_alt(s, f[-1].sp) ==
			     shadow_in_alt(s, n->sp))
		/* It may be n's caller, into which n was inlined. */
		return f[-1].sp == n->sp ? 0 :
		       f[-1].sp + 16 < end ? f[-1].sp + 16 : end;
	return (end ^ n->sp) >= 4096 &&
	       !kernel_can_read((const void *)end) ? 0 : end;
}

/* gcc may split a function (-fpartial-inlining): its first lines, with the hook
 * for entries, become a head, which jumps on to the rest or is inlined into the
 * callers. The rest may need less stack than the head did, so that what it
 * calls has a stack pointer which is not below its own.
 *
 * Does f, which n's stack pointer shows to be dead, still run in that way? Then
 * its return address lies where it lay, above n's. What is inlined into the
 * rest has that return address too: the hook was called from another piece of
 * code than n's, or at least not from its first instructions. */
__attribute__((no_sanitize("address")))
static bool jumped_on(const struct thread_state *s, const struct frame *f,
		      const struct frame *n)
{
	enum { FIRST = 256 }; /* bytes of code */
	const uint64_t end = BROKEN(split) ? 0 : search_end(s, f, n);
	const uint64_t ret = ARCH_PLAIN_RETURN(n->ret);
	bool is_above = false;

	if (n->site == f->site)
		return end != 0 && (ret - n->key >= FIRST ||
				    module_code_start(ret) > n->key);
	for (uint64_t at = n->sp + 16; at < end; at += 8) {
		const uint64_t word =
			ARCH_PLAIN_RETURN(*(const uint64_t *)at);

		if (is_above && word == f->site)
			return true;
		is_above |= word == n->site;
	}
	return false;
}

/* One past the innermost frame that is alive when a hook is entered with this
 * stack pointer, call site and return address. */
static struct frame *live_end(struct thread_state *s, const struct frame *n)
{
	const bool alt = shadow_in_alt(s, n->sp);
	struct frame *f = s->top;

	while (is_seen(s, f) && shadow_in_alt(s, f[-1].sp) && !alt)
		f--;
	if (is_seen(s, f) && shadow_in_alt(s, f[-1].sp) != alt)
		return f; /* a handler on its own stack */
	while (is_seen(s, f) && is_passed(f - 1, n) &&
	       !jumped_on(s, f - 1, n))
		f--;
	if (BROKEN(inlined))
		return f;
	for (struct frame *g = f; is_seen(s, g) && g[-1].sp == n->sp; g--) {
		if (g[-1].ret == n->ret)
			return g - 1;
	}
	return f;
}

/* Is it the call of a C function that Lua has told of already? That has one
 * frame, which ends with either return. */
static bool absorbs(struct thread_state *s, const struct frame *n)
{
	struct frame *const top = s->top - 1;

	if (!frame_waits(top, FRAME_ABSORBS))
		return false;
	if (top->key != n->key || BROKEN(absorb)) {
		if (BROKEN(again))
			frame_settle(top);
		else
			frame_wait_on(top);
		return false;
	}
	frame_settle(top);
	top->absorbed = n->site;
	return true;
}

/* Has the jump ended the innermost frame? If Lua says no, it may not have
 * landed yet: then the frame is asked about again. */
static void ask_again(struct thread_state *s, uint64_t now)
{
	const struct frame *const top = s->top;
	const uint64_t asked = s->top[-1].flags;

	frame_settle(&s->top[-1]);
	thread_upcalls.lua_doubt(s, now);
	if (s->top == top && !BROKEN(again)) {
		s->top[-1].flags = asked;
		frame_wait_on(&s->top[-1]);
	}
}

/* Is it a signal handler's call on the stack that is about to be left, after
 * the switch was told? It says nothing of the frames of the other stack. */
static bool is_left(struct thread_state *s, uint64_t sp)
{
	enum { HANDLERS = 16384 };

	if (sp >= s->fiber_left || sp + HANDLERS < s->fiber_left)
		s->fiber_left = 0;
	return s->fiber_left != 0;
}

/* Is the topmost segment's stack left, as n shows? n may lie below the call in
 * which the segment began, and yet be called from above it, as a function that
 * has caught an exception calls: then its return address lies where that
 * call's did. */
__attribute__((no_sanitize("address")))
static bool is_beyond(const struct thread_state *s, const struct frame *n)
{
	enum { NEAR = 512 }; /* bytes of stack that n may have taken */
	const uint64_t sp = s->segment[s->segments - 1].sp;
	const bool on_alt = shadow_in_alt(s, sp);

	if (shadow_in_alt(s, n->sp) != on_alt)
		return on_alt; /* else a handler's, wherever its stack lies */
	if (n->sp >= sp || sp - n->sp >= NEAR)
		return n->sp >= sp;
	return (((sp + 8) ^ n->sp) < 4096 ||
		kernel_can_read((const void *)(sp + 8))) &&
	       arch_was_called_at(n->sp + 16, sp + 16, n->site);
}

/* Returns whether the frame is to be pushed. */
static bool enter(struct thread_state *s, const struct frame *n, uint64_t now)
{
	if ((s->top == shadow_ground(s) && s->fiber != 0) || is_left(s, n->sp))
		return true;
	if (frame_waits(s->top - 1, FRAME_DOUBTED))
		ask_again(s, now);
	if (absorbs(s, n))
		return false;
	/* On a stack that is not the thread's, though no switch was told? */
	if (s->fiber == 0 && s->stack_high != 0 && n->sp > s->stack_high &&
	    !shadow_in_alt(s, n->sp)) {
		chunk_count_lost(s, LOST_SWITCH, 1);
		shadow_forget(s);
		s->stack_high = 0;
		chunk_switch(s, 0);
	}
	while (s->segments > 1 && shadow_segment(s)->inferred &&
	       is_beyond(s, n))
		shadow_detach_lost(s, now);
	shadow_unwind(s, live_end(s, n), UNWIND_SKIPPED, now);
	return true;
}

SLOW bool unwind_native_enter(struct thread_state *s, const struct frame *n,
			      uint64_t now)
{
	const int saved = errno;
	const bool is_new = enter(s, n, now);

	errno = saved;
	return is_new;
}

/* ------------------------------------------------------------------- exit */

/* Can a return of the function of f, to this call site, be that of f? The rest
 * of a function that gcc split returns to the caller into which its head was
 * inlined, on whose stack it stands; the head's call site is that caller's
 * own. */
static bool is_exit_of(const struct thread_state *s, const struct frame *f,
		       uint64_t site, uint64_t sp)
{
	if (frame_is_lua(f))
		return f->absorbed == site;
	return f->site == site ||
	       (sp <= f->sp && !BROKEN(split) &&
		shadow_in_alt(s, sp) == shadow_in_alt(s, f->sp));
}

/* The return of a call that is not on the stack: it began before recording
 * did, or sight of it was lost. */
static void leave_old(struct thread_state *s, uint64_t fn, uint64_t now)
{
	uint32_t index;

	if (s->native_unknown || (s->fiber != 0 && s->fiber_unknown))
		return; /* begun unseen */
	if (!s->base_unknown || s->top > s->frames + 1) {
		chunk_count_lost(s, LOST_SWITCH, 1);
		return;
	}
	if (s->counts)
		return; /* its beginning was not counted */
	chunk_need(s, 2);
	index = chunk_index(s, fn);
	chunk_put(s, rec_put(REC_LEAVE_OLD, index, chunk_gap(s, now)));
}

static void leave_native(struct thread_state *s, uint64_t fn, uint64_t site,
			 uint64_t sp, uint64_t now)
{
	struct frame *f = s->top - 1;

	while (f >= shadow_ground(s) &&
	       (f->key != fn || !is_exit_of(s, f, site, sp)))
		f--;
	if (f < shadow_ground(s) || (f < s->top - 1 && BROKEN(exit))) {
		leave_old(s, fn, now);
		return;
	}
	while (s->segments > 1 && f < s->frames + shadow_segment(s)->base)
		shadow_detach_lost(s, now);
	shadow_unwind(s, f + 1, UNWIND_SKIPPED, now);
	if (frame_is_lua(f) && !frame_is_untold(f)) {
		/* Its Lua return follows, unless an exception passes it. */
		f->absorbed = FRAME_NONE_ABSORBED;
		f->flags = FRAME_LUA | FRAME_DOUBTED;
	} else {
		shadow_leave(s, now);
	}
}

SLOW void unwind_native_exit(struct thread_state *s, uint64_t fn, uint64_t site,
			     uint64_t sp, uint64_t now)
{
	const int saved = errno;

	if (s->too_deep > 0)
		s->too_deep--;
	else
		leave_native(s, fn, site, sp, now);
	errno = saved;
}

/* ------------------------------------------------------------------ jumps */

/* The frame address of a hook lies two words below its caller's stack pointer
 * at the call. */
bool unwind_is_below(const struct thread_state *s, const struct frame *f,
		     uint64_t target)
{
	const bool alt = shadow_in_alt(s, target);

	if (shadow_in_alt(s, f->sp) != alt)
		return !alt;
	return f->sp + 16 < target;
}

/* The outermost of the dead native frames, or s->top if none is dead. */
static struct frame *first_dead(struct thread_state *s, uint64_t target)
{
	struct frame *dead = s->top;

	for (struct frame *f = s->top; f > shadow_ground(s); f--) {
		if (frame_is_lua(f - 1))
			continue;
		if (!unwind_is_below(s, f - 1, target))
			break;
		dead = f - 1;
	}
	return dead;
}

static bool is_yielding(struct thread_state *s)
{
	return thread_upcalls.lua_yielding && thread_upcalls.lua_yielding(s);
}

/* Does the jump end the call that resumed the topmost coroutine? */
INLINE bool ends_resume(const struct thread_state *s, uint64_t target)
{
	const struct segment *const g = &s->segment[s->segments - 1];
	const bool alt = shadow_in_alt(s, target);

	if (s->segments <= s->fiber + 1 || g->inferred)
		return false;
	return shadow_in_alt(s, g->sp) != alt ? !alt : g->sp < target;
}

/* Only where a Lua frame is innermost: else the coroutine may be gone, if
 * nothing told that it was left. */
bool unwind_is_yield(struct thread_state *s, uint64_t target)
{
	return s->segments > s->fiber + 1 && !shadow_segment(s)->inferred &&
	       frame_is_lua(s->top - 1) && !frame_is_untold(s->top - 1) &&
	       !ends_resume(s, target) && is_yielding(s);
}

void unwind_jump(struct thread_state *s, uint64_t target, uint64_t now)
{
	struct frame *dead;

	if (BROKEN(longjmp))
		return;
	if (thread_upcalls.lua_jumped)
		thread_upcalls.lua_jumped(s, target, now);
	while (ends_resume(s, target))
		shadow_detach_lost(s, now);
	dead = first_dead(s, target);
	while (s->segments > 1 && dead < s->top &&
	       dead < s->frames + shadow_segment(s)->base) {
		const size_t at = (size_t)(dead - s->frames);

		shadow_detach_lost(s, now);
		dead = s->frames + at;
	}
	/* A coroutine that yields keeps its Lua frames; what is native among
	 * them is dropped when they are put away. */
	if (dead < s->top && !is_yielding(s))
		shadow_unwind(s, dead, UNWIND_JUMP, now);
	/* A Lua error is such a jump; how many calls it ended Lua can say once
	 * it has landed. */
	if (thread_upcalls.lua_doubt && s->top > shadow_ground(s) &&
	    frame_is_lua(s->top - 1) && !frame_is_untold(s->top - 1) &&
	    !is_yielding(s))
		s->top[-1].flags = FRAME_LUA | FRAME_DOUBTED;
}
