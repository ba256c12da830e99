/* zones.c - zones: calls of a name, which a program begins and ends. One that
 * native code begins is a native frame, which ends at the latest with the call
 * in which it began. One of Lua's is a frame of its lua_State, with the id of
 * the call in which it began, so that errors, yields and returns treat it as
 * that call. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/thread/zone.h"
#include "tracer/host/weft.h"

#include <errno.h>

/* ---------------------------------------------------------------- native */

INLINE bool is_native_zone(const struct frame *f)
{
	return !frame_is_lua(f) && zone_is(f->key);
}

/* A call that is inlined into the same function as the zone's has the call site
 * of the innermost frame. */
static SLOW void begin(const char *name, struct caller from)
{
	const int saved = errno;
	struct thread_state *const s = thread_acquire_native(from.sp);
	struct frame f = { .sp = from.sp, .ret = CALLER_RETURN(from) };
	const struct frame *top;

	if (!s) {
		thread_count_missed();
		return;
	}
	top = s->top - 1;
	f.site = top < shadow_ground(s) || frame_is_lua(top) ? f.ret :
		 top->site;
	f.key = zone_key(name);
	f.tick = chunk_clock(s);
	if (unwind_native_enter(s, &f, f.tick))
		shadow_enter(s, &f, f.tick);
	thread_release(s);
	errno = saved;
}

/* The zone that a call with this frame address ends: the innermost one that
 * began with the same stack pointer, or else the innermost one. Not through
 * frames that are alive, whose functions have zones of their own. NULL: no. */
static struct frame *find(struct thread_state *s, uint64_t sp)
{
	const bool alt = shadow_in_alt(s, sp);
	struct frame *first = NULL;

	if (s->top > shadow_ground(s) && is_native_zone(s->top - 1) &&
	    shadow_in_alt(s, s->top[-1].sp) == alt)
		first = s->top - 1;
	for (struct frame *f = s->top; f-- > shadow_ground(s);) {
		if (frame_is_lua(f))
			continue;
		if (f->sp > sp || shadow_in_alt(s, f->sp) != alt ||
		    (f->sp == sp && !zone_is(f->key)))
			break;
		if (zone_is(f->key) && f->sp == sp)
			return f;
		if (zone_is(f->key) && !first)
			first = f;
	}
	return first;
}

static SLOW void end(uint64_t sp)
{
	const int saved = errno;
	struct thread_state *const s = thread_acquire_native(sp);
	const uint64_t now = !s ? 0 : chunk_clock(s);
	struct frame *const f = !s || s->too_deep > 0 ? NULL : find(s, sp);

	if (!s)
		return;
	if (s->too_deep > 0)
		s->too_deep--;
	while (f && s->segments > 1 &&
	       f < s->frames + shadow_segment(s)->base)
		shadow_detach_lost(s, now);
	if (f) {
		shadow_unwind(s, f + 1, UNWIND_SKIPPED, now);
		shadow_leave(s, now);
	}
	thread_release(s);
	errno = saved;
}

/* Of generation 0 it is not known: find out. */
INLINE bool is_on(void)
{
	const uint32_t generation = thread_native_generation();

	return unlikely((generation & POOL_ON) || generation == 0);
}

EXPORT void weft_zone_begin(const char *name)
{
	if (is_on() && name)
		begin(name, CALLER);
}

EXPORT void weft_zone_end(void)
{
	if (is_on())
		end(HERE);
}

/* ------------------------------------------------------------------- Lua */

/* What is known of L, which is recorded now; or NULL. */
static struct coroutine *find_recorded(lua_State *L)
{
	struct coroutine *const co = !mapped_pool || !L ? NULL :
				     lua_co_find(L);

	return co && co->vm->lib->abi && !co->vm->detached &&
	       lua_hook_is_on() ? co : NULL;
}

EXPORT unsigned long long weft_lua_zone_begin(lua_State *L, const char *name,
					      int level)
{
	const int saved = errno;
	struct coroutine *const co = !name ? NULL : find_recorded(L);
	const uint64_t id = !co ? 0 : co->vm->lib->abi->zone_begin(
				co, zone_key(name), level, HERE);

	errno = saved;
	return id;
}

/* What it has called has ended. */
static void end_at(struct thread_state *s, const struct coroutine *co,
		   uint64_t id)
{
	const struct frame *const base = s->frames + shadow_segment(s)->base;
	const uint64_t now = chunk_clock(s);

	for (const struct frame *f = s->top; f-- > base;) {
		if (!frame_is_lua(f) || !zone_is(f->key) ||
		    f->site != (uint64_t)co->L || f->ret != id)
			continue;
		lua_unwind_above(s, (uint32_t)(f - base) + 1, now);
		shadow_leave(s, now);
		return;
	}
}

EXPORT void weft_lua_zone_end(lua_State *L, unsigned long long zone)
{
	const int saved = errno;
	struct coroutine *const co = zone == 0 ? NULL : find_recorded(L);
	struct thread_state *const s = !co ? NULL : thread_acquire(HERE);

	if (s) {
		if (lua_switch_is_in_place(s, co))
			end_at(s, co, zone);
		thread_release(s);
	}
	errno = saved;
}
