/* budget_rule.c - costs are in units: what a recorded call costs. What a unit
 * is in time follows from the share and the calls that were seen.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget_rule.h"

#include <stdlib.h>

/* Units that a call costs. */
static const double price[] = {
	[VERDICT_RECORD] = 1, [VERDICT_COUNT] = 0.5, [VERDICT_SKIP] = 0.1,
};

static const double least_unit = 20e-9; /* s: no call is cheaper */
static const double demote_to = 0.7, promote_to = 0.6;
static const double sure = 2;      /* standard errors */
static const double long_ns = 10000;    /* such calls are worth their cost */
static const double short_ns = 20;      /* shorter times are the probe's */
static const double small = 500;        /* such a part is no gain */
static const double count_worth = 4;    /* to know how many calls there are,
					 * in worths of their times */
enum { HOLD_S = 2, HOLD_DOUBLED = 7 };

double budget_price(enum verdict verdict)
{
	return price[verdict];
}

/* A share of the whole as a part of what is not it: what changes if a cost
 * changes. */
static double over(double share)
{
	share = share < 0 ? 0 : share > 0.99 ? 0.99 : share;
	return share / (1 - share);
}

/* How much it costs for what it tells. */
static double score(const struct budget_function *f)
{
	return f->rate / (f->ns + short_ns);
}

/* For qsort of pointers. */
static int by_score(const void *a, const void *b)
{
	const double x = score(*(struct budget_function *const *)a);
	const double y = score(*(struct budget_function *const *)b);

	return x > y ? -1 : x < y;
}

static int by_rate(const void *a, const void *b)
{
	const double x = (*(struct budget_function *const *)a)->rate;
	const double y = (*(struct budget_function *const *)b)->rate;

	return x < y ? -1 : x > y;
}

/* What a unit costs now, in s of CPU for each s of the program's own. */
static double unit_of(const struct budget_sight *s,
		      const struct budget_function *f, uint32_t n)
{
	double units = s->other, unit;

	for (uint32_t i = 0; i < n; i++)
		units += f[i].rate * price[f[i].verdict];
	unit = units > 0 ? over(s->share) / units : 0;
	return unit > least_unit ? unit : least_unit;
}

static double spared(const struct budget_function *f, enum verdict to,
		     double unit)
{
	return f->rate * (price[f->verdict] - price[to]) * unit;
}

static void demote_one(const struct budget_sight *s, struct budget_function *f,
		       enum verdict to)
{
	const uint32_t doubled = f->demotions < HOLD_DOUBLED ? f->demotions :
				 HOLD_DOUBLED;

	f->held = s->now + (double)(HOLD_S << doubled);
	f->demotions++;
	f->verdict = to;
}

/* What the step down to that verdict saves for what it takes away; 0: the
 * function cannot make it. */
static double step_score(const struct budget_sight *s,
			 const struct budget_function *f, enum verdict to)
{
	const enum verdict from = to == VERDICT_COUNT || !s->counts ?
				  VERDICT_RECORD : VERDICT_COUNT;

	if (f->verdict >= to || f->ns >= long_ns)
		return 0;
	return score(f) * (price[from] - price[to]) /
	       (from == VERDICT_COUNT ? count_worth : 1);
}

/* Go on to the first function that can make the step. */
static uint32_t next_step(const struct budget_sight *s,
			  struct budget_function *const *f, uint32_t n,
			  uint32_t i, enum verdict to)
{
	while (i < n && step_score(s, f[i], to) == 0)
		i++;
	return i;
}

/* There are two lists of steps, both by falling score: from recorded to
 * counted, and on to skipped. The best one of both comes next. */
static uint32_t demote(const struct budget_sight *s, struct budget_function **f,
		       uint32_t n, double unit)
{
	double cost = over(s->share);
	const double aim = demote_to * over(s->limit);
	uint32_t at[3] = { 0, s->counts ? 0 : n, 0 }, changed = 0;

	qsort(f, n, sizeof(*f), by_score);
	while (cost > aim) {
		enum verdict to = VERDICT_SKIP;
		double gain;

		for (int v = VERDICT_COUNT; v <= VERDICT_SKIP; v++)
			at[v] = next_step(s, f, n, at[v], (enum verdict)v);
		if (at[VERDICT_SKIP] == n)
			break;
		if (at[VERDICT_COUNT] < n &&
		    step_score(s, f[at[VERDICT_COUNT]], VERDICT_COUNT) >=
		    step_score(s, f[at[VERDICT_SKIP]], VERDICT_SKIP))
			to = VERDICT_COUNT;
		gain = spared(f[at[to]], to, unit);
		if (gain >= aim / small) {
			demote_one(s, f[at[to]], to);
			cost -= gain;
			changed++;
		}
		at[to]++;
	}
	return changed;
}

static uint32_t promote(const struct budget_sight *s,
			struct budget_function **f, uint32_t n, double unit)
{
	const double aim = promote_to * over(s->limit);
	double cost = over(s->share);
	uint32_t changed = 0;

	qsort(f, n, sizeof(*f), by_rate);
	for (uint32_t i = 0; i < n; i++) {
		enum verdict to = VERDICT_RECORD;

		if (f[i]->verdict == VERDICT_RECORD || f[i]->held > s->now)
			continue;
		if (s->counts && f[i]->verdict == VERDICT_SKIP &&
		    cost - spared(f[i], to, unit) > aim)
			to = VERDICT_COUNT;
		if (cost - spared(f[i], to, unit) > aim)
			continue;
		cost -= spared(f[i], to, unit);
		f[i]->verdict = to;
		changed++;
	}
	return changed;
}

uint32_t budget_decide(const struct budget_sight *s, struct budget_function *f,
		       uint32_t n)
{
	struct budget_function **const of = malloc((n + 1) * sizeof(*of));
	uint32_t changed = 0;

	if (!of)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		of[i] = &f[i];
	if (s->share - sure * s->error > s->limit)
		changed = demote(s, of, n, unit_of(s, f, n));
	else if (s->share + sure * s->error < s->limit / 2)
		changed = promote(s, of, n, unit_of(s, f, n));
	free(of);
	return changed;
}
