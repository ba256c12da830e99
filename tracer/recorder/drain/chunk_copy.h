/* chunk_copy.h - makes finished chunks: of what lies in a pool buffer, or of
 * the recorder's own notes.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/meta.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/names/chunk_names.h"
#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/names/code_maps.h"

/* Where a chunk is copied from, and what only the recorder knows of it. */
struct chunk_source {
	const uint64_t *buffer;    /* in the pool: anybody may write it now */
	uint32_t words;            /* its size */
	uint64_t recording;        /* the header must have this number */
	uint32_t flags;            /* CHUNK_PARTIAL or CHUNK_TAKEN, or 0 */
	const struct rate *rate;
	struct cpu_watch *cpu;     /* NULL: not known when the thread ran */
	struct code_maps *maps;
	uint32_t slot;             /* of the thread */
};

/* Copy the chunk to out, which has room for CHUNK_MAX_WORDS; check and complete
 * it, and find its items. Returns its words; chunk_seal is still to be called.
 * 0: nothing is in the buffer. Negative: what lies there is no chunk of this
 * recording. The buffer may change while it is copied: only the copy is checked
 * and used. */
int chunk_copy(uint64_t *out, const struct chunk_source *source,
	       struct chunk_items *items);

/* How many calls are counted in a buffer now; any number if it is damaged. */
uint64_t chunk_counted(const struct chunk_source *source);

/* Begin a chunk with that number in words, which must have room for
 * CHUNK_MAX_WORDS and stay valid until meta_end. Reads the clocks: the chunk
 * has the time of this call. */
void chunk_copy_begin_meta(struct meta *m, uint64_t *words, uint64_t recording,
			   uint64_t number, const struct rate *rate);
