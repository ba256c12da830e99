/* budget_rule.c - costs are in units: what a recorded call costs. What a unit
 * is in time follows from the share and the calls that were seen.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget_rule.h"

#include <stdlib.h>

static const double counted_price = 0.5;
static const double least_unit = 20e-9; /* s: no call is cheaper */
static const double demote_to = 0.7, promote_to = 0.6;
static const double sure = 2;      /* standard errors */
static const double long_ns = 10000;    /* such calls are worth their cost */
static const double short_ns = 20;      /* shorter times are the probe's */
static const double small = 500;        /* such a part is no gain; a VM that */
static const double small_vm = 8;       /* calls so much less is seen again */
enum { HOLD_S = 2, HOLD_DOUBLED = 7 };

static double least_price(const struct budget_function *f)
{
	return f->is_vm ? 0 : counted_price;
}

double budget_price(const struct budget_function *f)
{
	return f->verdict == VERDICT_COUNT ? least_price(f) : 1;
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
		units += f[i].rate * budget_price(&f[i]);
	unit = units > 0 ? over(s->share) / units : 0;
	return unit > least_unit ? unit : least_unit;
}

/* What counting the function spares, or costs less than recording it. */
static double spared(const struct budget_function *f, double unit)
{
	return f->rate * (1 - least_price(f)) * unit;
}

static void demote_one(const struct budget_sight *s, struct budget_function *f)
{
	const uint32_t doubled = f->demotions < HOLD_DOUBLED ? f->demotions :
				 HOLD_DOUBLED;

	f->held = s->now + (double)(HOLD_S << doubled);
	f->demotions++;
	f->verdict = VERDICT_COUNT;
}

static uint32_t demote(const struct budget_sight *s, struct budget_function **f,
		       uint32_t n, double unit)
{
	double cost = over(s->share);
	const double aim = demote_to * over(s->limit);
	double most = 0; /* that sampling a VM spares */
	uint32_t changed = 0;

	qsort(f, n, sizeof(*f), by_score);
	for (uint32_t i = 0; i < n && cost > aim; i++) {
		const double gain = spared(f[i], unit);

		if (f[i]->verdict != VERDICT_RECORD || f[i]->ns >= long_ns ||
		    gain < aim / small ||
		    (f[i]->is_vm && gain < most / small_vm))
			continue;
		if (f[i]->is_vm && gain > most)
			most = gain;
		demote_one(s, f[i]);
		cost -= gain;
		changed++;
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
		const double more = spared(f[i], unit);

		if (f[i]->verdict != VERDICT_COUNT || f[i]->held > s->now ||
		    cost + more > aim)
			continue;
		cost += more;
		f[i]->verdict = VERDICT_RECORD;
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
