/* lttng_join.h - LTTng, which writes chunks to the disk: asked for a session,
 * and joined, before the program runs. Without it, chunks go to the spill file.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

struct recording;

/* Choose the size of LTTng's rings and, if they fit, let the session process
 * begin. Returns the size of all rings; 0: without LTTng. */
uint64_t lttng_join_plan(struct recording *r);
/* Join LTTng, unless it does not answer for a second, and write the start
 * notes. */
void lttng_join_wait(struct recording *r);
/* Nothing was recorded: close the session, if there is or will be one. */
void lttng_join_undo(struct recording *r);
