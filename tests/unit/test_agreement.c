/* test_agreement.c - how far two rankings agree, counted by hand.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/agreement.h"
#include "tests/test.h"

/* In thousandths. */
static int thousandths(double x)
{
	return (int)(x * 1000 + (x < 0 ? -0.5 : 0.5));
}

void test_agreement_of_equal_shares_is_whole(void)
{
	const double a[] = { 5, 3, 2, 0 }, b[] = { 50, 30, 20, 0 };
	const struct agreement g = agreement_of(a, b, 4);

	CHECK_EQ(thousandths(g.misplaced), 0);
	CHECK_EQ(thousandths(g.tau), 1000);
	CHECK_EQ(g.top, 3);
	CHECK_EQ(g.shared, 3);
	CHECK_EQ(g.ranked, 3);
}

void test_agreement_counts_what_is_misplaced(void)
{
	/* 40, 30, 20, 10 % and 10, 30, 20, 40 %: 30 % are elsewhere. Of six
	 * pairs, five are the other way round. */
	const double a[] = { 4, 3, 2, 1 }, b[] = { 1, 3, 2, 4 };
	const struct agreement g = agreement_of(a, b, 4);

	CHECK_EQ(thousandths(g.misplaced), 300);
	CHECK_EQ(thousandths(g.tau), -667);
	CHECK_EQ(g.shared, 4);
}

void test_agreement_with_ties_and_nothing(void)
{
	/* Two of three pairs differ in b, both alike: 2 / sqrt(3 * 2). */
	const double a[] = { 3, 2, 1 }, b[] = { 2, 1, 1 }, none[] = { 0, 0, 0 };

	CHECK_EQ(thousandths(agreement_of(a, b, 3).tau), 816);
	CHECK_EQ(thousandths(agreement_of(a, none, 3).misplaced), 1000);
	CHECK_EQ(agreement_of(a, none, 3).shared, 0);
	CHECK_EQ(thousandths(agreement_of(none, none, 3).misplaced), 0);
	CHECK_EQ(thousandths(agreement_of(a, b, 0).tau), 0);
}

void test_agreement_has_ten_on_top(void)
{
	double a[20], b[20];

	for (int i = 0; i < 20; i++) {
		a[i] = 20 - i;
		b[i] = i < 15 ? 100 + i : 1;
	}
	/* b's ten are 14 down to 5, a's 0 to 9. */
	CHECK_EQ(agreement_of(a, b, 20).shared, 5);
	CHECK_EQ(agreement_of(a, b, 20).top, 10);
	CHECK_EQ(agreement_of(a, b, 20).ranked, 20);
}
