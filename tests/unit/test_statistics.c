/* test_statistics.c - figures over sessions, against ones worked out elsewhere.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/statistics.h"
#include "tests/test.h"

#include <math.h>

static struct statistics of(const uint64_t *values, size_t n)
{
	struct statistics s = { .sessions = 0 };

	for (size_t i = 0; i < n; i++)
		statistics_add(&s, values[i]);
	return s;
}

#define OF(...)                                                                \
	of((const uint64_t[]){ __VA_ARGS__ },                                  \
	   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static int near(double a, double b)
{
	return fabs(a - b) <= fabs(b) * 1e-9;
}

void test_statistics_adds_up_the_issue_s_sessions(void)
{
	const struct statistics f1 = OF(7000, 7300, 7200);

	CHECK_EQ(f1.sum, 21500);
	CHECK_EQ(f1.min, 7000);
	CHECK_EQ(f1.max, 7300);
	CHECK(fabs(statistics_mean(&f1, 3) - 7166.7) < 0.05);
	CHECK(fabs(statistics_deviation(&f1, 3) - 152.75) < 0.01);
	/* A fourth session in which it did not run. */
	CHECK(fabs(statistics_mean(&f1, 4) - 5375) < 0.05);
}

void test_statistics_joins_in_any_order(void)
{
	const struct statistics a = OF(5, UINT64_MAX / 3, 0), b = OF(7);
	const struct statistics none = OF(0);
	struct statistics ab = a, ba = b, empty = { .sessions = 0 };

	statistics_join(&ab, &b);
	statistics_join(&ba, &a);
	CHECK_MEM(&ab, &ba, sizeof(ab));
	CHECK_EQ(ab.min, 0);
	CHECK_EQ(ab.sessions, 4);
	statistics_join(&ab, &empty);
	CHECK_MEM(&ab, &ba, sizeof(ab));
	CHECK_EQ(none.sessions, 1);
	/* (2^64 / 3)^2 does not fit 64 bits. */
	CHECK_EQ(a.squares_high, UINT64_MAX / 9);
}

/* Chances by numerical integration of Student's density. */
void test_statistics_welch_gives_known_chances(void)
{
	const struct statistics a = OF(10, 12, 11, 13), b = OF(14, 15, 13, 18);
	const struct statistics c = OF(100, 101, 99, 100, 100);
	const struct statistics d = OF(120, 119, 122, 118, 121);
	const struct statistics e = OF(5, 9), f = OF(6, 11), one = OF(7);
	const struct statistics same = OF(3, 3, 3), more = OF(4, 4);

	CHECK(near(statistics_welch(&a, 4, &b, 4), 0.039695890715229165));
	CHECK(near(statistics_welch(&b, 4, &a, 4), 0.039695890715229165));
	CHECK(fabs(statistics_welch(&c, 5, &d, 5) - 5.50395e-7) < 1e-10);
	CHECK(near(statistics_welch(&e, 2, &f, 2), 0.687459079737851));
	CHECK(statistics_welch(&a, 4, &one, 1) < 0);
	CHECK(statistics_welch(&same, 3, &more, 2) <= 0);
	CHECK(near(statistics_welch(&same, 3, &same, 3), 1));
}

void test_statistics_scales_without_overflow(void)
{
	CHECK_EQ(statistics_scale(10, 1000, 4), 2500);
	CHECK_EQ(statistics_scale(2, 1, 4), 1);
	CHECK_EQ(statistics_scale(1, 1, 3), 0);
	CHECK_EQ(statistics_scale(5, 5, 0), 0);
	CHECK(statistics_scale(UINT64_MAX, 1000, 999) == UINT64_MAX);
	CHECK(statistics_scale(UINT64_MAX, 1000, 1000) == UINT64_MAX);
}
