/* locks.h - what was waited for, by whom and because of whom: made of the waits
 * and their ends that a replay has collected (waits.h). Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/waits/waits.h"

/* An object. Times are ticks. */
struct locks_object {
	struct waits_object of;
	stack_id first;          /* the stack that waited first */
	uint64_t waits, open;    /* of them, those that had not ended */
	ticks waiting, longest;
	ticks held;              /* time in which any waited for a holder */
	uint64_t most;           /* at a time */
	/* In the arrays of struct waits. */
	size_t span, spans, end, ends;
};

/* By falling waiting. The caller frees the array with mem_free. */
struct locks_object *locks_list(const struct waits *, size_t *count);

/* How a stack had to do with an object. */
enum locks_role {
	LOCKS_WAITS,             /* it waited */
	LOCKS_HOLDS,             /* its call let others go on */
	LOCKS_UNSEEN,            /* others waited, and no call that ended it was
	                          * recorded: stack 0 */
	LOCKS_FREE,              /* others were let go on, and had not gone on
	                          * yet: stack 0 */
};
struct locks_stack {
	enum locks_role role;
	stack_id stack;
	uint32_t owner;          /* LOCKS_UNSEEN: tid of who held it, or 0 */
	uint64_t count;          /* waits, or calls that ended some */
	ticks waiting;           /* its own, or of others because of it */
	ticks held;              /* in which any waited because of it */
	ticks longest;           /* wait, or time held */
};

/* The stacks of one object: by role, then by falling waiting. The caller frees
 * the array with mem_free. */
struct locks_stack *locks_stacks(const struct waits *,
				 const struct locks_object *, size_t *count);
/* The role in a word: "waits", "holds" or "nobody". */
const char *locks_role_name(enum locks_role);

/* Who had an object while others waited for it: the thread whose call ended a
 * wait, and since when one waited for that. end NULL: nobody is known. */
struct locks_turn {
	const struct waits_end *end;
	ticks from;
};

/* The longest turn in that wait. */
struct locks_turn locks_turn_in(const struct waits *,
				const struct waits_span *);

/* A moment in a turn at which its thread most likely had the object: it is not
 * known when it took that. */
static inline ticks locks_late(const struct locks_turn *t)
{
	return t->end->at - (t->end->at - t->from) / 8;
}

/* The longest turn of an object that ended in a call of that stack, then that
 * of the object for which its thread waited late in it, and so on: room at
 * most. Returns how many. */
size_t locks_chain(const struct waits *, const struct locks_object *,
		   stack_id holder, struct locks_turn *chain, size_t room);
