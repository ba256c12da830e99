/* samples.h - where a recorded thread's program counter was, from the moment
 * that the kernel noted it until the thread's chunk comes.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLES_MAX = 4096 };       /* kept of a thread */

struct sample { uint64_t tick, address; };

/* Of one thread; all times are ticks. All zero: nothing is known. Ticks rise
 * strictly, and lie between known_from and known_to. */
struct samples {
	uint64_t known_from, known_to; /* all samples between are known, */
	uint32_t stride;           /* and each of so many is kept */
	uint32_t skipped;          /* since the last one that was kept */
	bool is_stopped;           /* none come for now */
	struct sample *at;         /* never freed */
	uint32_t n;
	uint64_t lost;             /* that no chunk gets */
};

/* From this tick on, and at no time before it, samples are known. What no chunk
 * has got yet is lost. */
void samples_begin(struct samples *s, uint64_t at);
/* Samples come no longer, until samples_begin. */
void samples_stop(struct samples *s, uint64_t at);
/* A sample. If too many wait, every second one is left out from now on. */
void samples_add(struct samples *s, uint64_t tick, uint64_t address);
/* No more samples came before this tick. */
void samples_reach(struct samples *s, uint64_t at);

/* How many are older than the tick. */
uint32_t samples_until(const struct samples *s, uint64_t tick);
/* Forget the oldest n. lost: no chunk got them. */
void samples_forget(struct samples *s, uint32_t n, bool lost);
