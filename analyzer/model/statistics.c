/* statistics.c - sums and sums of squares, and what follows from them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/statistics.h"

#include <math.h>

static void add_squares(struct statistics *s, unsigned __int128 more)
{
	const unsigned __int128 sum = more + (s->squares_low |
		(unsigned __int128)s->squares_high << 64);

	s->squares_low = (uint64_t)sum;
	s->squares_high = (uint64_t)(sum >> 64);
}

void statistics_add(struct statistics *s, uint64_t value)
{
	if (s->sessions == 0 || value < s->min)
		s->min = value;
	if (s->sessions == 0 || value > s->max)
		s->max = value;
	s->sessions++;
	s->sum += value;
	add_squares(s, (unsigned __int128)value * value);
}

void statistics_join(struct statistics *s, const struct statistics *more)
{
	if (more->sessions == 0)
		return;
	if (s->sessions == 0 || more->min < s->min)
		s->min = more->min;
	if (s->sessions == 0 || more->max > s->max)
		s->max = more->max;
	s->sessions += more->sessions;
	s->sum += more->sum;
	add_squares(s, more->squares_low |
		    (unsigned __int128)more->squares_high << 64);
}

double statistics_mean(const struct statistics *s, uint64_t sessions)
{
	return sessions == 0 ? 0 : (double)s->sum / (double)sessions;
}

/* n * squares - sum^2 is a whole number: it is taken before anything is
 * rounded, as far as 128 bits go. */
static double variance(const struct statistics *s, uint64_t sessions)
{
	const unsigned __int128 squares = s->squares_low |
		(unsigned __int128)s->squares_high << 64;
	const unsigned __int128 square = (unsigned __int128)s->sum * s->sum;
	const double n = (double)sessions;
	unsigned __int128 scaled;
	double apart;

	if (sessions < 2)
		return 0;
	if (__builtin_mul_overflow(squares, (unsigned __int128)sessions,
				   &scaled))
		apart = (double)squares * n - (double)square;
	else
		apart = scaled > square ? (double)(scaled - square) : 0;
	return apart > 0 ? apart / (n * (n - 1)) : 0;
}

double statistics_deviation(const struct statistics *s, uint64_t sessions)
{
	return sqrt(variance(s, sessions));
}

uint64_t statistics_scale(uint64_t value, uint64_t factor, uint64_t divisor)
{
	unsigned __int128 scaled;

	if (divisor == 0)
		return 0;
	scaled = ((unsigned __int128)value * factor + divisor / 2) / divisor;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= 300; m++) {
		const double even = m * (b - m) * x /
				    ((a + 2 * m - 1) * (a + 2 * m));
		const double odd = -(a + m) * (a + b + m) * x /
				   ((a + 2 * m) * (a + 2 * m + 1));
		const double before = h;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		if (fabs(h - before) < 1e-14 * fabs(h))
			break;
	}
	return h;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) +
		    b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_welch(const struct statistics *a, uint64_t na,
			const struct statistics *b,
		    uint64_t nb)
{
	const double apart = statistics_mean(b, nb) - statistics_mean(a, na);
	double va, vb, freedom;

	if (na < 2 || nb < 2)
		return -1;
	va = variance(a, na) / (double)na;
	vb = variance(b, nb) / (double)nb;
	if (va + vb <= 0)
		return apart == 0 ? 1 : 0;
	freedom = (va + vb) * (va + vb) /
		  (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
	return beta(freedom / 2, 0.5,
		    freedom / (freedom + apart * apart / (va + vb)));
}
