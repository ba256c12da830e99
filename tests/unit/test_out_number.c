/* test_out_number.c - numbers as people read them. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_number.h"
#include "tests/test.h"

void test_out_number_groups_digits(void)
{
	char to[OUT_NUMBER];

	CHECK_STR(out_number_count(to, 0), "0");
	CHECK_STR(out_number_count(to, 999), "999");
	CHECK_STR(out_number_count(to, 1000), "1,000");
	CHECK_STR(out_number_count(to, 12345678), "12,345,678");
	CHECK_STR(out_number_count(to, UINT64_MAX),
		  "18,446,744,073,709,551,615");
}

void test_out_number_knows_one(void)
{
	char to[OUT_NUMBER];

	CHECK_STR(out_number_many(to, 1, "calls"), "1 call");
	CHECK_STR(out_number_many(to, 0, "calls"), "0 calls");
	CHECK_STR(out_number_many(to, 2000, "processes"), "2,000 processes");
	CHECK_STR(out_number_many(to, 1, "processes"), "1 process");
	CHECK_STR(out_number_many(to, 1, "switches"), "1 switch");
	CHECK_STR(out_number_many(to, 1, "Lua states"), "1 Lua state");
	CHECK_STR(out_number_many(to, 1, "bodies"), "1 body");
	CHECK_STR(out_number_many(to, 2, "bodies"), "2 bodies");
	CHECK_STR(out_number_many(to, 1, "branches"), "1 branch");
}

void test_out_number_shows_four_figures_of_time(void)
{
	char to[OUT_NUMBER];

	CHECK_STR(out_number_time(to, 0), "0");
	CHECK_STR(out_number_time(to, 20.14), "20.1 ns");
	CHECK_STR(out_number_time(to, 999.94), "999.9 ns");
	CHECK_STR(out_number_time(to, 999.96), "1.000 us");
	CHECK_STR(out_number_time(to, 12345), "12.35 us");
	CHECK_STR(out_number_time(to, 123456789), "123.5 ms");
	CHECK_STR(out_number_time(to, 999960000), "1.000 s");
	CHECK_STR(out_number_time(to, 9.9996e9), "10.00 s");
	CHECK_STR(out_number_time(to, 123456e9), "123456.0 s");
}

void test_out_number_shows_shares_bytes_and_dates(void)
{
	char to[OUT_NUMBER];

	CHECK_STR(out_number_share(to, 1, 3), "33.3%");
	CHECK_STR(out_number_share(to, 0, 0), "0.0%");
	CHECK_STR(out_number_bytes(to, 999), "999 bytes");
	CHECK_STR(out_number_bytes(to, 1100000000), "1.1 GB");
	CHECK_STR(out_number_date(to, UINT64_C(1000000000) * 1000000000),
		  "2001-09-09 01:46:40 UTC");
	out_number_date(to, UINT64_MAX); /* whatever: it must not overflow */
}
