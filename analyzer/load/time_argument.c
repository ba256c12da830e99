/* time_argument.c - moments and spans: decimal numbers with units, without a rounding
 * that would miss the tick that was meant.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/time_argument.h"

#include "analyzer/base/err.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* A plain number from here on is a date: 11 days after 1970, or 31,000 years
 * of recording. */
#define FIRST_DATE UINT64_C(1000000000000000)
/* No recording is longer (31 years); sums stay far from 64 bits. */
#define LONGEST (NS_PER_S * NS_PER_S)

static const struct { const char *name; uint64_t ns; } units[] = {
	{ "", NS_PER_S }, { "s", NS_PER_S }, { "ms", 1000000 },
	{ "us", 1000 }, { "ns", 1 },
};

static int refuse(const char *text, const char *option)
{
	return err_add("--%s wants a time such as 1.5s (" TIME_ARGUMENT_UNITS "), not "
		       "\"%s\"", option, text);
}

/* Digits before and behind the point; what follows them is returned, NULL if
 * there are none or too many. */
static const char *read_digits(const char *text, uint64_t *whole,
			       uint64_t *part, uint64_t *scale)
{
	const char *at = text;

	*whole = *part = 0;
	*scale = 1;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (*whole > UINT64_MAX / 10 - 1)
			return NULL;
		*whole = *whole * 10 + (uint64_t)(*at - '0');
	}
	if (at == text)
		return NULL;
	if (*at != '.')
		return at;
	/* More than nine places are less than a nanosecond. */
	for (at++; *at >= '0' && *at <= '9'; at++)
		if (*scale < NS_PER_S) {
			*part = *part * 10 + (uint64_t)(*at - '0');
			*scale *= 10;
		}
	return at;
}

int time_argument_span(const char *text, const char *option, uint64_t *ns)
{
	uint64_t whole, part, scale;
	const char *const unit = read_digits(text, &whole, &part, &scale);

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		if (whole > LONGEST / units[i].ns)
			break;
		*ns = whole * units[i].ns + part * units[i].ns / scale;
		return 0;
	}
	return refuse(text, option);
}

int time_argument_moment(const struct session *s, const char *text, const char *option,
		uint64_t *ns)
{
	const uint64_t start = session_real(s, session_first_tick(s));
	uint64_t whole, part, scale;
	const char *const unit = read_digits(text, &whole, &part, &scale);

	if (!unit)
		return refuse(text, option);
	if (unit[0] != '\0' || whole < FIRST_DATE)
		return time_argument_span(text, option, ns);
	*ns = whole > start ? whole - start : 0;
	return 0;
}

ticks time_argument_tick(const struct session *s, uint64_t ns)
{
	const ticks first = session_first_tick(s);
	const unsigned __int128 wide = (unsigned __int128)ns * s->tick_hz /
				       NS_PER_S;
	ticks t = wide > UINT64_MAX / 4 ? UINT64_MAX / 4 : (ticks)wide;

	while (t > 0 && session_ns(s, t) > ns)
		t--;
	while (t < UINT64_MAX / 4 && session_ns(s, t + 1) <= ns)
		t++;
	return first + t;
}

/* Dates are rounded from another tick than spans since the start. */
static ticks date_tick(const struct session *s, uint64_t date, ticks about)
{
	const ticks first = session_first_tick(s);
	ticks t = about;

	while (t > first && session_real(s, t) > date)
		t--;
	while (t < UINT64_MAX / 4 && session_real(s, t + 1) <= date)
		t++;
	return t;
}

int time_argument_moment_tick(const struct session *s, const char *text,
		     const char *option, uint64_t *ns, ticks *tick)
{
	const uint64_t start = session_real(s, session_first_tick(s));
	uint64_t whole, part, scale;
	const char *const unit = read_digits(text, &whole, &part, &scale);

	if (time_argument_moment(s, text, option, ns) != 0)
		return -1;
	*tick = time_argument_tick(s, *ns);
	if (unit && unit[0] == '\0' && whole >= FIRST_DATE &&
	    whole > start)
		*tick = date_tick(s, whole, *tick);
	return 0;
}
