/* exclude.h - code whose native calls are not recorded: that of a Lua
 * library that was itself built with -finstrument-functions. Its calls of
 * Lua's hook come from within calls of its own that end at once, while the
 * Lua function goes on; and what weft asks of Lua would count as the
 * program's. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_NATIVE_EXCLUDE_H
#define WEFT_TRACER_HOST_NATIVE_EXCLUDE_H

#include "tracer/host/base/base.h"


enum { EXCLUDE_MOST = 8 };

struct excluded {
	_Atomic uint64_t start, size; /* size 0: none */
};
extern struct excluded exclude_code[EXCLUDE_MOST];
extern _Atomic uint32_t exclude_count;

/* How many functions are known one by one, of a Lua that is part of something
 * larger. */
extern _Atomic uint32_t exclude_known;

/* Is this thread finding out which these are? Before the loader has
 * relocated this library, when resolvers of IFUNC symbols may call the hooks
 * already, nothing of a thread's own may be looked at: then there are no
 * learners. */
extern THREAD_LOCAL int exclude_learning;
extern _Atomic uint32_t exclude_learners;

INLINE int exclude_learns(void)
{
	return atomic_load_explicit(&exclude_learners, memory_order_relaxed) !=
		       0 &&
	       exclude_learning != 0;
}

int exclude_knows(uint64_t function);

/* Does this function lie in such a library? Hook-safe. */
INLINE int exclude_has(uint64_t function)
{
	const uint32_t n =
		atomic_load_explicit(&exclude_count, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		if (function - atomic_load_explicit(&exclude_code[i].start,
						    memory_order_relaxed) <
		    atomic_load_explicit(&exclude_code[i].size,
					 memory_order_relaxed))
			return 1;
	}
	return atomic_load_explicit(&exclude_known, memory_order_relaxed) !=
		       0 &&
	       exclude_knows(function);
}

/* The library at this address is a Lua: be quiet about it if it calls our hooks
 * and has nothing else to offer. Not hook-safe. */
void exclude_look(const void *address);

/* If what lies at this address calls our hooks, and is more than a Lua: from
 * here on until exclude_learned, while no signal comes, this thread calls
 * Lua alone, so that the native calls it makes are to be left out. 0: not
 * so. */
int exclude_learn(const void *address);
/* Were there any? */
int exclude_learned(void);
/* One of them. Hook-safe. */
void exclude_add(uint64_t function);

/* Modules have gone: what lies where they lay is another's. */
void exclude_check(void);

#endif
