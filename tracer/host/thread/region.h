/* region.h - recording only inside chosen calls (weft_inside_only): which
 * threads may record at this moment. What is off here costs as much as a thread
 * that has no state; the common path knows nothing of it.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_REGION_H
#define WEFT_TRACER_HOST_THREAD_REGION_H

#include "tracer/host/thread/thread_state.h"

/* Set once the program asked for it; never taken back but by whoever set it. */
extern HIDDEN _Atomic int region_only;
/* How many chosen calls this thread is in. */
extern HIDDEN THREAD_LOCAL uint32_t region_depth;

INLINE int region_shut(void)
{
	return atomic_load_explicit(&region_only, memory_order_relaxed) &&
	       region_depth == 0;
}

/* What state.generation is while its thread is shut out: no pool has it. */
#define REGION_SHUT UINT32_MAX

/* Set the depth; back at 0, the calls that are open end, and the thread is shut
 * out. */
void region_set(uint32_t depth, uint64_t sp);

/* A coroutine comes off the thread, whose depth was outside before: chosen calls
 * go where it goes. Returns those it sleeps in, if it may come back. */
uint32_t region_back(uint32_t outside, int sleeps, uint64_t sp);

#endif
