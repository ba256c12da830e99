/* process_watch.c - ended, exec'ed, or lost: what became of a process, from its slot and
 * from /proc.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process_watch.h"
#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRACE_MS = 500,            /* for a new image to find the pool */
	MOST_LOOKS = 100,
	MOST_TOLD = 4,             /* programs told of in one recording */
};

int gone_init(struct gone *g, const struct arena *arena)
{
	memset(g, 0, sizeof(*g));
	g->arena = arena;
	g->entry = calloc(arena->process_slots, sizeof(*g->entry));
	return g->entry ? 0 : -1;
}

void gone_look(struct gone *g, uint32_t i)
{
	struct gone_entry *const e = &g->entry[i];
	const pid_t pid = (pid_t)g->arena->processes[i].pid;

	if (e->next[0] || e->looks == MOST_LOOKS)
		return;
	e->looks++;
	if (follow_exists(pid) && !follow_maps(pid, g->arena) &&
	    !follow_program(pid, e->next, sizeof(e->next)))
		e->next[0] = '\0';
}

/* Has the same process registered again, after an exec? */
static bool has_new_image(const struct arena *arena, uint32_t i)
{
	const struct pool_process *const old = &arena->processes[i];

	for (uint32_t k = 0; k < arena->process_slots; k++) {
		const struct pool_process *const p = &arena->processes[k];

		if (p->pid == old->pid &&
		    (int32_t)(p->serial - old->serial) > 0 &&
		    atomic_load(&p->state) == SLOT_USED)
			return true;
	}
	return false;
}

static void tell(struct gone *g, uint32_t i, bool runs)
{
	struct gone_entry *const e = &g->entry[i];

	if (e->next[0] == '\0' || g->told == MOST_TOLD ||
	    strcmp(e->next, g->last) == 0)
		return;
	g->told++;
	memcpy(g->last, e->next, sizeof(g->last));
	diagnose_unrecorded(g->arena->processes[i].pid, e->next, runs);
}

bool gone_ended(struct gone *g, uint32_t i, uint64_t now_ms)
{
	struct gone_entry *const e = &g->entry[i];
	const pid_t pid = (pid_t)g->arena->processes[i].pid;

	if (has_new_image(g->arena, i))
		return true;
	if (!follow_exists(pid)) {
		tell(g, i, false);
		return true;
	}
	if (follow_maps(pid, g->arena)) {
		e->since = 0;
		return false;
	}
	if (e->since == 0)
		e->since = now_ms;
	if (now_ms - e->since < GRACE_MS)
		return false;
	gone_look(g, i);
	tell(g, i, true);
	return true;
}

void gone_forget(struct gone *g, uint32_t i)
{
	memset(&g->entry[i], 0, sizeof(g->entry[i]));
}
