/* follow.c - a process is part of the recording as long as it maps the pool:
 * this finds children between fork and their first hook, and daemons whose
 * parents have gone, without asking anything of them.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/follow.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* State and start time, in ticks since boot. */
static bool read_stat(pid_t pid, char *state, uint64_t *start)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return false;
	const size_t n = fread(text, 1, sizeof(text) - 1, f);

	fclose(f);
	text[n] = '\0';
	/* Its name may hold blanks and parentheses. */
	const char *const end = strrchr(text, ')');

	return end && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u "
			     "%*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
			     state, start) == 2;
}

bool follow_exists(pid_t pid)
{
	static uint64_t our_start;
	uint64_t start;
	char state;

	if (our_start == 0 && !read_stat(getpid(), &state, &our_start))
		our_start = 1;
	return pid > 0 && read_stat(pid, &state, &start) && state != 'Z' &&
	       state != 'X' && start >= our_start;
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

	out[n > 0 ? n : 0] = '\0';
	if (n > 0 || errno == ENOENT)
		return n > 0;
	/* Somebody else's: its short name is nobody's secret. */
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return false;
	if (!fgets(out, (int)room, f))
		out[0] = '\0';
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return out[0] != '\0';
}
