/* process.h - this process in the recording: it joins when its first hook runs,
 * and again as a child of fork. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_POOL_PROCESS_H
#define WEFT_TRACER_HOST_POOL_PROCESS_H

#include "tracer/host/pool/mapped_pool.h"

/* Never NULL once the pool is mapped: where no slot was free, a private one
 * that nobody reads. */
extern HIDDEN struct pool_process *process_slot;
extern HIDDEN uint32_t process_serial;
extern HIDDEN uint64_t process_start; /* CLOCK_REALTIME, ns */

/* Are native calls left alone? */
extern HIDDEN _Atomic bool process_no_native;

/* The program may be killed for a system call it does not make itself. */
extern HIDDEN bool process_confined;

/* Maps the pool if the environment names one and that was not tried yet; makes
 * sure this process (a child of fork, too) has a slot of its own. Returns
 * whether it is recorded. Hook-safe. */
bool process_ready(void);

/* Is it known that this process will never be recorded? Hook-safe. */
bool process_never(void);

#endif
