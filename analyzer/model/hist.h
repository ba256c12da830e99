/* hist.h - how long calls took: a logarithmic histogram for each of many nodes,
 * with eight steps an octave, as small as its contents.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Each value below 16 has its own step; above, a step is an eighth of the power
 * of two it begins in. The middle of a value's step differs from the value by
 * at most 1/16: HIST_ERROR per 10,000. */
enum { HIST_STEPS = 496, HIST_ERROR = 625 };
/* Steps of an octave; octave i begins at hist_least(i * HIST_OCTAVE), and the
 * first one is [0, 8). */
enum { HIST_OCTAVE = 8, HIST_OCTAVES = HIST_STEPS / HIST_OCTAVE };

static inline uint32_t hist_step(uint64_t value)
{
	const unsigned top = value < 8 ? 0 :
			     60 - (unsigned)__builtin_clzll(value);

	return top * 8 + (uint32_t)(value >> top);
}

/* A pair is count << 10 | step << 1 | 1. */
enum { HIST_KEY_BITS = 10 };

/* A hash table of pairs; 0: none. */
struct hist_block {
	uint32_t mask, used;
	uint64_t pair[];
};

/* Histograms by index: nodes of a tree. slot[i] is 0 where nothing was
 * counted; odd: one pair of a step and its count; else a pointer to a block
 * of several. */
struct hist {
	uint64_t *slot;
	size_t room;
};

struct hist *hist_new(size_t room);
void hist_free(struct hist *);
/* Make room for so many. */
void hist_need(struct hist *, size_t room);

/* Count n values of a step. Needs i < room. */
void hist_add(struct hist *, size_t i, uint32_t step, uint64_t n);

/* Count a value; fast where its step's pair is where it belongs. */
static inline void hist_count(struct hist *h, size_t i, uint64_t value)
{
	const uint32_t step = hist_step(value);
	uint64_t *pair = &h->slot[i];

	if (*pair != 0 && !(*pair & 1)) {
		struct hist_block *const b =
			(struct hist_block *)(uintptr_t)*pair;

		pair = &b->pair[step & b->mask];
	}
	if (((*pair >> 1) & 511) == step && *pair & 1)
		*pair += 1 << HIST_KEY_BITS;
	else
		hist_add(h, i, step, 1);
}

/* Add the counts of i to an array of HIST_STEPS. */
void hist_counts(const struct hist *, size_t i, uint64_t *counts);
/* Add the counts of from's i to those of to's k. */
void hist_join(struct hist *to, size_t k, const struct hist *from, size_t i);

/* The least value of a step. */
uint64_t hist_least(uint32_t step);

/* The value at or below which part/1000 of all n values lie (nearest rank): the
 * middle of its step, clipped to least and most. */
uint64_t hist_quantile(const uint64_t *counts, uint64_t n, unsigned part,
		       uint64_t least, uint64_t most);
