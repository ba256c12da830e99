/* agreement.h - how far two rankings of the same functions agree. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

enum { AGREEMENT_TOP = 10, AGREEMENT_RANKED = 30 };

/* misplaced: the part of all time, 0 to 1, that would have to be given to other
 * functions to turn one into the other. shared: how many of the first
 * AGREEMENT_TOP of one are among those of the other. tau: Kendall's tau-b of
 * the first AGREEMENT_RANKED of the first one, -1 to 1; 0 with fewer than
 * two. */
struct agreement { double misplaced, tau; size_t shared, top, ranked; };

/* Two figures of each of n functions, >= 0 and in any unit: only their shares
 * of the sum count. A function with 0 is not among the first. */
struct agreement agreement_of(const double *a, const double *b, size_t n);
