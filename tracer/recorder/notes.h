/* notes.h - META chunks, which the recorder itself makes: the notes of the
 * start and the end, whose keys are in docs/format.md, and names of Lua
 * functions. Each is made in the sink's room, and its words are returned.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/recording.h"

typedef void notes_send_fn(struct recording *r, uint32_t words);
/* Send what was made. A notes_send_fn. */
void notes_send(struct recording *r, uint32_t words);

uint32_t notes_start(struct recording *r);
/* Call summary_copy_counts before. */
uint32_t notes_end(struct recording *r, uint32_t flags);
/* What stands for the end until it is known. */
uint32_t notes_no_end(struct recording *r);

/* Make the chunks with the names of the Lua functions that were noted up to
 * now, and with the reference, and call back for each. What is in them is not
 * sent again. */
void notes_send_names(struct recording *r, notes_send_fn *send);
