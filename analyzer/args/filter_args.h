/* filter_args.h - the options by which a command shows only a part of a trace.
 * They are the same for every command that reads traces; a command says which
 * of them have no meaning for it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/args/opt.h"
#include "analyzer/replay/replay.h"
#include "analyzer/tables/filter.h"

/* The filters, in the order of the help. The number of a filter is its row in
 * filter_opts and its bit in a set. */
enum filter_arg {
	FILTER_UNDER, FILTER_FOCUS, FILTER_SKIP, FILTER_THREAD, FILTER_PROCESS,
	FILTER_COROUTINE, FILTER_FROM, FILTER_TO, FILTER_RECORDING,
	FILTER_SINCE_MARK, FILTER_UNTIL_MARK, FILTER_ARGS
};

/* Sets of filters, for the functions below: FILTER_SET(THREAD) is the set of
 * one. FILTER_FUNCTIONS choose frames; FILTER_RANGE chooses a range of time,
 * which FILTER_MARKS give by marks. */
#define FILTER_SET(arg) (1u << FILTER_##arg)
enum {
	FILTER_FUNCTIONS = FILTER_SET(UNDER) | FILTER_SET(FOCUS) |
			   FILTER_SET(SKIP),
	FILTER_MARKS = FILTER_SET(RECORDING) | FILTER_SET(SINCE_MARK) |
		       FILTER_SET(UNTIL_MARK),
	FILTER_RANGE = FILTER_SET(FROM) | FILTER_SET(TO) | FILTER_MARKS,
	FILTER_ALL = (1u << FILTER_ARGS) - 1
};

/* For OPT_MORE, before load_opts; one row for each filter_arg. load_open
 * applies the filters; header_begin says what is shown. */
extern const struct opt filter_opts[];

/* Filters that have no meaning for a command, and why: what follows "--thread
 * has no meaning here: ". It also says what to do instead. */
struct filter_refusal {
	unsigned args;               /* a set; 0 ends a table of them */
	const char *why;
};

/* Call it after opt_parse and before any trace is opened: refuses the filters
 * of the table, and a --coroutine that is no id. The table may be NULL. 0, or
 * -1 with the cause in the chain. */
int filter_args_check(const struct filter_refusal *);
/* Refuse one set, where that depends on other options of the command. `why`
 * follows the option's name in the message. 0, or -1 with the cause in the
 * chain. */
int filter_args_refuse(unsigned args, const char *why);
/* Is the row a filter that the table (or NULL) refuses? false for rows of other
 * options. */
bool filter_args_is_refused(const struct filter_refusal *,
			    const struct opt *row);

/* The text that was given, which lives as long as argv; NULL: none. */
const char *filter_args_text(enum filter_arg);
/* Read a coroutine's ID or PID:ID; pid 0: of any process. 0, or -1 with the
 * cause in the chain, which names the option. */
int filter_args_coroutine(const char *option, const char *text, uint32_t *pid,
			  uint64_t *serial);
/* Was any filter of the set given? */
bool filter_args_has(unsigned args);
/* Does what was given need single records, which no profile has? */
bool filter_args_needs_records(void);

/* The marks of a trace that the filters mention, with their ticks. Show it each
 * mark of the trace once, in any order of time; it keeps only those that a
 * filter names. filter_args_marks_free does not take NULL. */
struct filter_marks;
struct filter_marks *filter_args_marks_new(void);
void filter_args_marks_free(struct filter_marks *);
void filter_args_see_mark(struct filter_marks *, const char *name, ticks);

/* What replay must collect: writes the range and the coroutine to *want. Of the
 * session only the clock and the first tick are used. 0, or -1 with the cause
 * in the chain. */
int filter_args_collect(const struct session *clock, struct filter_marks *,
			struct replay_collect *want);

/* Replace the session's tree by the part that was asked for; its functions must
 * have names. Returns the filters that found what they name (threads,
 * processes, functions), as a set. */
unsigned filter_args_apply(struct session *, bool keep_vm,
			   struct filter_sums *);
/* `found` is what one or more calls of filter_args_apply returned. 0, or -1
 * with a cause if a filter found nothing in any session. */
int filter_args_require(struct session *, unsigned found);

/* For commands that read single records: for each thread index, 1 if --thread
 * and --process include it, else 0. All are 0 if no thread is in both. The
 * caller frees it with mem_free. */
uint8_t *filter_args_threads(const struct session *);

/* Write one sentence to `to`: what is shown, and which share of the whole that
 * is. What does not fit into size bytes is cut off. The sentence holds
 * untrusted bytes: what the user typed. */
void filter_args_describe(const struct session *, const struct filter_sums *,
			  char *to, size_t size);
