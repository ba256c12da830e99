/* census.h - who is in the trace: the processes, threads and Lua states whose
 * chunks were sent. The pool's own counts differ: not all that registers is
 * recorded, and a state that a child of fork goes on with is one more.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/names/chunk_names.h"

enum census_kind { CENSUS_PROCESSES, CENSUS_THREADS, CENSUS_VMS,
		   CENSUS_KINDS };

struct census { struct name_set set[CENSUS_KINDS]; };

/* Begin anew. */
void census_begin(struct census *c);
/* Note whose chunk this is. Without memory less is counted. */
void census_note(struct census *c, const struct chunk_items *items);
/* The same of a chunk that is known by its head alone. */
void census_add(struct census *c, uint32_t process, uint32_t thread);
