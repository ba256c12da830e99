/* slow_waits.h - how long the open calls of a stream have been off the CPU.
 * Private to slow.c.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* By depth, as the stack was when the thread last was off the CPU: how long it
 * was so while that call was the innermost, or one that it made and that has
 * ended. All zero at first; mem_free frees `at`. */
struct slow_waits {
	struct slow_wait { ticks entry, off, ready; } *at;
	size_t count, room;
};

/* The thread was off the CPU for so long; ready: without a core. */
void slow_waits_add(struct slow_waits *, const struct stream *, ticks span,
		    bool ready);

/* Add what a call, which is on the stack or was until now, has waited since it
 * came there, to *off, and what of it without a core to *ready. */
void slow_waits_of(const struct slow_waits *, size_t depth, ticks entry,
		   ticks *off, ticks *ready);
