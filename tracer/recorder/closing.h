/* closing.h - the end of a recording.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_CLOSING_H
#define WEFT_TRACER_RECORDER_CLOSING_H

#include "tracer/recorder/recording.h"

/* Turn recording off, deliver all that was recorded, of dead and living
 * threads, close the trace, and remove pool and socket. */
void closing_do(struct recording *r);

#endif
