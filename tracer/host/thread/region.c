/* region.c - recording only inside chosen calls: weft_inside_*.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/region.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/shadow_stack.h"
#include "tracer/host/api/weft.h"

#include <errno.h>

_Atomic int region_only;
THREAD_LOCAL uint32_t region_depth;

/* Calls that are open now will go on unseen: they end here, so that what is
 * recorded next does not stand on them (rules.md 6). */
static void shut(uint64_t sp)
{
	struct thread_state *const s = thread_self;
	struct shadow_mark ground;

	if (!s || s->busy != 0 || s->generation == 0 ||
	    s->generation == REGION_SHUT)
		return;
	s->busy = sp;
	barrier();
	/* Marks count from the running fiber's segment on; this is the ground
	 * of the thread's own stack. */
	ground = (struct shadow_mark){ .window = s->window,
				       .segments = 1 - s->fiber };
	if (s->segments > 1 || s->top > s->frames + 1)
		shadow_cut(s, ground, UNWIND_RESET, thread_clock(s));
	s->lua_plain = NULL;
	s->generation = REGION_SHUT;
	thread_release(s);
}

void region_set(uint32_t depth, uint64_t sp)
{
	region_depth = depth;
	if (depth == 0 &&
	    atomic_load_explicit(&region_only, memory_order_relaxed))
		shut(sp);
}

uint32_t region_back(uint32_t outside, int sleeps, uint64_t sp)
{
	const uint32_t its =
		sleeps && region_depth > outside ? region_depth - outside : 0;

	if (region_depth != outside)
		region_set(outside, sp);
	return its;
}

EXPORT int weft_inside_only(int only)
{
	const int saved = errno;
	const int ready = process_ready();

	errno = saved;
	if (!ready)
		return -1;
	return atomic_exchange(&region_only, only != 0);
}

EXPORT void weft_inside_begin(void)
{
	region_depth++;
}

EXPORT int weft_inside_end(void)
{
	if (region_depth > 0)
		region_set(region_depth - 1, HERE);
	return region_shut();
}
