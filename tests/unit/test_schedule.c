/* test_schedule.c - which windows a recording with a duty has.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/schedule.h"

enum { PERIODS = 60000, LENGTH = 600, ON = 100, OF = 6, PARTS = 10 };

void test_schedule_alone_has_each_window(void)
{
	const struct options o = { .duty_on = ON, .duty_period = LENGTH };
	struct schedule s = { 0 };

	schedule_choose(&s, &o, 5 * LENGTH, 77);
	CHECK_EQ(s.on, 5 * LENGTH);
	CHECK_EQ(s.off, 5 * LENGTH + ON);
	CHECK_EQ(s.next_period, 6 * LENGTH);
	CHECK(!schedule_begins_off(&o));
}

void test_schedule_of_replicas_shares_the_period(void)
{
	const struct options o = { .duty_on = ON, .duty_period = LENGTH,
				   .duty_of = OF };
	struct schedule s = { 0 };
	uint64_t random = 88172645463325252u;
	int used = 0, part[PARTS] = { 0 };

	CHECK(schedule_begins_off(&o));
	for (uint64_t i = 0; i < PERIODS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		schedule_choose(&s, &o, i * LENGTH, random);
		if (s.on >= s.next_period)
			continue;
		used++;
		REQUIRE(s.on >= i * LENGTH && s.off == s.on + ON);
		REQUIRE(s.off <= s.next_period);
		part[(s.on - i * LENGTH) * PARTS / (LENGTH - ON + 1)]++;
	}
	/* Four standard errors of 10,000 and of 1,000. */
	CHECK(used > 10000 - 4 * 92 && used < 10000 + 4 * 92);
	for (int i = 0; i < PARTS; i++)
		CHECK(part[i] > 1000 - 4 * 32 && part[i] < 1000 + 4 * 32);
}

void test_times_of_options(void)
{
	uint64_t ns = 1;

	CHECK(amount_time("30s", &ns) && ns == 30000000000u);
	CHECK(amount_time("1.5ms", &ns) && ns == 1500000);
	CHECK(amount_time("5min", &ns) && ns == 300000000000u);
	CHECK(amount_time("2h", &ns) && ns == 7200000000000u);
	CHECK(!amount_time("5", &ns) && !amount_time("s", &ns));
	CHECK(!amount_time("-5s", &ns) && !amount_time("0s", &ns));
	CHECK(!amount_time("1e9h", &ns) && !amount_time("nans", &ns));
	CHECK_EQ(ns, 7200000000000u);
}
