/* test_budget.c - the rule that keeps recording within a budget, in programs
 * whose calls and costs are known, and whose shares are seen through noise.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/budget/budget_rule.h"

#include <stdlib.h>

enum { MOST = 64 };

/* A program: calls in a second of its own time, and what they cost, which the
 * rule does not know. */
static struct budget_function f[MOST];
static double rate[MOST];
static uint32_t n;
static const double cost[2] = { 30e-9, 14e-9 };
static double cost_of(const struct budget_function *of)
{
	return of->is_vm && of->verdict == VERDICT_COUNT ? 0 :
	       cost[of->verdict];
}
static unsigned samples, in; /* since a verdict changed last */

static void begin(void)
{
	n = samples = in = 0;
	srand(11);
}

static uint32_t add(double calls, double ns)
{
	f[n] = (struct budget_function){ .ns = ns };
	rate[n] = calls;
	return n++;
}

static double share_now(void)
{
	double over = 0;

	for (uint32_t i = 0; i < n; i++)
		over += rate[i] * cost_of(&f[i]);
	return over / (1 + over);
}

/* As the samples would show it, of which there are 350 a second. */
static struct budget_sight see(double limit, double now)
{
	const double share = share_now();
	unsigned root = 1;

	if (samples > 8000) {
		samples /= 2;
		in /= 2;
	}
	samples += 350;
	for (unsigned i = 0; i < 350; i++)
		in += rand() < share * RAND_MAX;
	while (root * root < in + 1)
		root++;
	for (uint32_t i = 0; i < n; i++)
		f[i].rate = f[i].is_vm && f[i].verdict == VERDICT_COUNT ? 0 :
			    rate[i] * (1 - share);
	return (struct budget_sight){
		.limit = limit, .share = (double)in / samples,
		.error = (double)root / samples, .now = now,
	};
}

/* Returns how many verdicts changed. */
static uint32_t run(double limit, double from, double to)
{
	uint32_t changed = 0;

	for (double now = from; now < to; now++) {
		const struct budget_sight s = see(limit, now);

		const uint32_t now_changed = budget_decide(&s, f, n);

		changed += now_changed;
		if (now_changed > 0)
			samples = in = 0;
	}
	return changed;
}

void test_budget_counts_hot_tiny_functions_and_then_rests(void)
{
	uint32_t tiny, hot, medium, far;

	begin();
	tiny = add(2e6, 12);
	hot = add(300e3, 40);
	medium = add(20e3, 900);
	far = add(50e3, 15000);
	for (int i = 0; i < 20; i++)
		add(1000, 500);
	run(0.05, 0, 5);
	CHECK(share_now() < 0.06);
	CHECK(f[tiny].verdict == VERDICT_COUNT);
	CHECK(f[hot].verdict == VERDICT_COUNT);
	CHECK(f[far].verdict == VERDICT_RECORD);
	for (uint32_t i = far + 1; i < n; i++)
		CHECK(f[i].verdict == VERDICT_RECORD);
	CHECK(f[tiny].demotions == 1 && f[medium].demotions <= 1);
}

/* What does not disturb is left alone. */
void test_budget_that_is_kept_changes_nothing(void)
{
	begin();
	add(100e3, 12);
	add(500e3, 300);
	CHECK(share_now() < 0.04);
	CHECK_EQ(run(0.05, 0, 600), 0);
}

void test_budget_promotes_what_has_grown_rare(void)
{
	begin();
	const uint32_t once = add(2e6, 12), still = add(1.5e6, 12);

	run(0.05, 0, 10);
	CHECK(f[once].verdict == VERDICT_COUNT);
	CHECK(f[still].verdict == VERDICT_COUNT);
	rate[once] = 200;
	run(0.05, 10, 200);
	CHECK(f[once].verdict == VERDICT_RECORD);
	CHECK(f[still].verdict == VERDICT_COUNT);
}

/* A budget between what a function costs recorded and not: it may be tried
 * again, ever more seldom. */
void test_budget_does_not_swing(void)
{
	begin();
	for (int i = 0; i < 8; i++)
		add(450e3 + i, 12 + i);
	CHECK(share_now() > 0.05);
	run(0.05, 0, 20);
	CHECK(share_now() < 0.06);
	CHECK(run(0.05, 20, 2000) < 60);
	/* Functions that are hot every other minute. */
	for (int i = 0; i < 8; i++)
		f[i].demotions = 0;
	uint32_t changed = 0;

	for (int k = 0; k < 60; k++) {
		for (int i = 0; i < 8; i++)
			rate[i] = k % 2 ? 10e6 : 10;
		changed += run(0.05, 2000 + 60 * k, 2060 + 60 * k);
	}
	CHECK(changed < 8 * 60);
}

/* Where counting is too much, too, all that is short is counted, once. */
void test_budget_that_cannot_be_kept_counts_what_it_can(void)
{
	begin();
	const uint32_t tiny = add(20e6, 12), far = add(50e3, 15000);

	CHECK_EQ(run(0.05, 0, 600), 1);
	CHECK(f[tiny].verdict == VERDICT_COUNT);
	CHECK(f[far].verdict == VERDICT_RECORD);
	CHECK(share_now() > 0.05);
}

/* Even where nothing helps, nothing is counted in vain. */
void test_budget_counts_nothing_that_does_not_help(void)
{
	begin();
	const uint32_t rare = add(100, 12);
	struct budget_sight s = see(0.05, 0);

	s.share = 0.4;
	s.error = 0.02;
	s.other = 1e6;
	CHECK_EQ(budget_decide(&s, f, n), 0);
	CHECK(f[rare].verdict == VERDICT_RECORD);
}

/* A Lua state that calls a lot is sampled but for trials, ever more seldom, as
 * nobody knows what it would cost. One that calls little stays as it is. */
void test_budget_samples_a_lua_state_and_tries_again(void)
{
	uint32_t dense, sparse, changed;

	begin();
	dense = add(2e7, 50);
	sparse = add(1e4, 1e5);
	f[dense].is_vm = f[sparse].is_vm = true;
	changed = run(0.05, 0, 1000);
	CHECK_EQ(f[dense].verdict, VERDICT_COUNT);
	CHECK_EQ(f[sparse].verdict, VERDICT_RECORD);
	CHECK(changed > 2 && changed < 30);
	rate[dense] = 1e4;
	run(0.05, 1000, 2000);
	CHECK_EQ(f[dense].verdict, VERDICT_RECORD);
}
