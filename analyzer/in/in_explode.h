/* in_explode.h - chunks in, single events out, in the order of time over all
 * threads. Knows the window that sorting takes; knows nothing of CTF.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_EXPLODE_H
#define WEFT_ANALYZER_IN_IN_EXPLODE_H

#include "analyzer/replay/replay.h"

#include <stddef.h>
#include <stdint.h>

enum in_event_kind {
	IN_EVENT_NATIVE_ENTER, IN_EVENT_NATIVE_EXIT,
	IN_EVENT_LUA_CALL, IN_EVENT_LUA_RETURN,
	IN_EVENT_RESUME, IN_EVENT_SUSPEND,
	IN_EVENT_MARK,
	IN_EVENT_KINDS,
};

struct in_event {
	enum in_event_kind kind;
	uint64_t ns;      /* since the epoch; never falls from event to event */
	uint64_t late_by; /* ns: it happened that much earlier, but was read
	                   * after what lies between had been given on */
	uint64_t slept;   /* resume: ns since its suspend */
	struct replay_event at; /* who and what; its tick is the true one */
};

struct in_explode;
/* A record that comes in later than window ns after it happened is late. */
struct in_explode *in_explode_new(uint64_t window);
void in_explode_free(struct in_explode *);

/* Take the words of a chunk: checked here; copied. 0, or -1 when they are no
 * chunk (which is counted, and adds a cause). */
int in_explode_put(struct in_explode *, const uint64_t *words, size_t n);
/* Nothing follows. */
void in_explode_end(struct in_explode *);
/* The next event: 1; 0 when chunks must be put in first; -1 after the last. */
int in_explode_next(struct in_explode *, struct in_event *event);

/* Borrowed: functions, processes and threads seen so far. */
const struct session *in_explode_session(const struct in_explode *);

#endif
