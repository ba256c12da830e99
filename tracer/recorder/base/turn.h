/* turn.h - two threads of the recorder that take turns: only the one that has
 * the turn touches the recording. The first has it, and lends it while it asks
 * the kernel for something that may take long; the other then drains the pool.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* The calling thread takes the turn. From now on work(ctx) is called whenever
 * it is lent, by a thread that this starts: again at once if it returns true,
 * because there is more to do. Without that thread nothing is lent. work must
 * not lend. */
void turn_start(bool (*work)(void *ctx), void *ctx);
/* Wait until the other thread has ended. Nothing is lent any more. */
void turn_end(void);

/* Between these two calls nothing may be touched that work uses, and after the
 * second it may have changed. Both do nothing before turn_start and after
 * turn_end. */
void turn_lend(void);
void turn_take(void);
