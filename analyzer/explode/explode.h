/* explode.h - chunks in, single events out, in the order of time over all
 * threads. Knows the window that this takes; knows nothing of CTF.
 *
 * This folder is the babeltrace2 plugin "weft": docs/explode.md. It may use
 * analyzer/base, chunk, model, replay and in; no command needs it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* FUNC_NATIVE and FUNC_CODE functions give native events, and so do zones. A C
 * function that Lua calls is one of them. */
enum explode_event_kind {
	EXPLODE_NATIVE_ENTER, EXPLODE_NATIVE_EXIT,
	EXPLODE_LUA_CALL, EXPLODE_LUA_RETURN,
	EXPLODE_RESUME, EXPLODE_SUSPEND,
	EXPLODE_MARK,
	EXPLODE_KINDS,
};

/* An event, copied: it stays valid, but the numbers in at refer to the
 * session. */
struct explode_event {
	enum explode_event_kind kind;
	uint64_t ns;      /* since the epoch; never less than the one before */
	uint64_t late_by; /* ns: it happened that much earlier, but came after
	                   * later events had been passed on */
	uint64_t slept;   /* of a resume: ns since the suspend */
	struct replay_event at; /* who and what; the tick is the true one */
};

struct explode;
/* Never NULL. window: a record that comes more than so many ns after it
 * happened is late. A larger one holds more chunks in memory. */
struct explode *explode_new(uint64_t window);
void explode_free(struct explode *);

/* Take a chunk, which stays the caller's. Chunks may come in any order that is
 * roughly that of time; of a stream's, a few may be missing or come late. */
void explode_put(struct explode *, const struct chunk *);
/* No chunk follows: explode_next gives all that is left. */
void explode_end(struct explode *);
/* The next event: 1; 0 if more chunks must be put first; -1 after the last.
 * *event is set only with 1. */
int explode_next(struct explode *, struct explode_event *event);

/* The functions, processes and threads seen so far; borrowed until
 * explode_free. They may change with each explode_next. Its tree is of no
 * use: it is kept small. */
const struct session *explode_session(const struct explode *);
