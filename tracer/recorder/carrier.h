/* carrier.h - LTTng, which carries chunks to the disk: asked for a session at
 * the start, and joined when it answers, while the program runs already. Until
 * then chunks wait in the pool, or go to the spill file if that fills up.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct recording;

/* What has become of LTTng. All zero: it is not wanted. */
struct carrier {
	uint64_t rings;            /* bytes of all its rings, as planned */
	bool awaited;              /* it may come yet */
	bool has_begun;            /* the start notes are in the trace */
	bool hurries;              /* the recording would be over */
	uint64_t next_ns;          /* to look again */
	bool joins;                /* a thread loads the provider ... */
	_Atomic bool has_joined;   /* ... and has come back; since then: */
	const char *why_not;       /* NULL: it can be used */
};

/* Choose the size of LTTng's rings and, if they fit, let the session process
 * begin. Returns the size of all rings; 0: without LTTng. */
uint64_t carrier_plan(struct recording *r);
/* The program is about to run: write the start notes, unless LTTng is to have
 * them. */
void carrier_begin(struct recording *r);
/* Join LTTng if it has answered, or go on without it if it does not. Call it in
 * each round. */
void carrier_poll(struct recording *r);
/* The recording would be over: a daemon that hangs is waited for no longer.
 * Returns whether it is known what carries chunks. */
bool carrier_hurry(struct recording *r);
/* What carries chunks: lttng, spill, memory (a flight recorder), or awaited. */
const char *carrier_name(const struct recording *r);
/* Nothing was recorded: close the session, if there is or will be one. */
void carrier_undo(struct recording *r);
/* Do chunks wait in the pool? */
bool carrier_holds(struct recording *r);
