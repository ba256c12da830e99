/* exclude.h - code whose native calls are not recorded: that of a Lua library
 * that was itself built with -finstrument-functions. Its calls of Lua's hook
 * come from within calls of its own that end at once, while the Lua function
 * goes on; and what weft asks of Lua would count as the program's.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* So many libraries at a time; further ones are recorded. */
enum { EXCLUDE_MOST = 8 };

/* The addresses [start, start + size) of a module. */
struct excluded {
	_Atomic uint64_t start, size; /* size 0: none */
};
extern struct excluded exclude_code[EXCLUDE_MOST];
/* How many of the entries may be in use, from the first on. */
extern _Atomic uint32_t exclude_count;

/* How many functions were ever excluded one by one, of a Lua that is part of
 * something larger. 0 spares the hooks the search. */
extern _Atomic uint32_t exclude_known;

/* Is this thread finding out which these are? Before the loader has
 * relocated this library, when resolvers of IFUNC symbols may call the hooks
 * already, nothing of a thread's own may be looked at: then there are no
 * learners. */
extern THREAD_LOCAL enum exclude_learning {
	EXCLUDE_NOTHING, EXCLUDE_LEARNING, EXCLUDE_LEARNED
} exclude_learning;
extern _Atomic uint32_t exclude_learners;

/* Is this thread learning? Hook-safe, also before the library is relocated. */
INLINE bool exclude_learns(void)
{
	return atomic_load_explicit(&exclude_learners, memory_order_relaxed) &&
	       exclude_learning;
}

/* Is this function, by its address, excluded one by one? Hook-safe. */
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

/* The library at this address is a Lua: excludes it if it calls our hooks and
 * has nothing but Lua to offer. Does nothing if the address lies in no module.
 * Not hook-safe. */
void exclude_look(const void *address);

/* If what lies at this address calls our hooks, and is more than a Lua:
 * excludes each function that this thread calls from here on until
 * exclude_learned. The thread calls Lua alone meanwhile, and the caller holds
 * signals back. Returns false if there is nothing to learn; then
 * exclude_learned is not to be called. */
bool exclude_learn(const void *address);
/* Ends it; returns whether there were any such functions. On the thread that
 * began. */
bool exclude_learned(void);
/* A hook has seen such a function. Hook-safe. */
void exclude_add(uint64_t function);

/* Modules have gone: forgets what lay in them, so that other code at their
 * addresses is recorded. After dlclose. */
void exclude_check(void);
