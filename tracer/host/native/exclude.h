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
extern THREAD_LOCAL enum exclude_learning {
	EXCLUDE_NOTHING, EXCLUDE_LEARNING, EXCLUDE_LEARNED
} exclude_learning;
extern _Atomic uint32_t exclude_learners;

INLINE bool exclude_learns(void)
{
	return atomic_load_explicit(&exclude_learners, memory_order_relaxed) &&
	       exclude_learning;
}

bool exclude_knows(uint64_t function);

/* Does this function lie in such a library? Hook-safe. */
INLINE bool exclude_has(uint64_t function)
{
	const uint32_t n =
		atomic_load_explicit(&exclude_count, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		if (function - atomic_load_explicit(&exclude_code[i].start,
						    memory_order_relaxed) <
		    atomic_load_explicit(&exclude_code[i].size,
					 memory_order_relaxed))
			return true;
	}
	return atomic_load_explicit(&exclude_known, memory_order_relaxed) &&
	       exclude_knows(function);
}

/* The library at this address is a Lua: excludes it if it calls our hooks
 * and has nothing but Lua to offer. Not hook-safe. */
void exclude_look(const void *address);

/* If what lies at this address calls our hooks, and is more than a Lua:
 * excludes each function that this thread calls from here on until
 * exclude_learned. The thread calls Lua alone meanwhile, and signals are
 * blocked. Returns false if there is nothing to learn; then exclude_learned
 * is not to be called. */
bool exclude_learn(const void *address);
/* Ends it; returns whether there were any. */
bool exclude_learned(void);
/* A hook has seen such a function. Hook-safe. */
void exclude_add(uint64_t function);

/* Modules have gone: forgets what lay in them. */
void exclude_check(void);

#endif
