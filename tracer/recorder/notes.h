/* notes.h - the recorder's own chunks in a trace: notes at its start and end,
 * and the names that Lua's sources have.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/recording.h"

typedef void notes_fn(const struct recording *r, struct meta *m);

/* Make a META chunk in the sink's room and return its words. notes may be
 * NULL. */
uint32_t notes_make(struct recording *r, uint64_t number, notes_fn *notes,
		    uint32_t flags);

/* Write what recording a call costs. Not for a flight recorder. */
void notes_send_cost(struct recording *r);

/* A META chunk that is to be written, in the sink's room. */
typedef void notes_send_fn(struct recording *r, uint32_t words);
/* Make the chunks with the names of the Lua functions that were noted up to
 * now, and call back for each. What they name is not noted again. */
void notes_send_names(struct recording *r, notes_send_fn *send);
