/* follow.c - a process is part of the recording as long as it maps the pool:
 * this finds children between fork and their first hook, and daemons whose
 * parents have gone, without asking anything of them.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/follow.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool follow_exists(pid_t pid)
{
	char path[64], text[512];

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return false;
	const size_t n = fread(text, 1, sizeof(text) - 1, f);

	fclose(f);
	text[n] = '\0';
	const char *const end = strrchr(text, ')');

	return end && strlen(end) > 2 && end[2] != 'Z' && end[2] != 'X';
}

bool follow_maps(pid_t pid, const struct arena *arena)
{
	char path[64], line[1024];
	bool found = false;

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return false;
	/* "from-to perms offset major:minor inode path" */
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned major_n, minor_n;
		uint64_t inode;

		found = sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major_n,
			       &minor_n, &inode) == 3 &&
			inode == arena->inode &&
			makedev(major_n, minor_n) == arena->device;
	}
	fclose(f);
	return found;
}

uint32_t follow_count(const struct arena *arena)
{
	const pid_t self = getpid();
	uint32_t n = 0;
	DIR *const proc = opendir("/proc");

	if (!proc)
		return 0;
	for (const struct dirent *e; (e = readdir(proc)) != NULL; ) {
		const pid_t pid = atoi(e->d_name);

		if (pid > 0 && pid != self && follow_maps(pid, arena))
			n++;
	}
	closedir(proc);
	return n;
}

bool follow_program(pid_t pid, char *out, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, out, room - 1);

	if (n <= 0)
		return false;
	out[n] = '\0';
	return true;
}
