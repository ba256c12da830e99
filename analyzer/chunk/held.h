/* held.h - a checked chunk that several may hold: its words are its own, and
 * are freed with the last holder. May be held and dropped by any thread.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/chunk/decode.h"
#include "tracepoints/packed.h"

/* Does it begin like a packed chunk? p: as many bytes as PACKED_MAGIC has. */
bool held_is_packed(const void *p);

/* Copy, unpack and check what begins at bytes, n from the end: a packed chunk
 * or, in version 1 of the format, the words of one. Returns the chunk with one
 * holder, the caller, or NULL with the cause in the chain. *head: what is said
 * of it, nonsense perhaps if it was refused, all zero if nothing can be read.
 * *size: the bytes that it takes; 0: it is not there wholly. */
const struct chunk *held_open(const void *bytes, size_t n,
			      struct packed_head *head, uint32_t *size);

/* One holder more. Of a chunk whose words are borrowed, a copy is made. */
const struct chunk *held_keep(const struct chunk *);
/* One holder less; NULL is allowed. */
void held_drop(const struct chunk *);
