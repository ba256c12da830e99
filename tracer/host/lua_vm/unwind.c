/* unwind.c - finds out which Lua frames have ended without telling.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_vm/unwind.h"

/* How far an unknown caller's own callers are followed. */
enum { CALLERS = 64 };

/* In a frame's id: another function has taken its place. */
#define TAKEN (UINT64_C(1) << 62)

/* The first frame of the topmost segment. */
static struct frame *base(struct thread_state *s)
{
	return s->frames + shadow_segment(s)->base;
}

/* End the frames from to on. Those whose returns are untold return now. */
static void end_from(struct thread_state *s, struct frame *to,
		     enum unwind why, uint64_t now)
{
	while (s->top > to) {
		struct frame *f = s->top - 1;

		if (frame_is_untold(f)) {
			shadow_leave(s, now);
			continue;
		}
		while (f > to && !frame_is_untold(f - 1))
			f--;
		shadow_unwind(s, f, why, now);
	}
}

void lua_unwind_above(struct thread_state *s, uint32_t depth, uint64_t now)
{
	struct frame *const to = base(s) + depth;

	if (s->top > to)
		end_from(s, to, UNWIND_ERROR, now);
}

/* -------------------------------------------------------- frames with own ids
 * In all versions but LuaJIT a frame keeps its id while it lives. */

/* The innermost frame of co with this id in the topmost segment, or NULL. Or,
 * if ids say where frames lie, the innermost one that does not lie above this
 * place. *dead: the outermost frame of co above it (above the segment's base,
 * if it was not found); s->top if there is none. */
INLINE struct frame *find_frame(struct thread_state *s,
				const struct coroutine *co, uint64_t id,
				bool by_place, struct frame **dead)
{
	*dead = s->top;
	for (struct frame *f = s->top; f-- > base(s);) {
		if (!lua_co_owns(co, f))
			continue;
		if (by_place ? f->ret <= id : id != 0 && f->ret == id)
			return f;
		*dead = f;
	}
	return NULL;
}

/* The lua_State's calls form a chain: all of them that stand above the caller's
 * frame have ended. A caller whose own call was not seen has no frame; then its
 * nearest known caller decides. If that is far, as after an error in hundreds
 * of error handlers, which Lua leaves only later, nothing is ended. */
static void call_by_id(struct thread_state *s, const struct coroutine *co,
		       const struct lua_caller *caller, uint64_t now)
{
	uint64_t id = caller->id;
	struct frame *dead;
	int i = 0;

	while (!find_frame(s, co, id, false, &dead) && id != 0 &&
	       dead != s->top && caller->above) {
		if (++i > CALLERS)
			return;
		id = caller->above((uint64_t)co->L, id);
	}
	shadow_unwind(s, dead, id == 0 && co->serial != 0 ? UNWIND_CLOSED :
		      UNWIND_ERROR, now);
}

/* Frames of co above it were ended by an error; native ones were skipped. */
static bool return_by_id(struct thread_state *s, const struct coroutine *co,
			 uint64_t id, uint64_t now)
{
	struct frame *dead;
	struct frame *const f = find_frame(s, co, id, false, &dead);

	if (!f) {
		/* Its call was not seen, or was too deep for the stack. */
		if (s->too_deep > 0)
			s->too_deep--;
		return false;
	}
	if (BROKEN(ret) && f + 1 < s->top) {
		if (frame_waits(s->top - 1, FRAME_DOUBTED))
			frame_settle(s->top - 1);
		return true;
	}
	shadow_unwind(s, f + 1, dead < s->top ? UNWIND_ERROR : UNWIND_SKIPPED,
		      now);
	shadow_leave(s, now);
	return true;
}

/* ------------------------------------------------------ frames by their place
 * In LuaJIT an id says where a frame lies: a deeper call has a higher one. The
 * frame of a Lua function moves up if its number of arguments varies. */

