/* borrowed.h - one thread's open calls on the stack of another, which works for
 * them: where a program with OpenMP began a region, or made a task. There, they
 * lie under what the other thread calls. It has made none of them, so they have
 * no call site and no beginning. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/shadow_stack.h"

/* As many calls are borrowed, the outermost ones; so that a chain of tasks,
 * each made by the one before, has an end. */
enum { BORROWED_MOST = 256 };

/* The calls that are open, as far as they have records, outermost first: their
 * functions' keys, those with which a coroutine begins marked. Returns how many
 * there are, up to most. */
uint32_t borrowed_keys(const struct thread_state *s, uint64_t *key,
		       uint32_t most);

/* A stack to come back to, and how many calls were borrowed on it. */
struct borrowed {
	struct shadow_mark from;
	uint32_t count;
};

/* Works for the calls of those keys: if they go on where this thread's own open
 * calls end, it borrows the rest of them; else its own calls are those that
 * what follows stands on. sp: as of shadow_borrow. */
struct borrowed borrowed_begin(struct thread_state *s, const uint64_t *key,
			       uint32_t count, uint64_t sp);

/* The work is done: what was called since, and not left, has ended, too. */
void borrowed_end(struct thread_state *s, const struct borrowed *b);
