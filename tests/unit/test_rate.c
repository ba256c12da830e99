/* test_rate.c - ticks a second, and clocks that step.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/rate.h"

enum { WIDTH = 100 };

/* A reading of a 2 GHz clock at that many ms after the first. */
static struct rate_pair at(uint64_t ms)
{
	const struct rate_pair p = { 5000000 + ms * 2000000,
		70000000 + ms * 1000000, 90000000 + ms * 1000000, 1, WIDTH };

	return p;
}

static struct rate two_ghz(void)
{
	struct rate r = { .tsc = true, .first = at(0), .last = at(0),
			  .hz = 1000000000, .error_ppb = 1000000000 };
	const struct rate_pair later = at(1000);

	rate_add(&r, &later);
	return r;
}

void test_rate_is_found(void)
{
	struct rate r = two_ghz();
	struct rate_pair p = at(100000);

	CHECK_EQ(r.hz, 2000000000);
	/* Two readings of 100 ticks over 2e9. */
	CHECK_EQ(r.error_ppb, 101);
	rate_add(&r, &p);
	CHECK_EQ(r.hz, 2000000000);
	CHECK(r.error_ppb <= 2);
	CHECK_EQ(rate_ms_ticks(&r, 3), 6000000);
}

void test_rate_begins_anew_after_a_break(void)
{
	struct rate r = two_ghz();
	struct rate_pair p = at(2000);

	/* The machine slept: ticks went on, the raw clock did not. */
	p.tick += 20000000000;
	rate_add(&r, &p);
	CHECK_EQ(r.hz, 2000000000);
	p.tick += 4000000000;
	p.raw += 2000000000;
	rate_add(&r, &p);
	CHECK_EQ(r.hz, 2000000000);
}

/* A counter that stops, or one that jumps, before there is a rate. */
void test_rate_is_never_nothing(void)
{
	struct rate r = { .tsc = true, .first = at(0), .last = at(0),
			  .hz = 1000000000, .error_ppb = 1000000000 };
	struct rate_pair p = at(60000);

	p.tick = r.first.tick + 1;
	rate_add(&r, &p);
	CHECK_EQ(r.hz, 1000000000);
	p.tick += UINT64_C(1) << 60;
	p.raw += 2000000;
	rate_add(&r, &p);
	CHECK_EQ(r.hz, 1000000000);
}

void test_rate_stepped(void)
{
	const struct rate r = two_ghz();
	struct rate_pair p = at(900);

	CHECK(!rate_is_stepped(&r, p.tick, p.mono, WIDTH));
	p = at(1300);
	CHECK(!rate_is_stepped(&r, p.tick, p.mono, WIDTH));
	CHECK(rate_is_stepped(&r, p.tick, p.mono + 50000000, WIDTH));
	CHECK(rate_is_stepped(&r, p.tick, p.mono - 50000000, WIDTH));
	/* A reading that took long explains it. */
	CHECK(!rate_is_stepped(&r, p.tick, p.mono + 50000000, 200000000));
}

void test_rate_stepped_bears_any_numbers(void)
{
	const struct rate r = two_ghz();

	CHECK(rate_is_stepped(&r, 0, UINT64_MAX, 0));
	CHECK(rate_is_stepped(&r, UINT64_MAX, 0, 0));
	rate_is_stepped(&r, UINT64_MAX, UINT64_MAX, UINT64_MAX);
}

void test_rate_of_nanoseconds_never_steps(void)
{
	struct rate r;

	rate_start(&r, false);
	rate_update(&r, NULL);
	CHECK_EQ(r.hz, 1000000000);
	CHECK_EQ(r.error_ppb, 0);
	CHECK(!rate_is_stepped(&r, 1, 1000000000000, 0));
}
