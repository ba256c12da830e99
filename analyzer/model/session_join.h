/* session_join.h - one session out of several that were filled side by side,
 * each from other threads of the same trace. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* Where a thread of the whole was replayed. */
struct session_thread {
	size_t part;               /* which session */
	uint32_t thread;           /* its index there */
};

/* Add the parts to `to`. That has everything already but what records tell: its
 * tree has only the threads' roots, its threads no counts, and there may be no
 * coroutine but those that are natively bound to a VM. of[i] says where
 * to->threads[i] was replayed. The result does not depend on which part a
 * thread was in: nodes come in the order of the threads, coroutines in that of
 * processes and serials. The parts are used up: they may only be freed. */
void session_join(struct session *to, struct session *const *parts,
		  size_t count, const struct session_thread *of);
