/* test_record.c - record words say what was put into them.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/record.h"

void test_record_fields_come_back(void)
{
	const uint64_t w = rec_put(REC_ENTER, 16383, REC_GAP_MAX);

	CHECK_EQ(rec_kind(w), REC_ENTER);
	CHECK_EQ(rec_func(w), 16383);
	CHECK_EQ(rec_gap(w), REC_GAP_MAX);
	const uint64_t v = rec_put_value(REC_TIME, REC_VALUE_MAX);

	CHECK_EQ(rec_kind(v), REC_TIME);
	CHECK_EQ(rec_value(v), REC_VALUE_MAX);
}

void test_record_enter_becomes_leaf(void)
{
	const uint64_t enter = rec_put(REC_ENTER, 77, REC_LEAF_MAX);
	const uint64_t leaf = rec_enter_to_leaf(enter, REC_LEAF_MAX);

	CHECK(rec_fits_leaf(enter, REC_LEAF_MAX));
	CHECK_EQ(rec_kind(leaf), REC_LEAF);
	CHECK_EQ(rec_func(leaf), 77);
	CHECK_EQ(rec_leaf_gap(leaf), REC_LEAF_MAX);
	CHECK_EQ(rec_leaf_duration(leaf), REC_LEAF_MAX);
}

void test_record_long_calls_are_no_leaf(void)
{
	const uint64_t far = rec_put(REC_ENTER, 1, REC_LEAF_MAX + 1);

	CHECK(!rec_fits_leaf(far, 0));
	CHECK(!rec_fits_leaf(rec_put(REC_ENTER, 1, 0), REC_LEAF_MAX + 1));
	CHECK(!rec_fits_leaf(rec_put(REC_LEAVE, 1, 0), 1));
}
