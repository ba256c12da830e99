/* rate.c - calibrates ticks against CLOCK_MONOTONIC_RAW over the whole
 * recording.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/base/arch.h"
#include "tracer/recorder/base/proc.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum {
	READINGS = 5,
	SLEW_PER_NS = 1000,        /* NTP slews by 500 ppm at most; the raw
				    * clock differs, too */
	SLACK_NS = 2000,
	BEST_PPB = 1000000,        /* a worse rate cannot show a break */
	LEAST_HZ = 1000000,        /* no tick counter is slower, */
	LEAST_NS = 1000000,        /* a shorter line gives no rate */
};
#define NS_PER_S UINT64_C(1000000000)
#define MOST_HZ (100 * NS_PER_S) /* or faster */

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

uint64_t rate_mono_ms(void)
{
	return rate_mono() / 1000000;
}

/* The kernel uses one of these clocks if it has found the counter unfit. */
static bool kernel_distrusts_counter(void)
{
	char name[32];

	proc_line(name, sizeof(name), "/sys/devices/system/clocksource/"
		   "clocksource0/current_clocksource");
	return strncmp(name, "hpet", 4) == 0 ||
	       strncmp(name, "acpi_pm", 7) == 0 ||
	       strncmp(name, "jiffies", 7) == 0;
}

bool rate_tsc_usable(void)
{
	return arch_is_invariant() && !kernel_distrusts_counter();
}

uint64_t rate_ticks(const struct rate *r)
{
	return r->tsc ? arch_ticks() : rate_mono();
}

void rate_read(const struct rate *r, struct rate_pair *pair)
{
	pair->width = UINT64_MAX;
	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = rate_ticks(r);
		const uint64_t mono = rate_mono();
		const uint64_t raw = gettime(CLOCK_MONOTONIC_RAW);
		const uint64_t real = gettime(CLOCK_REALTIME);
		const uint64_t width = rate_ticks(r) - before;

		if (width >= pair->width)
			continue;
		*pair = (struct rate_pair){ before + width / 2, mono, raw,
					     real, width };
	}
}

void rate_start(struct rate *r, bool tsc)
{
	memset(r, 0, sizeof(*r));
	r->tsc = tsc;
	rate_read(r, &r->first);
	r->last = r->first;
	/* Any value but zero will do until the first update. */
	r->hz = NS_PER_S;
	r->error_ppb = tsc ? NS_PER_S : 0;
}

/* Whether ticks and the raw clock advanced at different rates since the last
 * reading: the machine was suspended or migrated. */
static bool is_broken(const struct rate *r, const struct rate_pair *now)
{
	const uint64_t ticks = now->tick - r->last.tick;
	const uint64_t ns = now->raw - r->last.raw;
	const uint64_t due = (uint64_t)((wide)ns * r->hz / NS_PER_S);
	const uint64_t off = ticks > due ? ticks - due : due - ticks;

	if (now->tick < r->last.tick || now->raw < r->last.raw)
		return true;
	return r->error_ppb < BEST_PPB &&
	       off > now->width + r->last.width + due / SLEW_PER_NS;
}

void rate_add(struct rate *r, const struct rate_pair *now)
{
	if (!r->tsc) {
		r->last = *now;
		return;
	}
	if (is_broken(r, now)) {
		/* Begin a new line. The old rate holds until it has one. */
		r->first = r->last = *now;
		return;
	}
	const uint64_t ns = now->raw - r->first.raw;
	const uint64_t ticks = now->tick - r->first.tick;

	r->last = *now;
	if (ns < LEAST_NS || ticks == 0)
		return;
	const wide hz = ((wide)ticks * NS_PER_S + ns / 2) / ns;

	/* Not with a counter that stops or jumps, whatever it said of itself:
	 * the old rate holds. */
	if (hz < LEAST_HZ || hz > MOST_HZ) {
		r->first = *now;
		return;
	}
	r->hz = (uint64_t)hz;
	r->error_ppb = (uint64_t)((wide)(now->width + r->first.width) *
				  NS_PER_S / ticks) + 1;
}

void rate_update(struct rate *r, struct pool *pool)
{
	struct rate_pair now;

	rate_read(r, &now);
	rate_add(r, &now);
	if (!pool)
		return;
	atomic_store_explicit(&pool->tick_hz_error, r->error_ppb,
			      memory_order_relaxed);
	atomic_store_explicit(&pool->tick_hz, r->hz, memory_order_relaxed);
}

/* Ticks as ns. Does not overflow. */
static uint64_t ticks_ns(const struct rate *r, uint64_t ticks)
{
	assert(r->hz > 0);
	const wide ns = (wide)ticks * NS_PER_S / r->hz;

	return ns > UINT64_MAX / 4 ? UINT64_MAX / 4 : (uint64_t)ns;
}

bool rate_is_stepped(const struct rate *r, uint64_t tick, uint64_t mono,
		     uint64_t width)
{
	if (!r->tsc)
		return false;
	const bool later = tick >= r->last.tick;
	const uint64_t away = ticks_ns(r, later ? tick - r->last.tick :
				       r->last.tick - tick);
	const uint64_t due = later ? r->last.mono + away :
				     r->last.mono - away;
	const uint64_t off = mono > due ? mono - due : due - mono;
	const wide bound = (wide)ticks_ns(r, width) +
			   ticks_ns(r, r->last.width) + SLACK_NS +
			   away / SLEW_PER_NS +
			   (wide)away * r->error_ppb / NS_PER_S;

	return off > bound;
}

uint64_t rate_ticks_of(const struct rate *r, uint64_t ns)
{
	const uint64_t ticks = (uint64_t)((wide)r->hz * ns / NS_PER_S);

	return ticks > 0 ? ticks : 1;
}

uint64_t rate_ms_ticks(const struct rate *r, uint64_t ms)
{
	return (uint64_t)((wide)r->hz * ms / 1000);
}
