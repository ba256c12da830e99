/* coroutine_history.h - one coroutine's life: made, resumed, suspended, ended, and what it
 * ran itself. Collects while a trace is replayed. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_COROUTINE_HISTORY_H
#define WEFT_ANALYZER_WATCH_COROUTINE_HISTORY_H

#include "analyzer/replay/replay.h"

enum history_kind { HISTORY_CREATE, HISTORY_RESUME, HISTORY_SUSPEND };

struct history_step {
	enum history_kind kind;
	ticks tick;
	uint32_t thread;         /* index */
	uint64_t by;             /* create, resume: the coroutine that did it;
	                          * suspend: that is gone back to; 0: the thread
	                          * itself */
	func_id by_func;         /* its innermost function; 0: none known */
	ticks span;              /* resume: it had slept so long; suspend: it
	                          * had been active so long */
	uint32_t reason;         /* suspend: SUSPEND_YIELD, _RETURN, _ERROR */
	int is_inferred;         /* seen at the next event only */
	stack_id stack;          /* its own frames then: where it slept, where
	                          * it goes to sleep */
};

/* What it ran itself, by function. */
struct history_func { func_id func; ticks self; uint64_t calls; };

struct coroutine_history {
	const struct session *session; /* the same trace's, whole */
	uint64_t serial;
	uint32_t process;        /* index */
	size_t top;              /* steps to keep, the earliest; 0: all */
	struct stack_table *stacks;
	struct history_step *steps;
	size_t count, room;
	uint64_t resumes, suspends, creates; /* all */
	struct history_func *funcs;
	size_t func_count, func_room;
	struct map *func_of;
};

void coroutine_history_init(struct coroutine_history *, const struct session *,
			    uint32_t process,
		uint64_t serial, size_t top);
void coroutine_history_fini(struct coroutine_history *);

/* For a replay; its context is the struct. After replay_finish: coroutine_history_sort puts
 * steps in the order of time, functions in that of falling self. */
extern const struct replay_sink coroutine_history_sink;
void coroutine_history_sort(struct coroutine_history *);

#endif
