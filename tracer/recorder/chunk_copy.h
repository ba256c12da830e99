/* chunk_copy.h - makes a chunk of what lies in a pool buffer.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_CHUNK_COPY_H
#define WEFT_TRACER_RECORDER_CHUNK_COPY_H

#include "tracer/recorder/offcpu.h"
#include "tracer/recorder/rate.h"

#include <stdint.h>

struct finish_job {
	const uint64_t *buffer;    /* in the pool: anybody may write it now */
	uint32_t words;            /* its size */
	uint64_t recording;        /* the header must name it */
	uint32_t flags;            /* CHUNK_PARTIAL or CHUNK_TAKEN, or 0 */
	const struct rate *rate;
	struct offcpu *offcpu;     /* NULL: nothing is known of switches */
	uint32_t slot;             /* of the thread */
};

/* Copy, close up, check and complete. out has room for CHUNK_MAX_WORDS. Gives
 * the chunk's words, without a checksum yet; 0: nothing in it; negative: what
 * lies there is no chunk. */
int finish_copy(uint64_t *out, const struct finish_job *job);

/* Write the checksum. Needs total_words set. */
void finish_seal(uint64_t *chunk);

/* Walk n record words. Gives the ticks they span; *whole: how many words
 * belong to whole records. */
uint64_t finish_walk(const uint64_t *record, uint32_t n, uint32_t *whole);

#endif
