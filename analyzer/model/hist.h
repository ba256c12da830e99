/* hist.h - how long calls took: for each of many nodes a histogram over the
 * logarithm, eight steps an octave, as small as what it holds. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_HIST_H
#define WEFT_ANALYZER_MODEL_HIST_H

#include <stddef.h>
#include <stdint.h>

/* Values below 16 have a step of their own; above, a step is an eighth of the
 * power of two it begins in. A value told by the middle of its step is at most
 * 1/16 of itself off: HIST_ERROR per 10,000. */
enum { HIST_STEPS = 496, HIST_ERROR = 625 };

static inline uint32_t hist_step(uint64_t value)
{
	const unsigned top = value < 8 ? 0 :
			     60 - (unsigned)__builtin_clzll(value);

	return top * 8 + (uint32_t)(value >> top);
}

/* Histograms by small number: nodes of a tree. Invariants: slot[i] is 0 where
 * nothing was counted; odd: one pair; else a block of several. */
struct hist {
	uint64_t *slot;
	size_t room;
};

struct hist *hist_new(size_t room);
void hist_free(struct hist *);
void hist_need(struct hist *, size_t room);

/* Count n values of a step. Needs i < room. */
void hist_add(struct hist *, size_t i, uint32_t step, uint64_t n);

/* One value more; short where it is as the last ones were. A pair is
 * count << 10 | step << 1 | 1. */
static inline void hist_count(struct hist *h, size_t i, uint64_t value)
{
	const uint64_t key = (uint64_t)hist_step(value) << 1 | 1;

	if (__builtin_expect((h->slot[i] & 1023) == key, 1))
		h->slot[i] += 1024;
	else
		hist_add(h, i, hist_step(value), 1);
}

/* Add the counts of i to an array of HIST_STEPS. */
void hist_counts(const struct hist *, size_t i, uint64_t *counts);
/* Add the counts of from's i to those of to's k. */
void hist_join(struct hist *to, size_t k, const struct hist *from, size_t i);

/* The least value of a step. */
uint64_t hist_least(uint32_t step);

/* The value below or at which part/1000 of all n values lie (nearest rank),
 * told by the middle of its step and held within least and most. */
uint64_t hist_quantile(const uint64_t *counts, uint64_t n, unsigned part,
		       uint64_t least, uint64_t most);

#endif
