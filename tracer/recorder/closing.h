/* closing.h - the end of a recording.
 * SPDX-License-Identifier: MIT */
#pragma once

struct recording;

/* For living threads to close their buffers, in ms. They are recorded until
 * then. */
enum { CLOSING_ANSWER_MS = 100 };

/* Turn recording off, deliver all that was recorded, of dead and living
 * threads, close the trace, and remove pool and socket. */
void closing_run(struct recording *r);
