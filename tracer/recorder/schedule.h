/* schedule.h - when recording is on, as the options say: for how long, for a
 * part of each period, from a signal on.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/options.h"

struct recording;

/* The period that has begun last, and the window in it: ns since the recording
 * began. All zero is a valid start. */
struct schedule {
	uint64_t next_period, on, off;
	uint64_t since;            /* --duration counts from then on */
	bool is_on;                /* as this schedule turned it last */
};

/* Whether the recording begins turned off. */
bool schedule_begins_off(const struct options *o);
/* Turn recording on or off, or end it, if its time has come; answer threads
 * that look for the function with which it begins. Call it in each round.
 * Returns whether one had asked, and may ask again soon. */
bool schedule_poll(struct recording *r);
/* Choose the window of the period that begins then; for tests. random: any
 * number. With --of N, one of N such windows is used, in the mean. */
void schedule_choose(struct schedule *s, const struct options *o,
		     uint64_t begin, uint64_t random);
