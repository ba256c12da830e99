/* time_argument.c - moments and spans: decimal numbers with units, read without
 * a rounding that would miss the tick that was meant.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/time_argument.h"

#include "analyzer/base/err.h"

#include <assert.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* A number without a unit from here on is a date: 11 days after 1970. As
 * seconds since the start it would be 31 million years. */
#define FIRST_DATE UINT64_C(1000000000000000)
/* Spans up to 31 years: sums of them are far from 64 bits. */
#define LONGEST (NS_PER_S * NS_PER_S)
/* Ticks since the start that are looked for. */
#define LAST_TICK (UINT64_MAX / 4)

/* The units, in ns; a number without one is seconds. */
static const struct { const char *name; uint64_t ns; } units[] = {
	{ "", NS_PER_S }, { "s", NS_PER_S }, { "ms", 1000000 },
	{ "us", 1000 }, { "ns", 1 },
};

/* ---- text --------------------------------------------------------------- */

/* whole + part / scale, and what follows the digits. */
struct decimal { uint64_t whole, part, scale; const char *unit; };

/* The unit is NULL if the text does not begin with a number, or with one that
 * is too large. */
static struct decimal read_decimal(const char *text)
{
	struct decimal d = { 0, 0, 1, NULL };
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (d.whole > UINT64_MAX / 10 - 1)
			return d;
		d.whole = d.whole * 10 + (uint64_t)(*at - '0');
	}
	if (at == text)
		return d;
	/* More than nine places are less than a nanosecond. */
	for (at += *at == '.'; at[0] >= '0' && at[0] <= '9'; at++)
		if (d.scale < NS_PER_S) {
			d.part = d.part * 10 + (uint64_t)(*at - '0');
			d.scale *= 10;
		}
	d.unit = at;
	return d;
}

/* Is it ns since 1970? Only a bare number can be. */
static bool is_date(const struct decimal *d)
{
	return d->unit && !d->unit[0] && d->whole >= FIRST_DATE;
}

int time_argument_span(const char *text, const char *option, uint64_t *ns)
{
	const struct decimal d = read_decimal(text);

	for (size_t i = 0; d.unit && i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(d.unit, units[i].name) != 0)
			continue;
		if (d.whole > LONGEST / units[i].ns)
			break;
		*ns = d.whole * units[i].ns + d.part * units[i].ns / d.scale;
		return 0;
	}
	return err_add("--%s takes a time such as 1.5s (" TIME_ARGUMENT_UNITS
		       "), not \"%s\"", option, text);
}

int time_argument_moment(const struct session *s, const char *text,
			 const char *option, uint64_t *ns)
{
	const uint64_t start = session_real(s, session_first_tick(s));
	const struct decimal d = read_decimal(text);

	if (!is_date(&d))
		return time_argument_span(text, option, ns);
	*ns = d.whole > start ? d.whole - start : 0;
	return 0;
}

/* ---- ticks -------------------------------------------------------------- */

/* session_ns and session_real round: an estimate from the frequency may be a
 * few ticks off, so the neighbours are tried. */

ticks time_argument_tick(const struct session *s, uint64_t ns)
{
	const unsigned __int128 wide = (unsigned __int128)ns * s->tick_hz /
				       NS_PER_S;
	ticks t = wide > LAST_TICK ? LAST_TICK : (ticks)wide;

	assert(s->tick_hz > 0);
	while (t > 0 && session_ns(s, t) > ns)
		t--;
	while (t < LAST_TICK && session_ns(s, t + 1) <= ns)
		t++;
	return session_first_tick(s) + t;
}

int time_argument_least(const struct session *s, const char *text,
			const char *option, ticks *least)
{
	uint64_t ns = 0;

	if (text && time_argument_span(text, option, &ns) != 0)
		return -1;
	*least = ns == 0 ? 0 : time_argument_tick(s, ns - 1) + 1 -
		 session_first_tick(s);
	return 0;
}

/* A date is rounded from another tick than a span since the start is. */
static ticks date_tick(const struct session *s, uint64_t date, ticks t)
{
	const ticks first = session_first_tick(s);

	while (t > first && session_real(s, t) > date)
		t--;
	while (t < LAST_TICK && session_real(s, t + 1) <= date)
		t++;
	return t;
}

int time_argument_moment_tick(const struct session *s, const char *text,
			      const char *option, uint64_t *ns, ticks *tick)
{
	const uint64_t start = session_real(s, session_first_tick(s));
	const struct decimal d = read_decimal(text);

	if (time_argument_moment(s, text, option, ns) != 0)
		return -1;
	*tick = time_argument_tick(s, *ns);
	if (is_date(&d) && d.whole > start)
		*tick = date_tick(s, d.whole, *tick);
	return 0;
}

int time_argument_edge(const struct session *s, const char *text,
		       const char *option, ticks *tick)
{
	const struct decimal d = read_decimal(text);
	uint64_t ns;

	if (time_argument_moment(s, text, option, &ns) != 0)
		return -1;
	*tick = ns == 0 ? session_first_tick(s) :
			  time_argument_tick(s, ns - 1) + 1;
	if (is_date(&d) && ns > 0)
		*tick = date_tick(s, d.whole - 1, *tick) + 1;
	return 0;
}
