/* proc.c - parses what the kernel prints. A name in it may contain anything.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/proc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool proc_line(char *line, size_t room, const char *format, ...)
{
	char path[2 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	FILE *const f = fopen(path, "re");

	if (!f || !fgets(line, (int)room, f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return line[0] != '\0';
}

bool proc_stat(pid_t pid, pid_t tid, struct proc_stat *s)
{
	char text[1024];
	size_t n = 0;

	if (tid > 0)
		snprintf(text, sizeof(text), "/proc/%d/task/%d/stat", (int)pid,
			 (int)tid);
	else
		snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(text, "re");

	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	/* The name in front may contain spaces and parentheses. */
	const char *const end = strrchr(text, ')');
	const char *const last = strrchr(text, ' ');

	s->status = last ? atoi(last) : 0;
	return end && sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u "
			     "%*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
			     &s->state, &s->parent, &s->start) == 3;
}

bool proc_has_thread(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return tid > 0 && access(path, F_OK) == 0;
}

bool proc_status_line(pid_t pid, const char *key, char *line, size_t room)
{
	bool found = false;

	snprintf(line, room, "/proc/%d/status", (int)pid);
	FILE *const f = fopen(line, "re");

	while (f && !found && fgets(line, (int)room, f))
		found = strncmp(line, key, strlen(key)) == 0;
	if (f)
		fclose(f);
	return found;
}

long proc_status(pid_t pid, const char *key)
{
	char line[256];

	return proc_status_line(pid, key, line, sizeof(line)) ?
	       strtol(line + strlen(key), NULL, 10) : -1;
}

/* ---- maps ---- */

bool proc_maps_open(struct proc_maps *m, pid_t pid)
{
	snprintf(m->line, sizeof(m->line), "/proc/%d/maps", (int)pid);
	m->file = fopen(m->line, "re");
	return m->file;
}

/* "start-end rwxp offset major:minor inode      path" */
bool proc_maps_next(struct proc_maps *m)
{
	unsigned major_n, minor_n;
	char rights[5];

	while (m->file && fgets(m->line, sizeof(m->line), m->file)) {
		int path = 0;

		m->line[strcspn(m->line, "\n")] = '\0';
		if (sscanf(m->line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64
			   " %x:%x %" SCNu64 " %n", &m->start, &m->end, rights,
			   &m->offset, &major_n, &minor_n, &m->inode,
			   &path) != 7 || path == 0)
			continue;
		m->device = makedev(major_n, minor_n);
		m->can_read = rights[0] == 'r';
		m->can_write = rights[1] == 'w';
		m->can_run = rights[2] == 'x';
		m->path = m->line + path;
		return true;
	}
	proc_maps_close(m);
	return false;
}

void proc_maps_close(struct proc_maps *m)
{
	if (m->file)
		fclose(m->file);
	m->file = NULL;
}
