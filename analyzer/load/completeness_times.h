/* completeness_times.h - where the times of a report come from; private to
 * completeness.c.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/completeness_say.h"
#include "analyzer/load/load.h"

/* How the session's times were made, and their errors. */
void completeness_times(struct teller *, const struct load *);
/* How much of the time of sampled Lua was noted, and what ticks cost. */
void completeness_noted(struct teller *, const struct session *);
