/* slow.h - the slowest single calls of some functions, each with its stitched
 * stack, and how long all of them took. Collects during a replay.
 *
 * analyzer/watch/slow: which calls were the slowest. What analyzer/watch may
 * use (chronicle.h), this folder may.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"
#include "analyzer/watch/slow/slow_list.h"

struct slow;
/* The options are copied; the arrays that they refer to are borrowed until
 * slow_free. */
struct slow *slow_new(const struct slow_options *);
void slow_free(struct slow *);           /* NULL is allowed */

/* For a replay; its context is the struct slow. Call slow_finish once after
 * replay_finish: it counts what was still waiting, and sorts. */
extern const struct replay_sink slow_sink;
void slow_finish(struct slow *);

/* Borrowed; complete after slow_finish. */
const struct slow_found *slow_found(const struct slow *);

/* Decisions: a call's time in a signal handler that interrupted a hook is its
 * own self time here. A call on a stack whose base is not known stands on
 * "[open before start]". */
