/* rate.c - calibrates ticks against CLOCK_MONOTONIC_RAW over the whole run.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/rate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
	READINGS = 5,
	SLEW_PER_NS = 1000,   /* NTP slews by 500 ppm, and RAW differs */
	SLACK_NS = 2000,
};
#define NS_PER_S UINT64_C(1000000000)

typedef unsigned __int128 wide;

static uint64_t gettime(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t rate_mono(void)
{
	return gettime(CLOCK_MONOTONIC);
}

/* Does a line of /proc/cpuinfo's flags hold the word? */
static bool has_flag(const char *line, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = line; (at = strstr(at, word)) != NULL; at += n)
		if (at > line && at[-1] == ' ' &&
		    (at[n] == ' ' || at[n] == '\n' || at[n] == '\0'))
			return true;
	return false;
}

/* The kernel has found the TSC unfit when it keeps time by these. */
static bool kernel_distrusts_tsc(void)
{
	char name[32] = "";
	FILE *const f = fopen("/sys/devices/system/clocksource/clocksource0/"
			      "current_clocksource", "re");

	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	return strncmp(name, "hpet", 4) == 0 ||
	       strncmp(name, "acpi_pm", 7) == 0 ||
	       strncmp(name, "jiffies", 7) == 0;
}

bool rate_tsc_usable(void)
{
	bool usable = false;
#if defined(__x86_64__)
	char *line = NULL;
	size_t room = 0;
	FILE *const f = fopen("/proc/cpuinfo", "re");

	if (!f)
		return false;
	while (getline(&line, &room, f) > 0) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		usable = has_flag(line, "constant_tsc") &&
			 has_flag(line, "nonstop_tsc");
		break;
	}
	free(line);
	fclose(f);
#endif
	return usable && !kernel_distrusts_tsc();
}

uint64_t rate_ticks(const struct rate *c)
{
#if defined(__x86_64__)
	if (c->tsc)
		return __rdtsc();
#else
	(void)c;
#endif
	return rate_mono();
}

void rate_read(const struct rate *c, struct rate_pair *pair)
{
	pair->width = UINT64_MAX;
	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = rate_ticks(c);
		const uint64_t mono = rate_mono();
		const uint64_t raw = gettime(CLOCK_MONOTONIC_RAW);
		const uint64_t real = gettime(CLOCK_REALTIME);
		const uint64_t width = rate_ticks(c) - before;

		if (width >= pair->width)
			continue;
		*pair = (struct rate_pair){ before + width / 2, mono, raw,
					     real, width };
	}
}

void rate_start(struct rate *c, bool tsc)
{
	memset(c, 0, sizeof(*c));
	c->tsc = tsc;
	rate_read(c, &c->first);
	c->last = c->first;
	/* Until the first update: anything that is not zero. */
	c->hz = NS_PER_S;
	c->error_ppb = tsc ? NS_PER_S : 0;
}

/* Between two readings, did ticks and the raw clock advance at one pace? A
 * suspend or a migrated machine says no. */
static bool is_broken(const struct rate *c, const struct rate_pair *now)
{
	const uint64_t ticks = now->tick - c->last.tick;
	const uint64_t ns = now->raw - c->last.raw;
	const uint64_t due = (uint64_t)((wide)ns * c->hz / NS_PER_S);
	const uint64_t off = ticks > due ? ticks - due : due - ticks;

	if (now->tick < c->last.tick || now->raw < c->last.raw)
		return true;
	return c->error_ppb < 1000000 &&
	       off > now->width + c->last.width + due / SLEW_PER_NS;
}

void rate_add(struct rate *c, const struct rate_pair *now)
{
	if (!c->tsc) {
		c->last = *now;
		return;
	}
	if (is_broken(c, now)) {
		/* A new line begins; the old rate stands until then. */
		c->first = c->last = *now;
		return;
	}
	const uint64_t ns = now->raw - c->first.raw;
	const uint64_t ticks = now->tick - c->first.tick;

	c->last = *now;
	if (ns < 1000000 || ticks == 0)
		return;
	c->hz = (uint64_t)(((wide)ticks * NS_PER_S + ns / 2) / ns);
	c->error_ppb = (uint64_t)((wide)(now->width + c->first.width) *
				  NS_PER_S / ticks) + 1;
}

void rate_update(struct rate *c, struct pool *pool)
{
	struct rate_pair now;

	rate_read(c, &now);
	rate_add(c, &now);
	if (!pool)
		return;
	atomic_store_explicit(&pool->tick_hz_error, c->error_ppb,
			      memory_order_relaxed);
	atomic_store_explicit(&pool->tick_hz, c->hz, memory_order_relaxed);
}

/* Ticks as ns, without wrapping for any input. */
static uint64_t ticks_ns(const struct rate *c, uint64_t ticks)
{
	const wide ns = (wide)ticks * NS_PER_S / c->hz;

	return ns > UINT64_MAX / 4 ? UINT64_MAX / 4 : (uint64_t)ns;
}

bool rate_stepped(const struct rate *c, uint64_t tick, uint64_t mono,
		   uint64_t width)
{
	if (!c->tsc)
		return false;
	const bool later = tick >= c->last.tick;
	const uint64_t away = ticks_ns(c, later ? tick - c->last.tick :
				       c->last.tick - tick);
	const uint64_t due = later ? c->last.mono + away :
				     c->last.mono - away;
	const uint64_t off = mono > due ? mono - due : due - mono;
	const wide bound = (wide)ticks_ns(c, width) +
			   ticks_ns(c, c->last.width) + SLACK_NS +
			   away / SLEW_PER_NS +
			   (wide)away * c->error_ppb / NS_PER_S;

	return off > bound;
}

uint64_t rate_ms_ticks(const struct rate *c, uint64_t ms)
{
	return (uint64_t)((wide)c->hz * ms / 1000);
}
