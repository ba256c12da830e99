/* hot_path.h - what single calls spent their time in: the tree below each.
 * Collects while a trace is replayed, after slow found the calls. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_HOT_PATH_H
#define WEFT_ANALYZER_WATCH_HOT_PATH_H

#include "analyzer/watch/slow.h"

/* The calls are borrowed; deeper as in cct_set_deeper. */
struct hot_path;
struct hot_path *hot_path_new(const struct slow_call *, size_t count,
			  func_id deeper);
void hot_path_free(struct hot_path *);

/* For a replay; its context is the struct. */
extern const struct replay_sink hot_path_sink;

/* A callee on the hot_path path: of each call the one with the most time, as the
 * key says (SLOW_SELF: as SLOW_TOTAL). What signal handlers took is the
 * interrupted call's own, as in slow. */
struct hot_path_step {
	func_id func;
	int is_body;
	uint64_t calls;
	ticks total, suspended;  /* suspended: of the call's own coroutine */
};
/* The steps from the call inwards, as long as each has at least a tenth of the
 * call's time; the caller's to free. */
struct hot_path_step *hot_path_steps(struct hot_path *, size_t call,
				enum slow_key, size_t *count);

#endif