/* A frame with this function lies further up than this one did: is it the same?
 * A C function's does not move: it may have ended, by its native exit, and have
 * been called anew. */
static bool has_moved(const struct frame *f, uint64_t key)
{
	return f->key == key && (key & KEY_LUA) != 0;
}

/* Does a call at this place replace f? The frame that a tail call ends lies
 * where the new one comes to lie, or had moved up from there; what it has
 * called has returned. An error leaves the frame of who has caught it, too. */
static bool is_replaced(const struct thread_state *s, const struct frame *f,
			uint64_t place)
{
	if (f->ret != place && (f->ret < place || !(f->key & KEY_LUA)))
		return false;
	for (f++; f < s->top; f++) {
		if (!frame_is_untold(f))
			return false;
	}
	return true;
}

/* A call shows where its caller's frame lies. */
static void call_by_place(struct thread_state *s, const struct coroutine *co,
			  const struct lua_caller *caller, uint64_t now)
{
	struct frame *dead;
	struct frame *const f = find_frame(s, co, caller->id, true, &dead);
	enum unwind why = UNWIND_ERROR;

	if (dead < s->top && is_replaced(s, dead, caller->callee))
		why = UNWIND_TAIL;
	else if (caller->id == 0 && co->serial != 0)
		why = UNWIND_CLOSED;
	end_from(s, dead, why, now);
	if (f && f->ret < caller->id && has_moved(f, caller->key_at ?
			caller->key_at(s->lua, co, caller->id) : caller->key))
		f->ret = caller->id;
}

/* The same, where C functions above it have returned untold. */
static bool return_by_place(struct thread_state *s, const struct coroutine *co,
			    uint64_t id, uint64_t key, uint64_t now)
{
	struct frame *dead;
	struct frame *const f = find_frame(s, co, id, true, &dead);
	const bool is_it = f && (f->ret == id || has_moved(f, key));

	if (is_it && dead == s->top)
		shadow_unwind(s, f + 1, UNWIND_SKIPPED, now);
	else
		end_from(s, dead, UNWIND_ERROR, now);
	if (is_it && shadow_depth(s) > 0)
		shadow_leave(s, now);
	else if (!is_it && s->too_deep > 0)
		s->too_deep--;
	return is_it;
}

/* ------------------------------------------------------- calls and returns */

void lua_unwind_call(struct thread_state *s, const struct coroutine *co,
		     const struct lua_caller *caller, uint64_t now)
{
	if (BROKEN(parent))
		return;
	if (co->vm->lib->abi->is_jit)
		call_by_place(s, co, caller, now);
	else
		call_by_id(s, co, caller, now);
}

bool lua_unwind_return(struct thread_state *s, const struct coroutine *co,
		       uint64_t id, uint64_t key, uint64_t now)
{
	return co->vm->lib->abi->is_jit ?
	       return_by_place(s, co, id, key, now) :
	       return_by_id(s, co, id, now);
}

void lua_unwind_all(struct thread_state *s, const struct coroutine *co,
		    uint64_t now)
{
	struct frame *dead;

	find_frame(s, co, 0, false, &dead);
	shadow_unwind(s, dead, UNWIND_CLOSED, now);
}

void lua_unwind_taken_over(struct thread_state *s, const struct coroutine *co,
			   uint64_t id, uint64_t key)
{
	struct frame *above;
	struct frame *const f = key == 0 ? NULL :
				find_frame(s, co, id, false, &above);

	if (!f || f->key == key || above == s->top || above->key != key)
		return;
	f->ret |= TAKEN;
	above->ret = id;
}

void lua_unwind_tail_end(struct thread_state *s, const struct coroutine *co,
			 uint64_t now)
{
	struct frame *const f = s->top - 1;

	if (f >= base(s) && lua_co_owns(co, f) && (f->ret & TAKEN))
		shadow_unwind(s, f, UNWIND_TAIL, now);
}
