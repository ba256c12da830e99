/* process.h - this process in the recording: it joins when its first hook runs,
 * and again as a child of fork. SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/mailbox.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/pool/mapped_pool.h"

/* Never NULL once the pool is mapped: where no slot was free, a private one
 * that nobody reads. */
extern HIDDEN struct pool_process *process_slot;
extern HIDDEN uint32_t process_serial;
extern HIDDEN uint64_t process_start; /* CLOCK_REALTIME, ns */

/* How many recordings this process has joined. */
extern HIDDEN _Atomic uint32_t process_joins;

/* The windows of recordings that were left are below this. Hook-safe. */
uint32_t process_past_windows(void);

/* Are native calls left alone? */
extern HIDDEN _Atomic bool process_no_native;

/* Called before a pool is joined in mid-run; NULL: nothing is called. is_blind:
 * between the two recordings, calls did not come to this library. */
extern HIDDEN void (*process_rejoins)(bool is_blind);

/* Called when a pool is mapped, before it is joined: what was led for an
 * earlier one may still be led. NULL: nothing is called. */
extern HIDDEN void (*process_maps)(void);

/* Where recorders ask this program to join or leave. */
extern HIDDEN struct attach_mailbox process_mailbox;

/* Maps the pool if the environment names one and that was not tried yet, or if
 * a recorder has asked for it; leaves it if that was asked; makes sure this
 * process (a child of fork, too) has a slot of its own. Returns whether it is
 * recorded. Hook-safe. */
bool process_ready(void);

/* The same in a constructor, to which libc passes what it passes main: environ
 * may not be set yet. */
bool process_ready_early(char **envp);

/* Has a recorder asked for something that nobody has looked at? Hook-safe. */
INLINE bool process_is_asked(void)
{
	return atomic_load_explicit(&process_mailbox.search,
				    memory_order_relaxed) == ATTACH_LOOK;
}

/* Is it known that this process is not recorded, until it is asked to be?
 * Hook-safe. */
bool process_is_away(void);
