/* chunk_copy.h - makes finished chunks: of what lies in a pool buffer, or of
 * the recorder's own notes.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_CHUNK_COPY_H
#define WEFT_TRACER_RECORDER_CHUNK_COPY_H

#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/trace/code_maps.h"

#include <stdbool.h>
#include <stdint.h>

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
 * it. Returns its words; chunk_seal is still to be called. 0: nothing is in the
 * buffer. Negative: what lies there is no chunk of this recording. The buffer
 * may change while it is copied: only the copy is checked and used. */
int chunk_copy(uint64_t *out, const struct chunk_source *source);

/* How many calls are counted in a buffer now; any number if it is damaged. */
uint64_t chunk_counted(const struct chunk_source *source);

/* Write the checksum, XXH3 over the whole chunk with 0 in the checksum's place.
 * total_words must be right. Nothing may be changed after it. */
void chunk_seal(uint64_t *chunk);

/* Walk over n record words. Returns the ticks that they span. *whole: how many
 * of the words belong to whole records. Stops at the first word that begins no
 * record, or at a record whose operands do not all lie within n. */
uint64_t chunk_walk(const uint64_t *record, uint32_t n, uint32_t *whole);

/* A chunk of notes in the making, in the caller's CHUNK_MAX_WORDS words. */
struct meta {
	uint64_t *words;
	uint32_t n;
};

/* Begin a chunk with that number in words, which must have room for
 * CHUNK_MAX_WORDS and stay valid until meta_end. Reads the clocks: the chunk
 * has the time of this call. */
void meta_begin(struct meta *m, uint64_t *words, uint64_t recording,
		uint64_t number, const struct rate *rate);
/* Add a note. It is left out if there is no room for it. A long value is cut to
 * CHUNK_STRING_MAX bytes. */
void meta_note(struct meta *m, const char *key, const char *value);
/* The same, with a value that is formatted as by printf. */
__attribute__((format(printf, 3, 4)))
void meta_print(struct meta *m, const char *key, const char *format, ...);
/* Add a label, under the same rules as a note. */
void meta_label(struct meta *m, const char *key, const char *value);
/* Add an item as it is. False: there is no room for it. */
bool meta_item(struct meta *m, const uint64_t *item, uint32_t words);
/* Complete and seal the chunk. Returns its words. */
uint32_t meta_end(struct meta *m);

#endif
