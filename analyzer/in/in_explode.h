/* in_explode.h - chunks in, single events out, in the order of time over all
 * threads. Knows the window that this takes; knows nothing of CTF.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* FUNC_NATIVE and FUNC_CODE functions give native events. A C function that Lua
 * calls is one of them. */
enum in_event_kind {
	IN_EVENT_NATIVE_ENTER, IN_EVENT_NATIVE_EXIT,
	IN_EVENT_LUA_CALL, IN_EVENT_LUA_RETURN,
	IN_EVENT_RESUME, IN_EVENT_SUSPEND,
	IN_EVENT_MARK,
	IN_EVENT_KINDS,
};

/* An event, copied: it stays valid, but the numbers in at refer to the
 * session. */
struct in_event {
	enum in_event_kind kind;
	uint64_t ns;      /* since the epoch; never less than the one before */
	uint64_t late_by; /* ns: it happened that much earlier, but came after
	                   * later events had been passed on */
	uint64_t slept;   /* of a resume: ns since the suspend */
	struct replay_event at; /* who and what; the tick is the true one */
};

struct in_explode;
/* Never NULL. window: a record that comes more than so many ns after it
 * happened is late. A larger one holds more chunks in memory. */
struct in_explode *in_explode_new(uint64_t window);
void in_explode_free(struct in_explode *);

/* Take a chunk, which stays the caller's. Chunks may come in any order that is
 * roughly that of time; of a stream's, a few may be missing or come late. */
void in_explode_put(struct in_explode *, const struct chunk *);
/* No chunk follows: in_explode_next gives all that is left. */
void in_explode_end(struct in_explode *);
/* The next event: 1; 0 if more chunks must be put first; -1 after the last.
 * *event is set only with 1. */
int in_explode_next(struct in_explode *, struct in_event *event);

/* The functions, processes and threads seen so far; borrowed until
 * in_explode_free. They may change with each in_explode_next. Its tree is of no
 * use: it is kept small. */
const struct session *in_explode_session(const struct in_explode *);
