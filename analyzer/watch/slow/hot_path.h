/* hot_path.h - what single calls spent their time in: the tree below each.
 * Collects during a replay, after another one in which slow found the calls.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/slow/slow.h"

/* The calls are borrowed until hot_path_free; they come from an earlier replay
 * of the same trace. deeper: the function of cct_set_deeper, for what does not
 * fit into the tree. The caller frees the result by hot_path_free. */
struct hot_path;
struct hot_path *hot_path_new(const struct slow_call *, size_t count,
			      func_id deeper);
void hot_path_free(struct hot_path *);   /* NULL is allowed */

/* For a replay; its context is the struct hot_path. */
extern const struct replay_sink hot_path_sink;

/* A callee on the hot path, which follows the callee with the most time at each
 * level. The key says which time (SLOW_SELF: as SLOW_TOTAL). What signal
 * handlers took belongs to the interrupted call, as in slow. */
struct hot_path_step {
	func_id func;
	bool is_body;
	uint64_t calls;
	ticks total, suspended;  /* suspended: of the call's own coroutine */
};
/* The steps from the call (an index) inwards, as long as each has at least a
 * tenth of the call's time. Call it after replay_finish. The caller frees the
 * array by mem_free; NULL with *count 0: no step is that long. */
struct hot_path_step *hot_path_steps(struct hot_path *, size_t call,
				     enum slow_key, size_t *count);
