/* meta.h - the recorder's own chunks: notes about the recording.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_META_H
#define WEFT_RECORDER_META_H

#include "tracer/recorder/rate.h"

#include <stdint.h>

/* Numbers of the two META chunks of every recording. */
enum { META_START = 0, META_END = 1 };

/* A chunk of notes in the making, in CHUNK_MAX_WORDS words of the caller's. */
struct meta {
	uint64_t *words;
	uint32_t n;
};

void meta_begin(struct meta *m, uint64_t *words, uint64_t recording,
		uint64_t number, const struct rate *rate);
/* A note that finds no room is left out. Long values are cut. */
void meta_note(struct meta *m, const char *key, const char *value);
__attribute__((format(printf, 3, 4)))
void meta_print(struct meta *m, const char *key, const char *format, ...);
void meta_label(struct meta *m, const char *key, const char *value);
/* Fill up to that many words with an item that readers skip. */
void meta_pad(struct meta *m, uint32_t words);
/* Complete and seal. Gives its words. */
uint32_t meta_end(struct meta *m);

#endif
