/* stale.h - pools whose recorder died without removing them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_STALE_H
#define WEFT_RECORDER_STALE_H

/* Remove this user's pools that no recorder holds the lock of. How many. */
int stale_remove(void);

#endif
