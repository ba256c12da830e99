/* samples.c - a bounded list. It does not know what the addresses mean.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/samples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void samples_begin(struct samples *s, uint64_t at)
{
	s->lost += s->n * (uint64_t)s->stride;
	s->n = 0;
	s->stride = 1;
	s->skipped = 0;
	s->is_stopped = false;
	s->known_from = s->known_to = at;
}

void samples_stop(struct samples *s, uint64_t at)
{
	samples_reach(s, at);
	s->is_stopped = true;
}

/* Thinned evenly, what is left is as good, but for its number. */
static void thin(struct samples *s)
{
	for (uint32_t i = 0; i < s->n / 2; i++)
		s->at[i] = s->at[2 * i];
	s->n /= 2;
	s->stride *= 2;
}

void samples_add(struct samples *s, uint64_t tick, uint64_t address)
{
	if (!s->at)
		s->at = malloc(SAMPLES_MAX * sizeof(*s->at));
	if (!s->at || s->is_stopped || tick < s->known_from ||
	    (s->n > 0 && tick <= s->at[s->n - 1].tick)) {
		s->lost++;
		return;
	}
	if (++s->skipped < s->stride)
		return;
	s->skipped = 0;
	if (s->n == SAMPLES_MAX)
		thin(s);
	s->at[s->n++] = (struct sample){ tick, address };
	if (tick > s->known_to)
		s->known_to = tick;
}

void samples_reach(struct samples *s, uint64_t at)
{
	if (!s->is_stopped && s->known_from > 0 && at > s->known_to)
		s->known_to = at;
	assert(s->known_from <= s->known_to && s->n <= SAMPLES_MAX);
}

uint32_t samples_until(const struct samples *s, uint64_t tick)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->at[middle].tick < tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void samples_forget(struct samples *s, uint32_t n, bool lost)
{
	if (n == 0)
		return;
	if (lost)
		s->lost += n * (uint64_t)s->stride;
	s->n -= n;
	memmove(s->at, s->at + n, s->n * sizeof(*s->at));
	if (s->n == 0)
		s->stride = 1;
}
