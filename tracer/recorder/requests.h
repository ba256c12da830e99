/* requests.h - what other commands of the user ask of a recording that runs.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_REQUESTS_H
#define WEFT_TRACER_RECORDER_REQUESTS_H

#include "tracer/recorder/recording.h"

/* Listen, once the program is forked; what it is called is known then. Without
 * a socket the recording goes on, and says so. */
void requests_init(struct recording *r);
/* Measure the rate; call it now and then. now: ms. */
void requests_beat(struct recording *r, uint64_t now);

#endif
