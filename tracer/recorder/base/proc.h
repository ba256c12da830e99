/* proc.h - a line of a small file; and what /proc says of processes, each of
 * which may end, or change, while it is read. To read there may take seconds:
 * the process may hold a lock of its memory and not be let run.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Read the first line of the file whose path is so formatted, without its
 * newline. False: there is none, and line is "". */
__attribute__((format(printf, 3, 4)))
bool proc_line(char *line, size_t room, const char *format, ...);

struct proc_stat {
	char state;                /* the letter, as in ps */
	int parent;
	uint64_t start;            /* clock ticks since the system started */
	int status;                /* if it is a zombie, and we may see it */
};

/* tid: of a thread of the process; 0: of the process. */
bool proc_stat(pid_t pid, pid_t tid, struct proc_stat *s);
bool proc_has_thread(pid_t pid, pid_t tid);
/* Read the line of /proc/PID/status that begins with the key, such as
 * "TracerPid:". False: there is none. */
bool proc_status_line(pid_t pid, const char *key, char *line, size_t room);
/* Its value; negative: there is none. */
long proc_status(pid_t pid, const char *key);

/* What a process maps, a mapping at a time, rising. */
struct proc_maps {
	FILE *file;                /* NULL: at the end, or it cannot be read */
	uint64_t start, end, offset, inode;
	dev_t device;
	bool can_read, can_write, can_run;
	const char *path;          /* "": it is in no file */
	char line[PATH_MAX + 128];
};

/* False: it cannot be read, and errno says why. */
bool proc_maps_open(struct proc_maps *m, pid_t pid);
/* Go to the next mapping. False: there is no more, and the file is closed. */
bool proc_maps_next(struct proc_maps *m);
/* To end before that. */
void proc_maps_close(struct proc_maps *m);
