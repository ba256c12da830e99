/* switch.h - coroutines' stacks on the shadow stack of the thread that runs
 * them, and off it. A yield is seen when lua_resume returns (call_scope.c); its
 * longjmp passes thread/unwind.c. All busy unless it says otherwise.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/lua_vm/unwind.h"

/* -------------------------------------------------- switches that are seen */

/* Put co on the thread, with its kept frames or else the walked ones. sp: stack
 * pointer of the resume; flags: RESUME_INFERRED or 0. */
void lua_switch_attach(struct thread_state *s, struct coroutine *co,
		       const struct frame *walked, uint32_t count, uint64_t sp,
		       uint32_t flags, uint64_t now);

/* Take the topmost coroutine off. flags: of the SUSPEND. */
void lua_switch_detach(struct thread_state *s, uint32_t flags, uint64_t now);

/* ----------------------------------------- switches that events show later */

/* Take the topmost coroutine off, whose suspension was not seen. */
void lua_switch_detach_unseen(struct thread_state *s, uint64_t now);

/* Does an event on co need the frames it has open? If so the caller walks them
 * (not busy) before it calls lua_switch_to. */
bool lua_switch_needs_walk(const struct thread_state *s,
			   const struct coroutine *co);

/* An event on co shows that it runs: put its frames where they belong. walked:
 * its open frames, outermost first, if lua_switch_needs_walk said so. fresh:
 * the id of the call that the event is, if nothing on co makes it, or 0. held:
 * a lua_State that the call refers to, so that its memory is there, or 0. sp:
 * of the hook. */
void lua_switch_to(struct thread_state *s, struct coroutine *co,
		   const struct frame *walked, uint32_t count, uint64_t fresh,
		   uint64_t held, uint64_t sp, uint64_t now);

/* The last frame of the running coroutine has returned. */
void lua_switch_body_ended(struct thread_state *s, uint64_t now);

/* ----------------------------------------------------------- what is where */

/* Is co topmost? Main states run in whatever native coroutine has called
 * them. */
INLINE bool lua_switch_is_in_place(const struct thread_state *s,
				   const struct coroutine *co)
{
	return co->window == s->window &&
	       (co->serial == s->segment[s->segments - 1].serial ||
		(co->serial == 0 && s->fiber == s->segments - 1));
}

/* Is co on this thread? Are its frames known while it is not? */
bool lua_switch_is_on(const struct thread_state *s, const struct coroutine *co);
INLINE bool lua_switch_has_kept(const struct thread_state *s,
				const struct coroutine *co)
{
	return co->keeps && co->window == s->window;
}

/* Do the records of s's open chunk say what stack co has kept? */
INLINE bool lua_switch_was_seen(const struct thread_state *s,
				const struct coroutine *co)
{
	return !co->gapped && co->by == s && co->epoch == s->epoch;
}

/* co takes count frames off the thread, as many as have room. A lua_State
 * carries its own only: a yield ends the native calls among them. The reader,
 * who saw these open, must be told at the resume. */
INLINE void lua_switch_keep_frames(struct coroutine *co,
				   const struct frame *from, uint32_t count)
{
	struct frame *to = co->kept;

	for (const struct frame *f = from; f < from + count; f++) {
		if (!lua_co_owns(co, f))
			continue;
		*to = *f;
		frame_settle(to);
		to++->absorbed = FRAME_NONE_ABSORBED;
	}
	co->count = (uint32_t)(to - co->kept);
	co->gapped = co->count != count;
}

/* What else it takes from its segment g. The record that says so is in s's open
 * chunk. */
INLINE void lua_switch_keep(const struct thread_state *s, struct coroutine *co,
			    const struct segment *g, uint64_t now)
{
	co->since = now;
	co->by = s;
	co->epoch = s->epoch;
	co->window = s->window;
	co->body = g->body;
}

/* Is the topmost coroutine about to yield? */
bool lua_switch_is_yielding(struct thread_state *s);

/* A jump left a Lua frame on top: end the frames that it has ended. */
void lua_switch_resolve_doubt(struct thread_state *s, uint64_t now);

/* The program is about to jump to target: end what it leaves on main states by
 * a jump over their calls, of which Lua knows nothing. */
void lua_switch_jumped(struct thread_state *s, uint64_t target, uint64_t now);
