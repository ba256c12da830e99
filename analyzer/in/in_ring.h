/* in_ring.h - chunks from a reading process to its parent, through memory both
 * share: one fills slots while the other works on those that are full. Knows
 * words; knows nothing of where they come from.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_RING_H
#define WEFT_ANALYZER_IN_IN_RING_H

#include "tracepoints/chunk.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { IN_RING_SLOTS = 64 };

/* Filled by the child, emptied by the parent; the parent checks every length
 * it reads here, for the child may have gone astray. Slots are used in turn:
 *   filled's value + empty's value <= IN_RING_SLOTS */
struct in_ring {
	sem_t filled, empty;
	_Atomic uint64_t progress;   /* the child's: grows while it gets on */
	_Atomic uint64_t refused;    /* events that could hold no chunk */
	_Atomic uint64_t discarded;  /* events LTTng says it discarded */
	_Atomic int failed;          /* the child ended early; text says why */
	char text[400];
	uint32_t n[IN_RING_SLOTS];   /* words; 0: the end */
	uint64_t words[IN_RING_SLOTS][CHUNK_MAX_WORDS];
	uint32_t put, got;           /* slots used so far: the child's own, and
	                              * the parent's */
};

/* NULL with a cause when there is no memory to share. */
struct in_ring *in_ring_new(void);
void in_ring_free(struct in_ring *);

/* The child: room for a chunk, waiting for it; then give n words on. n of 0
 * says that nothing follows. */
uint64_t *in_ring_room(struct in_ring *);
void in_ring_put(struct in_ring *, size_t n);

/* The parent: wait up to so many milliseconds for a chunk. 1, and the chunk
 * stays until in_ring_done; 0 when none came; -1 after the last one. */
int in_ring_get(struct in_ring *, int milliseconds, const uint64_t **words,
		size_t *n);
void in_ring_done(struct in_ring *);

#endif
