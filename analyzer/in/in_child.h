/* in_child.h - a reader in a process of its own, because libbabeltrace2 may
 * crash or hang on a damaged trace, and the ring of chunks through which it
 * sends what it reads. Knows processes; knows nothing of what is read.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

#include <semaphore.h>
#include <stdatomic.h>

/* ---- the ring: memory that both processes share ---- */

enum { IN_RING_SLOTS = 64, IN_CHUNK_BYTES = PACKED_MAX_WORDS * 8 };

/* The child fills slots, the parent empties them, both in turn. The child may
 * have gone astray, so the parent checks every length that it reads here.
 * Invariant: filled's value + empty's value <= IN_RING_SLOTS. */
struct in_ring {
	sem_t filled, empty;
	_Atomic uint64_t progress;   /* grows as long as the child gets on */
	_Atomic uint64_t discarded;  /* events that LTTng says it discarded */
	_Atomic int failed;          /* the child failed; text says why */
	/* NUL-terminated, but not if the child went astray */
	char text[400];
	uint32_t n[IN_RING_SLOTS];   /* bytes of a slot; 0: the end */
	char bytes[IN_RING_SLOTS][IN_CHUNK_BYTES];
	uint32_t put, got;           /* slots used so far: put is the child's,
	                              * got the parent's */
	uint32_t has_room;           /* the child's: slot put is free */
};

/* In the child: wait for a free slot, without limit, and return its
 * IN_CHUNK_BYTES bytes, the same until the first n of them are sent. n = 0 says
 * that nothing follows. A call of the second needs one of the first. */
char *in_ring_room(struct in_ring *);
void in_ring_put(struct in_ring *, size_t n);

/* ---- the process ---- */

/* A CTF folder. Those of one uuid are pieces of one trace (rotation); one whose
 * uuid is "" is a trace of its own. */
struct in_source { const char *path; char uuid[40]; };

/* Runs in the child, which ends when it returns: reads the sources into the
 * ring, and puts the end mark (n = 0) after the last chunk. */
typedef void (*in_child_fn)(struct in_ring *, const struct in_source *,
			    size_t count);

struct in_child;

/* Start a child. The sources are borrowed during the call. streams: how many
 * stream files there are, which limits the child's memory. NULL with a cause if
 * no process can be started; otherwise ended with in_child_end. */
struct in_child *in_child_start(in_child_fn, const struct in_source *,
				size_t count, size_t streams);
/* The next chunk's bytes, copied out of the child's memory and valid until the
 * next call: 1; 0 at the end; -1 if the child failed, crashed or hung, and
 * in_child_why says which. Chunks that the child had sent before it failed come
 * first. */
int in_child_next(struct in_child *, const char **bytes, size_t *n);
/* A few words, borrowed; "" unless in_child_next has returned -1. */
const char *in_child_why(const struct in_child *);
/* Its ring: discarded is so far, and complete when in_child_next has returned
 * 0. */
const struct in_ring *in_child_ring(const struct in_child *);
/* End the child, whatever it does, and free everything. NULL is allowed. */
void in_child_end(struct in_child *);
