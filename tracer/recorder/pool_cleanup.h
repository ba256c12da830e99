/* pool_cleanup.h - pools whose recorder died without removing them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_POOL_CLEANUP_H
#define WEFT_TRACER_RECORDER_POOL_CLEANUP_H

/* Remove this user's pools that no recorder holds the lock of. How many. */
int stale_remove(void);

#endif
