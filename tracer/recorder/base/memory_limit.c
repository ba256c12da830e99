/* memory_limit.c - reads the limits of a group and of all groups that it is in.
 * What the groups use now is not asked: most of it may be files' pages, which
 * go when memory is needed.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/memory_limit.h"
#include "tracer/recorder/base/proc.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* "max" in version 2, and a number near 2^63 in version 1, stand for none. */
static uint64_t read_limit(const char *folder, const char *file)
{
	char line[32];
	uint64_t limit;

	proc_line(line, sizeof(line), "%s/%s", folder, file);
	return sscanf(line, "%" SCNu64, &limit) == 1 && limit >> 60 == 0 ?
	       limit : UINT64_MAX;
}

/* From the group upwards. In a container the path may be one of the host, which
 * is not there: the container's own group is then the topmost. */
static uint64_t smallest(const char *top, const char *group, const char *file)
{
	char path[PATH_MAX];
	uint64_t least = UINT64_MAX;

	snprintf(path, sizeof(path), "%s%s", top, group);
	for (;;) {
		const uint64_t limit = read_limit(path, file);
		char *const slash = strrchr(path, '/');

		least = limit < least ? limit : least;
		if (strlen(path) <= strlen(top) || !slash)
			return least;
		*slash = '\0';
	}
}

uint64_t memory_limit(const char *groups, const char *folder)
{
	char line[PATH_MAX], top[PATH_MAX];
	uint64_t least = UINT64_MAX;
	FILE *const f = fopen(groups, "re");

	/* "number:controllers:path"; version 2 has no controllers. */
	while (f && fgets(line, sizeof(line), f)) {
		char *const kind = strchr(line, ':');
		char *const group = kind ? strchr(kind + 1, ':') : NULL;

		if (!group)
			continue;
		*group = '\0';
		const bool is_new = kind[1] == '\0';

		if (!is_new && strcmp(kind, ":memory") != 0)
			continue;
		group[1 + strcspn(group + 1, "\n")] = '\0';
		snprintf(top, sizeof(top), "%.2000s%s", folder,
			 is_new ? "" : "/memory");
		const uint64_t limit = smallest(top, group + 1, is_new ?
			"memory.max" : "memory.limit_in_bytes");

		least = limit < least ? limit : least;
	}
	if (f)
		fclose(f);
	return least;
}
