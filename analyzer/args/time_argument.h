/* time_argument.h - moments and spans of time as people write them on the
 * command line.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* For the help of options that take a time. */
#define TIME_ARGUMENT_UNITS "s, ms, us or ns"

/* Read a span such as "1.5s", "20ms", "300us" or "7ns"; a number without a unit
 * is seconds. At most 10^9 seconds; places below 1 ns are dropped. 0, or -1
 * with the cause in the chain, which names the option. */
int time_argument_span(const char *text, const char *option, uint64_t *ns);

/* Read a span as the fewest ticks whose time in ns is at least that long; 0 if
 * text is NULL. 0, or -1 as above. */
int time_argument_least(const struct session *, const char *text,
			const char *option, ticks *least);

/* Read a moment: a span since the start of the recording; or a number without a
 * unit from 10^15 on, which is ns since 1970 as weft dump prints them. *ns is
 * since the start; 0 for what is before it. The session needs its clock and its
 * first tick. 0, or -1 as above. */
int time_argument_moment(const struct session *, const char *text,
			 const char *option, uint64_t *ns);

/* The same moment as a tick, too: the last one that is printed as that time, or
 * as an earlier one. It is exact for times as weft dump prints them. */
int time_argument_moment_tick(const struct session *, const char *text,
			      const char *option, uint64_t *ns, ticks *tick);

/* The first tick that is printed as that moment, or as a later one: an end of a
 * half-open range. 0, or -1 as above. */
int time_argument_edge(const struct session *, const char *text,
		       const char *option, ticks *tick);

/* The last tick that is printed as so many ns since the start, or fewer. The
 * result is a tick of the session's clock, not a distance from its first
 * tick. */
ticks time_argument_tick(const struct session *, uint64_t ns);
