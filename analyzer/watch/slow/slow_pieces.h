/* slow_pieces.h - calls that are told of in pieces, the later one first:
 * threads are replayed one after the other, so a resume may come before its
 * suspend. Private to slow.c.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/stack_table.h"
#include "analyzer/watch/slow/slow_list.h"

/* What is known of a wanted call that is open; unwanted ones have func 0. */
struct slot {
	func_id func;
	bool is_known;           /* its entry is: */
	bool is_partial;
	ticks entry;             /* later by what its coroutine slept */
	/* Since its entry, or since `piece` ended: */
	ticks self, slept;
	struct slow_parts parts;
	uint32_t thread;         /* it began on */
	uint32_t piece;          /* id: what was before is there; 0: none */
	bool is_carried;         /* it was suspended, and */
	stack_id under;          /* this is the stack that it was entered on */
};

/* The list gets the calls that are whole, the table their stacks: both are
 * borrowed. All else is 0 at first, and is freed by slow_pieces_fini. */
struct slow_pieces {
	struct slow_list *list;
	struct stack_table *stacks;
	struct piece *piece; size_t count, room; /* by id - 1 */
	uint32_t free;           /* id of one to use again; 0: none */
};
void slow_pieces_fini(struct slow_pieces *);

/* A new piece, for a slot that began on that thread as far as is known. Returns
 * its id. */
uint32_t slow_pieces_add(struct slow_pieces *, uint32_t thread);

/* A call with a piece ends at a tick. own: its coroutine's frames, itself
 * innermost. True if its earlier part has not come yet: it is counted when that
 * comes. False if it came: the slot is whole now. */
bool slow_pieces_end(struct slow_pieces *, struct slot *,
		     const struct slow_call *, ticks at, stack_id own);
/* The earlier part of a piece has come: a slot as it was at the suspend. */
void slow_pieces_join(struct slow_pieces *, struct slot *before, uint32_t id);
/* It will not come. What is known is taken for the whole call, and marked as
 * partial. */
void slow_pieces_give_up(struct slow_pieces *, uint32_t id);
/* Give up all pieces whose calls have ended. */
void slow_pieces_finish(struct slow_pieces *);

/* Count a whole call that ended and that was suspended; own as above. Of a slot
 * that is carried, only the innermost frame is looked at. */
void slow_pieces_end_carried(struct slow_pieces *, const struct slot *,
			     struct slow_call *, stack_id own);
