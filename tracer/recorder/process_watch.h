/* process_watch.h - a process whose recorded image has died: has it ended, or does it go
 * on as a program that is not recorded?
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_PROCESS_WATCH_H
#define WEFT_TRACER_RECORDER_PROCESS_WATCH_H

#include "tracer/recorder/pool_owner.h"

#include <stdbool.h>
#include <stdint.h>

enum { GONE_NAME = 256 };

/* By process slot. */
struct gone_entry {
	uint64_t since;            /* ms, 0: not gone */
	uint32_t looks;
	char next[GONE_NAME];      /* what it runs instead, "": not known */
};

struct gone {
	const struct arena *arena;
	struct gone_entry *entry;
	uint32_t told;
	char last[GONE_NAME];      /* program told of last */
};

int gone_init(struct gone *g, const struct arena *arena);
/* The thread that registered the process in slot i has died. Soon after, and
 * some more times: what does the process run now? It may not run it long. */
void gone_look(struct gone *g, uint32_t i);
/* Is the image over for good? Tells of a program that took its place and never
 * registered. */
bool gone_ended(struct gone *g, uint32_t i, uint64_t now_ms);
/* The slot is somebody else's from now on. */
void gone_forget(struct gone *g, uint32_t i);

#endif
