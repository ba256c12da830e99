/* unseen_programs.h - the programs that were recorded, and in which of them no Lua state
 * was seen.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_UNSEEN_PROGRAMS_H
#define WEFT_TRACER_RECORDER_UNSEEN_PROGRAMS_H

#include "tracepoints/pool.h"

#include <stdbool.h>
#include <stdint.h>

enum { SILENT_MAX = 32 };

/* More than that many different programs are not told apart. */
struct silent {
	uint32_t n;
	char path[SILENT_MAX][POOL_PATH_MAX];
	bool has_lua[SILENT_MAX];  /* in one of its processes, a state was */
};

/* A process that has ended, or is looked at for the last time. */
void silent_note(struct silent *s, const struct pool_process *process);
/* Did a process of the program at path run, and was a state seen in one? */
bool silent_ran(const struct silent *s, const char *path);
bool silent_has_lua(const struct silent *s, const char *path);

#endif
