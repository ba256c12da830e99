/* waits.h - which calls waited for which object, from when to when, and which
 * calls let others go on. Collects during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* What is waited for: an address in a process, by kind, since a lock may lie
 * where another one did. WAIT_READ stands for both kinds of waits of a
 * read-write lock. */
struct waits_object {
	uint32_t process;        /* index */
	uint32_t kind;           /* WAIT_MUTEX and so on */
	uint64_t address;
};

/* A call that waited. */
struct waits_span {
	struct waits_object of;
	ticks begin, end;
	uint32_t thread;         /* index */
	uint32_t owner;          /* tid of who held it at its begin, or 0 */
	stack_id stack;          /* its own frame innermost */
	func_id place;           /* where the object lies, as a function; or
	                          * 0 */
	bool is_open;            /* it had not ended when the records did */
};

/* A call that found others waiting, and let one or all go on. */
struct waits_end {
	struct waits_object of;
	ticks at;
	uint32_t thread;
	stack_id stack;
	uint64_t coroutine;      /* serial of the one that made the call, or
	                          * 0 */
};

struct waits {
	/* By object; those of one by begin, and by time. */
	struct waits_span *spans; size_t span_count;
	struct waits_end *ends; size_t end_count;
	struct stack_table *stacks;
	/* Private. */
	const struct session *session;
	size_t span_room, end_room;
	struct waits_lane { struct waits_open *open; size_t count, room; }
		*lanes;          /* by stream_number */
	size_t lane_room;
};

/* Borrows the session of an earlier replay, whose functions have names. */
void waits_init(struct waits *, const struct session *);
void waits_fini(struct waits *);

/* For a replay; its context is the struct waits. Call waits_sort once after
 * it. */
extern const struct replay_sink waits_sink;
void waits_sort(struct waits *);

/* The kind of an object (WAIT_MUTEX and so on) in a word, as in CSV. */
const char *waits_kind_name(uint32_t kind);

/* Negative if object a comes before b, 0 if they are the same. */
int waits_compare(const struct waits_object *a, const struct waits_object *b);
