/* process_watch.c - a process is part of the recording as long as it maps the
 * pool. This finds children before they call their first hook, and daemons
 * whose parents have ended, without their help.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/process_watch.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/base/proc.h"
#include "tracer/recorder/process/diagnose.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	WATCH_NAME_MAX = 256,
	GRACE_MS = 500,            /* for a new image to find the pool */
	MOST_REPORTED = 4,         /* processes in one recording */
};

/* ---- /proc ----
 * The pool is drained while it is read. */

static bool read_stat(pid_t pid, struct proc_stat *s)
{
	turn_lend();
	const bool is_there = proc_stat(pid, 0, s);

	turn_take();
	return is_there;
}

static pid_t attached;

void process_attached(pid_t pid)
{
	attached = pid;
}

bool process_exists(pid_t pid)
{
	static uint64_t our_start;
	struct proc_stat s;

	if (our_start == 0)
		our_start = read_stat(getpid(), &s) ? s.start : 1;
	return pid > 0 && read_stat(pid, &s) && s.state != 'Z' &&
	       s.state != 'X' && (s.start >= our_start || pid == attached);
}

char process_state(pid_t pid)
{
	struct proc_stat s;

	return pid > 0 && read_stat(pid, &s) ? s.state : '?';
}

int process_zombie_status(pid_t pid)
{
	struct proc_stat s;

	return read_stat(pid, &s) && s.state == 'Z' ? s.status : -1;
}

bool process_is_stopped(pid_t pid)
{
	const char state = process_state(pid);

	return state == 'T' || state == 't';
}

uint64_t process_start(pid_t pid)
{
	struct proc_stat s;

	return read_stat(pid, &s) ? s.start : 0;
}

bool process_has_ended(pid_t pid, uint64_t start)
{
	struct proc_stat s;

	if (read_stat(pid, &s))
		return s.start != start || s.state == 'Z' || s.state == 'X';
	return kill(pid, 0) != 0 && errno == ESRCH;
}

uint32_t process_namespaces(void)
{
	static const char *const links[] = { "/proc/self/ns/pid",
					     "/proc/self/ns/time" };
	char text[64];
	uint32_t hash = 0;

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		const ssize_t n = readlink(links[i], text, sizeof(text));

		hash = XXH32(text, n > 0 ? (size_t)n : 0, hash);
	}
	return hash;
}

/* The kernel's short name. Anybody may read it. */
static bool read_name(pid_t pid, char *out, size_t room)
{
	return proc_line(out, room, "/proc/%d/comm", (int)pid);
}

bool process_is_named(pid_t pid, const char *name)
{
	char text[32];

	return read_name(pid, text, sizeof(text)) &&
	       strncmp(text, name, strlen(name)) == 0;
}

/* False, too, if we may not look: errno is EACCES then. */
static bool maps_pool(pid_t pid, const struct pool_owner *owner)
{
	struct proc_maps m;
	bool found = false;

	if (pid <= 0)
		return false;
	turn_lend();
	for (proc_maps_open(&m, pid); !found && proc_maps_next(&m); )
		found = m.inode == owner->inode && m.device == owner->device;
	proc_maps_close(&m);
	turn_take();
	return found;
}

/* A process that began before the recorder has never mapped the pool: to read
 * what it maps might make it wait for nothing. */
uint32_t process_count_mapping(const struct pool_owner *owner)
{
	const pid_t self = getpid();
	uint32_t n = 0;
	DIR *const proc = opendir("/proc");

	if (!proc)
		return 0;
	for (const struct dirent *e; (e = readdir(proc)); ) {
		const pid_t pid = atoi(e->d_name);

		if (pid != self && process_exists(pid) && maps_pool(pid, owner))
			n++;
	}
	closedir(proc);
	return n;
}

/* The path of the program that it runs, or its short name where we may not see
 * the path. "" if neither is known. */
static void find_program(pid_t pid, char out[WATCH_NAME_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	turn_lend();
	const ssize_t n = readlink(path, out, WATCH_NAME_MAX - 1);
	turn_take();

	out[n > 0 ? n : 0] = '\0';
	if (n <= 0 && errno != ENOENT && !read_name(pid, out, WATCH_NAME_MAX))
		out[0] = '\0';
}

/* ---- images that are gone ---- */

int process_watch_init(struct process_watch *w, const struct pool_owner *owner)
{
	memset(w, 0, sizeof(*w));
	w->owner = owner;
	w->since = calloc(owner->process_slots, sizeof(*w->since));
	return w->since ? 0 : -1;
}

bool process_watch_lives(const struct process_watch *w, uint32_t i)
{
	const pid_t pid = (pid_t)w->owner->processes[i].pid;

	errno = 0;
	return process_exists(pid) &&
	       (maps_pool(pid, w->owner) || errno == EACCES);
}

/* Whether the same process has registered again, after an exec. */
static bool has_new_image(const struct pool_owner *owner, uint32_t i)
{
	const struct pool_process *const old = &owner->processes[i];

	for (uint32_t k = 0; k < owner->process_slots; k++) {
		const struct pool_process *const p = &owner->processes[k];

		if (p->pid == old->pid &&
		    (int32_t)(p->serial - old->serial) > 0 &&
		    atomic_load(&p->state) == SLOT_USED)
			return true;
	}
	return false;
}

/* Tell the user of a few. An image that found no slot is recorded, but cannot
 * be told from one that is not. */
static void report(struct process_watch *w, pid_t pid)
{
	char program[WATCH_NAME_MAX];

	if (w->reported == MOST_REPORTED ||
	    atomic_load(&w->owner->pool->unslotted_processes) > 0)
		return;
	find_program(pid, program);
	if (program[0] == '\0')
		return;
	w->reported++;
	diagnose_unrecorded(pid, program);
}

bool process_watch_ended(struct process_watch *w, uint32_t i, uint64_t now_ms)
{
	const pid_t pid = (pid_t)w->owner->processes[i].pid;

	if (has_new_image(w->owner, i) || !process_exists(pid))
		return true;
	if (maps_pool(pid, w->owner)) {
		w->since[i] = 0;
		return false;
	}
	if (w->since[i] == 0)
		w->since[i] = now_ms;
	if (now_ms - w->since[i] < GRACE_MS)
		return false;
	report(w, pid);
	return true;
}

void process_watch_forget(struct process_watch *w, uint32_t i)
{
	w->since[i] = 0;
}
