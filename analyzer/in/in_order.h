/* in_order.h - chunks into the order of their streams: each once, in its
 * longest copy, by rising number. Knows identities; knows nothing of files.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in.h"
#include "analyzer/in/in_carve.h"

enum in_order_result {
	IN_ORDER_STOP = -1,      /* the callback wants no more */
	IN_ORDER_TAKEN = 0,
	IN_ORDER_DUPLICATE = 1,  /* was there, as long or longer */
	IN_ORDER_GAP = 2,        /* taken; but as many chunks of the stream wait
	                          * for a missing one as may: put that one, or
	                          * call in_order_give_up */
};

/* Passes chunks on to fn, in the caller's thread and before the call returns,
 * as soon as it is their turn. in_order_new never returns NULL; chunks that
 * wait when in_order_free is called are dropped. */
struct in_order;
struct in_order *in_order_new(in_chunk_fn fn, void *ctx);
void in_order_free(struct in_order *);

/* Put a chunk, which stays the caller's, and is held, too, if it has to wait. A
 * copy that is longer than one that waits, or as long and no longer PARTIAL,
 * takes its place. */
enum in_order_result in_order_put(struct in_order *, const struct chunk *);
/* A chunk is missing for good: pass on what waits in the stream of that chunk,
 * up to the next missing number. Does nothing for a stream that is not known.
 * IN_ORDER_STOP or IN_ORDER_TAKEN. */
enum in_order_result in_order_give_up(struct in_order *,
				      const struct in_key *of);
/* No chunk follows: pass on everything. IN_ORDER_STOP or IN_ORDER_TAKEN. */
enum in_order_result in_order_finish(struct in_order *);

/* Was this chunk passed on or given up, as all before it in its stream? */
bool in_order_is_settled(const struct in_order *, const struct in_key *);
/* Was this chunk passed on or given up, or does one as good wait? Then there is
 * no need to read it. words and partial describe the copy that could be put;
 * words 0: does any copy wait? */
bool in_order_has(const struct in_order *, const struct in_key *,
		  uint32_t words, bool partial);

/* How many chunks were passed on PARTIAL although the recorder came to its end,
 * and so had delivered them complete. After in_order_finish. */
uint64_t in_order_beginnings(const struct in_order *);

/* What was passed on: chunks, and their words with headers. */
uint64_t in_order_chunks(const struct in_order *);
uint64_t in_order_words(const struct in_order *);
