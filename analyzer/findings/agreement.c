/* agreement.c - compares two rankings.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/agreement.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <math.h>
#include <stdlib.h>

struct ranked { double value; size_t function; };

ORDER_BY(by_value, struct ranked, DOWN(value) ?: UP(function))

/* The functions, the largest first; *count: those that are not 0. */
static struct ranked *rank(const double *of, size_t n, size_t *count)
{
	struct ranked *const r = mem_alloc((n + 1) * sizeof(*r));

	*count = 0;
	for (size_t i = 0; i < n; i++)
		if (of[i] > 0)
			r[(*count)++] = (struct ranked){ of[i], i };
	qsort(r, *count, sizeof(*r), by_value);
	return r;
}

static double misplaced(const double *a, const double *b, size_t n)
{
	double all_a = 0, all_b = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		all_a += a[i];
		all_b += b[i];
	}
	if (all_a <= 0 || all_b <= 0)
		return all_a <= 0 && all_b <= 0 ? 0 : 1;
	for (size_t i = 0; i < n; i++)
		sum += fabs(a[i] / all_a - b[i] / all_b);
	return sum / 2;
}

static size_t shared(const struct ranked *a, size_t na, const struct ranked *b,
		     size_t nb)
{
	size_t n = 0;

	for (size_t i = 0; i < na; i++)
		for (size_t k = 0; k < nb; k++)
			n += a[i].function == b[k].function;
	return n;
}

static int sign(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* Of the first n of one: pairs that both rank alike, less those that they rank
 * the other way round; ties count half on either side. */
static double tau(const struct ranked *first, size_t n, const double *b)
{
	double same = 0, pairs_a = 0, pairs_b = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++) {
			const int x = sign(first[i].value - first[k].value);
			const int y = sign(b[first[i].function] -
					   b[first[k].function]);

			same += x * y;
			pairs_a += x != 0;
			pairs_b += y != 0;
		}
	return pairs_a > 0 && pairs_b > 0 ? same / sqrt(pairs_a * pairs_b) : 0;
}

struct agreement agreement_of(const double *a, const double *b, size_t n)
{
	size_t na, nb;
	struct ranked *const first = rank(a, n, &na);
	struct ranked *const second = rank(b, n, &nb);
	struct agreement g = { .misplaced = misplaced(a, b, n),
			       .top = MIN(na, AGREEMENT_TOP),
			       .ranked = MIN(na, AGREEMENT_RANKED) };

	g.shared = shared(first, g.top, second, MIN(nb, g.top));
	g.tau = tau(first, g.ranked, b);
	mem_free_all(first, second);
	return g;
}
