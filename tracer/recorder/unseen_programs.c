/* unseen_programs.c - by path: a child of fork has no Lua state of its own to show, but
 * runs the program that had one.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/unseen_programs.h"

#include <stdlib.h>
#include <string.h>

static uint32_t find(const struct silent *s, const char *path)
{
	uint32_t i = 0;

	while (i < s->n && strcmp(s->path[i], path) != 0)
		i++;
	return i;
}

void silent_note(struct silent *s, const struct pool_process *process)
{
	char path[POOL_PATH_MAX];
	uint32_t i;

	/* The pool is the program's to write. */
	memcpy(path, process->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	i = find(s, path);
	if (path[0] != '/' || i == SILENT_MAX)
		return;
	if (i == s->n) {
		memcpy(s->path[i], path, sizeof(path));
		s->has_lua[i] = false;
		s->n++;
	}
	s->has_lua[i] |= atomic_load(&process->vms) > 0;
}

/* Processes are listed by what /proc calls their program. */
static uint32_t find_real(const struct silent *s, const char *path)
{
	char *const real = realpath(path, NULL);
	const uint32_t i = find(s, real ? real : path);

	free(real);
	return i;
}

bool silent_ran(const struct silent *s, const char *path)
{
	return find_real(s, path) < s->n;
}

bool silent_has_lua(const struct silent *s, const char *path)
{
	const uint32_t i = find_real(s, path);

	return i < s->n && s->has_lua[i];
}
