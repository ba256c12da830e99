/* in_order.h - chunks into the order of their streams: each once, the longest
 * of its kind, numbers rising. Knows identities; knows nothing of files.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_ORDER_H
#define WEFT_ANALYZER_IN_IN_ORDER_H

#include "analyzer/in/in.h"
#include "analyzer/in/in_carve.h"

enum in_order_result {
	IN_ORDER_STOP = -1,      /* the chunk's taker wants no more */
	IN_ORDER_TAKEN = 0,
	IN_ORDER_DUPLICATE = 1,  /* was there, as long or longer */
	IN_ORDER_GAP = 2,        /* taken; but its stream now holds as many
	                          * chunks as may wait for one that is missing:
	                          * find it, or call in_order_give_up */
};

/* Invariants: next is above every number given on; what is held has numbers of
 * at least next, each once, rising; at most HELD_MAX of them a stream but for
 * the moment after IN_ORDER_GAP. */
struct in_order;
struct in_order *in_order_new(in_chunk_fn fn, void *ctx);
void in_order_free(struct in_order *);

/* Copies what has to wait. */
enum in_order_result in_order_put(struct in_order *, const struct chunk *);
/* Give on what the chunk's stream holds, up to the next missing number. */
enum in_order_result in_order_give_up(struct in_order *,
				      const struct in_key *of);
/* Nothing follows: give on everything. */
enum in_order_result in_order_finish(struct in_order *);

/* Was this chunk given on, given up, or is one as good held? */
int in_order_has(const struct in_order *, const struct in_key *,
		 uint32_t words, int partial);

/* Is a number missing, or does a thread not end as threads end? Before
 * in_order_finish: a reason to look whether something was overlooked. */
int in_order_is_ragged(const struct in_order *);

/* How many chunks were given on PARTIAL, though the recorder came to its end
 * and so had delivered them whole? After in_order_finish. */
uint64_t in_order_beginnings(const struct in_order *);

uint64_t in_order_chunks(const struct in_order *); /* given on */
uint64_t in_order_words(const struct in_order *);

#endif
