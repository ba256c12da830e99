/* slow_call.h - finds calls that took longer than the user wants to hear of, in
 * chunks as they pass: also calls that began in an earlier chunk, and those of
 * coroutines that were suspended meanwhile.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/names/selection.h"

enum { SLOW_CALL_RULES = 8 };

/* A rule as the user wrote it: "FUNCTION > 500ms" or "total(FUNCTION) > 1s". */
struct slow_call_wish {
	const char *text;
	char *pattern;             /* as in tracepoints/pattern.h */
	uint64_t ns;               /* slow is what takes more */
	bool is_total;             /* without the time that the call's own
	                            * coroutine was suspended */
};

struct slow_calls {
	struct slow_call_wish wish[SLOW_CALL_RULES];
	struct selection selection[SLOW_CALL_RULES];
	uint32_t rules;
	const struct rate *rate;
	struct slow_call_coroutine *coroutine; /* by serial */
	uint64_t pass;             /* chunks up to now */
	uint64_t after;            /* calls that ended by this tick are known */
	uint64_t found;            /* slow calls, each time they were seen */
	char reason[CHUNK_STRING_MAX]; /* the first since it was last taken;
	                            * "": none */
};

/* Read a rule. Returns NULL, or why it cannot be taken. The text must stay. */
const char *slow_call_read(struct slow_call_wish *w, const char *text);

/* The wishes are copied; names (may be NULL) and rate are the caller's. Nothing
 * is ever freed. Negative: no memory. */
int slow_calls_init(struct slow_calls *s, const struct slow_call_wish *wish,
		    uint32_t rules, const char *program,
		    struct lua_names *names, const struct rate *rate);
/* Look through a chunk of that many words, whose header and sizes were checked.
 * A PARTIAL chunk may come again. A coroutine's chunks must come in the order
 * in which it ran; where they do not, its suspended time is a lower bound. */
void slow_calls_note(struct slow_calls *s, const struct chunk_items *items,
		     uint32_t words);
