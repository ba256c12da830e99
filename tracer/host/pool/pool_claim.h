/* pool_claim.h - buffers of the buffer pool, by number. Hook-safe.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_POOL_POOL_CLAIM_H
#define WEFT_TRACER_HOST_POOL_POOL_CLAIM_H

#include "tracer/host/thread/thread_state.h"

/* A buffer to fill, of the other size if need be. Where all are in use: waits
 * for the recorder, takes the oldest full one, or gives NO_BUFFER, as the pool
 * says. */
uint32_t pool_claim(const struct thread_state *s, int big);

/* Where its words lie. */
uint64_t *pool_claim_words(uint32_t b);

/* From filling to full, or back to free, if nobody was faster: the recorder, or
 * the parent of a fork. word: as it was, 0: not this process' any more. */
void pool_claim_release(uint32_t b, uint64_t word, enum buffer_state state);

#endif
