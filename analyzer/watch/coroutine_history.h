/* coroutine_history.h - one coroutine's life: when it was created, resumed and
 * suspended, and what it ran itself. Collects during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

enum history_kind { HISTORY_CREATE, HISTORY_RESUME, HISTORY_SUSPEND };

/* A step of its life. tick and span are ticks; stack is in the history's own
 * table. */
struct history_step {
	enum history_kind kind;
	ticks tick;
	uint32_t thread;         /* index */
	uint64_t by;             /* create, resume: the coroutine that did it;
	                          * suspend: the one that runs then; 0: the
	                          * thread itself */
	func_id by_func;         /* its innermost function; 0: none known */
	ticks span;              /* resume: how long it had slept; suspend: how
	                          * long it had been active */
	uint32_t reason;         /* suspend: SUSPEND_YIELD, _RETURN, _ERROR,
	                          * _CLOSED */
	bool is_inferred;        /* not seen itself, but at the next event */
	stack_id stack;          /* its own frames then */
};

/* What it ran itself, by function. self: ticks in which that was its innermost
 * frame; calls: those whose entry was seen. */
struct history_func { func_id func; ticks self; uint64_t calls; };

/* What was found; valid until coroutine_history_fini. The steps are in order
 * only after coroutine_history_sort. */
struct coroutine_history {
	const struct session *session; /* of an earlier replay of the trace */
	uint64_t serial;
	uint32_t process;        /* index */
	/* How many steps to keep; 0: all. Up to twice as many are there before
	 * the history is sorted. */
	size_t top;
	struct stack_table *stacks;
	struct history_step *steps;
	size_t count, room;
	uint64_t resumes, suspends, creates; /* all, kept or not */
	struct history_func *funcs;
	size_t func_count, func_room;
	/* From a function to its index in funcs + 1. */
	struct map *func_of;
};

/* Of the coroutine with that serial in the process (index). top: how many steps
 * to keep, the earliest ones; 0: all. The session is borrowed. */
void coroutine_history_init(struct coroutine_history *, const struct session *,
			    uint32_t process, uint64_t serial, size_t top);
void coroutine_history_fini(struct coroutine_history *);

/* For a replay; its context is the struct. */
extern const struct replay_sink coroutine_history_sink;
/* After replay_finish: sort the steps by time, functions by falling self. */
void coroutine_history_sort(struct coroutine_history *);

/* ---- own times of all coroutines ---------------------------------------- */

struct coroutine_times {
	struct coroutine_own *own;    /* by index in the session */
	/* Private. */
	const struct session *session;
	struct map *index;
	const struct stream *stream;  /* the last lookup: of its topmost */
	uint64_t serial;              /* coroutine; what was found is an */
	uint32_t found;               /* index + 1; 0: none */
};

/* Borrows the session of a first replay of the same trace. */
void coroutine_times_init(struct coroutine_times *, const struct session *);
void coroutine_times_fini(struct coroutine_times *);

/* For a replay; its context is the struct coroutine_times. */
extern const struct replay_sink coroutine_times_sink;
