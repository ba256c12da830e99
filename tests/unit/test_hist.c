/* test_hist.c - histograms: every value is told to within the error that is
 * stated, and nothing is counted twice or lost.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

/* What a histogram of one value says of it, however wide it may be. */
static uint64_t told(uint64_t value)
{
	uint64_t counts[HIST_STEPS] = { 0 };
	struct hist *const h = hist_new(1);

	hist_count(h, 0, value);
	hist_counts(h, 0, counts);
	hist_free(h);
	return hist_quantile(counts, 1, 500, 0, UINT64_MAX);
}

static void check_error(uint64_t value)
{
	const uint64_t t = told(value);
	const uint64_t off = t > value ? t - value : value - t;

	CHECK((unsigned __int128)off * 10000 <=
	      (unsigned __int128)value * HIST_ERROR);
}

void test_hist_error_is_as_stated(void)
{
	uint32_t step = 0;

	for (uint64_t v = 0; v < 100000; v++) {
		check_error(v);
		CHECK(hist_step(v) == step || hist_step(v) == step + 1);
		step = hist_step(v);
	}
	for (unsigned bit = 17; bit < 64; bit++)
		for (uint64_t d = 0; d < 1000; d++) {
			check_error((UINT64_C(1) << bit) + d);
			check_error((UINT64_C(1) << bit) - d);
			check_error((UINT64_C(1) << bit) | d << (bit - 10));
		}
	CHECK_EQ(hist_step(UINT64_MAX), HIST_STEPS - 1);
}

static int rising(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank, in a sorted list. */
static uint64_t exact(const uint64_t *sorted, size_t n, unsigned part)
{
	size_t rank = 1;

	while (rank * 1000 < n * part)
		rank++;
	return sorted[rank - 1];
}

void test_hist_quantiles_of_random_values(void)
{
	static uint64_t v[5000];

	srand(7);
	for (int round = 0; round < 40; round++) {
		const size_t n = 1 + (size_t)rand() % 5000;
		struct hist *const h = hist_new(3);
		uint64_t counts[HIST_STEPS] = { 0 };

		for (size_t i = 0; i < n; i++) {
			v[i] = (uint64_t)rand() >> (rand() % 31);
			hist_count(h, i % 3, v[i]);
		}
		for (size_t i = 0; i < 3; i++)
			hist_counts(h, i, counts);
		qsort(v, n, sizeof(*v), rising);
		for (unsigned part = 0; part <= 1000; part += 50) {
			const uint64_t want = exact(v, n, part);
			const uint64_t have = hist_quantile(counts, n, part,
							    v[0], v[n - 1]);

			CHECK(have >= v[0] && have <= v[n - 1]);
			CHECK((have > want ? have - want : want - have) *
			      10000 <= want * HIST_ERROR);
		}
		hist_free(h);
	}
}

void test_hist_joins_to_the_same(void)
{
	struct hist *const a = hist_new(2), *const b = hist_new(1);
	uint64_t of_a[HIST_STEPS] = { 0 }, of_b[HIST_STEPS] = { 0 };

	for (uint64_t i = 0; i < 3000; i++) {
		hist_count(a, i % 2, i * i);
		hist_count(b, 0, i * i);
	}
	hist_join(a, 0, a, 1);
	hist_counts(a, 0, of_a);
	hist_counts(b, 0, of_b);
	CHECK_EQ(memcmp(of_a, of_b, sizeof(of_a)), 0);
	hist_free(a);
	hist_free(b);
}

void test_hist_grows(void)
{
	struct hist *h = hist_new(1);
	uint64_t counts[HIST_STEPS] = { 0 };

	hist_add(h, 0, 5, 7);
	hist_need(h, 1000);
	hist_add(h, 999, 5, 1);
	hist_counts(h, 0, counts);
	CHECK_EQ(counts[5], 7);
	hist_counts(h, 500, counts);
	hist_counts(h, 999, counts);
	CHECK_EQ(counts[5], 8);
	hist_free(h);
}
