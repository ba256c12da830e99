/* time_argument.h - moments and spans as people write them on the command line.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_TIME_ARGUMENT_H
#define WEFT_ANALYZER_LOAD_TIME_ARGUMENT_H

#include "analyzer/model/session.h"

/* "1.5s", "20ms", "300us", "7ns"; without a unit seconds. 0, or -1 with the
 * cause in the chain, which names the option. */
int time_argument_span(const char *text, const char *option, uint64_t *ns);

/* A span since the start of the recording; or, from 10^15 on and without a
 * unit, ns since 1970 as weft dump prints them. Gives ns since the start, 0 for
 * what lies before it. */
int time_argument_moment(const struct session *, const char *text, const char *option,
		uint64_t *ns);

/* The same moment as a tick too: the last one that is printed as that time, or
 * earlier; of a date exactly as weft dump prints it. */
int time_argument_moment_tick(const struct session *, const char *text,
		     const char *option, uint64_t *ns, ticks *tick);

/* The last tick that is printed as so many ns since the start, or fewer. */
ticks time_argument_tick(const struct session *, uint64_t ns);

/* What is told in all help of such options. */
#define TIME_ARGUMENT_UNITS "s, ms, us or ns"

#endif
