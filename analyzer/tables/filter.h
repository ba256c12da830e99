/* filter.h - a part of a session's tree: some threads, one coroutine, what
 * happened below a function, without some frames; and the patterns that name
 * functions and threads. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* ---- patterns ----------------------------------------------------------- */

/* "a|b" matches either; "*" stands for any text, "?" for any character. The
 * whole text must match. A hostile text or pattern costs at most the product
 * of their lengths. */
bool filter_match_text(const char *text, const char *pattern);

/* Each alternative is compared with the function's name, whole or up to its
 * parameters or its " <file:line>". After "module=", "file=" or "language=" it
 * is compared with those instead; modules and files match by their path or its
 * last part. */
bool filter_match_func(struct session *, func_id, const char *pattern);

/* For each func_id whether it matches: 1 or 0, freed by the caller with
 * mem_free. NULL without a pattern. */
uint8_t *filter_match_funcs(struct session *, const char *pattern);

/* A thread is named by its tid, or by a pattern for its name. The index may be
 * beyond the session's threads: no pattern matches it. */
bool filter_match_thread(const struct session *, uint32_t thread,
			 const char *pattern);

/* A process is named by its pid, or by a pattern for its program's path or the
 * path's last part. */
bool filter_match_process(const struct session *, uint32_t process,
			  const char *pattern);

/* ---- filters ------------------------------------------------------------ */

/* All conditions that are set must hold; NULL, 0 and false set none. Patterns
 * need the functions' names. under and focus see the stacks as they were
 * recorded, skip sees what the other conditions leave. */
struct filter {
	const char *thread;  /* patterns, as for filter_match_thread */
	const char *process; /* and filter_match_process */
	bool coroutine;      /* bodies with CCT_CHOSEN and what is on top of
	                      * them, coroutines they resumed included */
	bool range;          /* what is not below CCT_OUTSIDE */
	const char *under;   /* the outermost frames that match, put at the top
	                      * of their thread, and what is below them */
	const char *focus;   /* stacks in which a frame matches; the callers of
	                      * such frames keep neither calls nor self time */
	const char *skip;    /* frames that match go: their time becomes their
	                      * caller's, their calls are not counted */
	const char *only;    /* the same for frames of functions, native and
	                      * Lua, that do not match */
	const char *count;   /* frames that match, but bodies of coroutines, go
	                      * as by skip; their calls stay, without times */
};

/* For each func_id, whether skip and only leave its frames out: 1 or 0, freed
 * by the caller with mem_free. NULL: they leave none out. */
uint8_t *filter_left_out(struct session *, const struct filter *);

/* By thread: 1 if the filter's thread and process leave it, or 0. Freed by the
 * caller with mem_free. */
uint8_t *filter_threads(const struct session *, const struct filter *);

/* What the filter left (self, calls) of what there was. self is in ticks and
 * includes the threads' time in no function. */
struct filter_sums {
	ticks self, whole_self;
	uint64_t calls, whole_calls;
};

/* Flags of nodes that stay: of CCT_SHAPE; also those that say which Lua state a
 * body is of, which are settled by that; all, so that another filter can
 * follow. */
enum filter_keep { FILTER_KEEP_SHAPE, FILTER_KEEP_VM, FILTER_KEEP_ALL };

/* Replace the session's tree by the filtered one, and say what is left. Ids of
 * nodes change. Other lists of the session stay whole. */
struct filter_sums filter_apply(struct session *, const struct filter *,
				enum filter_keep);
