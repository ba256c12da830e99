/* stack_table.h - distinct stacks, each stored once: a number stands for a stack.
 * Knows frames in their order; knows no times and no figures.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_STACK_TABLE_H
#define WEFT_ANALYZER_MODEL_STACK_TABLE_H

#include "analyzer/replay/replay_look.h"

typedef uint32_t trail_id; /* a stack, by its innermost frame; 0: empty */

enum trail_flag {
	TRAIL_BODY = 1,     /* the outermost frame of a coroutine */
	TRAIL_OMITTED = 2,  /* stands for so many frames left out; func is
	                     * their number */
	TRAIL_BEFORE = 4,   /* open since before the recording saw it */
};

struct trail_frame {
	trail_id below;
	func_id func;
	uint32_t flags;
};

struct trail;
struct trail *trail_new(void);
void trail_free(struct trail *);

/* The stack with one more frame on top. */
trail_id trail_push(struct trail *, trail_id, func_id, uint32_t flags);
/* The stack with a stream's frames [from, to) on top. */
trail_id trail_look(struct trail *, trail_id, const struct stream *,
		    size_t from, size_t to);

/* Its innermost frame; needs id > 0. Valid until the next push. */
const struct trail_frame *trail_get(const struct trail *, trail_id);
size_t trail_depth(const struct trail *, trail_id);

#endif
