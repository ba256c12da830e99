/* lttng_daemon.c - all recorders of a user start and stop the daemon under one
 * lock. The lock's file says which daemon a recorder started, and is as old as
 * the last recording's begin: the last recorder that finds the daemon without
 * sessions stops it. /dev/shm may be
 * shared with a container, whose numbers of processes are others and whose
 * daemon is another: each PID namespace has a lock of its own.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/lttng_daemon.h"
#include "tracer/recorder/base/proc.h"
#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/process/process_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lttng/lttng.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	LOCK_PATH_MAX = 80,
	/* Nobody waits for the child so long; a daemon that a slow machine
	 * starts later than we look for it would be stopped by nobody. */
	START_MS = 20000,
	LOCK_MS = START_MS + 10000,
	STOP_MS = 4000,
};

static const char *home_now(void)
{
	const char *const own = getenv("LTTNG_HOME");
	const char *const home = own ? own : getenv("HOME");

	return home ? home : "";
}

pid_t daemon_pid(void)
{
	const bool is_root = getuid() == 0;
	char line[32];

	proc_line(line, sizeof(line), "%s%s/lttng-sessiond.pid",
		   is_root ? "/var/run" : home_now(), is_root ? "/lttng" :
		   "/.lttng");
	const int pid = atoi(line);

	return pid > 1 && process_is_named(pid, "lttng-sessiond") ? pid : 0;
}

pid_t daemon_consumer(pid_t daemon)
{
	struct proc_stat s;
	pid_t found = 0;
	DIR *const proc = daemon > 0 ? opendir("/proc") : NULL;

	if (!proc)
		return 0;
	for (const struct dirent *e; !found && (e = readdir(proc)); ) {
		const pid_t pid = atoi(e->d_name);

		if (pid > 1 && process_is_named(pid, "lttng-consumerd") &&
		    proc_stat(pid, 0, &s) && s.parent == daemon)
			found = pid;
	}
	closedir(proc);
	return found;
}

static void lock_path(char out[LOCK_PATH_MAX])
{
	const char *const home = getuid() == 0 ? "" : home_now();
	const uint32_t where = process_namespaces();

	snprintf(out, LOCK_PATH_MAX, POOL_FOLDER "/weft-lock-%u-%08x",
		 (unsigned)getuid(), (unsigned)XXH32(home, strlen(home),
						     where));
}

/* Negative: there is a file of that name which is not ours and cannot be
 * removed. Another user may have made it, to hold us up or to have us stop a
 * daemon. */
static int open_lock(const char *path)
{
	struct stat st;

	for (int tries = 0; tries < 3; tries++) {
		const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW |
				    O_CLOEXEC | O_NONBLOCK, 0600);

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_uid == getuid() && (st.st_mode & 077) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		if (unlink(path) != 0)
			break;
	}
	return -1;
}

/* The lock is held until it is closed. Negative: it cannot be had, go on
 * without. Who stops the daemon removes the file: a lock on a file without a
 * name is worth nothing. */
static int lock(void)
{
	char path[LOCK_PATH_MAX];
	struct stat st;
	int fd = -1;

	lock_path(path);
	for (int ms = 0; ms < LOCK_MS; ms += 10) {
		if (fd < 0)
			fd = open_lock(path);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (fstat(fd, &st) == 0 && st.st_nlink > 0)
				return fd;
			close(fd);
			fd = -1;
			continue;
		}
		poll(NULL, 0, 10);
	}
	close(fd);
	return -1;
}

static void unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Note the daemon in the lock's file, with its start: another process may have
 * its number later. */
static void write_daemon(int fd, pid_t pid)
{
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		dprintf(fd, "%d %" PRIu64 "\n", (int)pid, process_start(pid));
}

/* 0: no recorder started one, or it has ended. */
static pid_t read_daemon(int fd)
{
	char text[40] = "";
	uint64_t start;
	int pid, n;

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	/* Recorders of earlier versions did not write when it began. */
	n = sscanf(text, "%d %" SCNu64, &pid, &start);
	return n >= 1 && pid > 1 && (n == 1 || process_start(pid) == start) &&
	       process_is_named(pid, "lttng-sessiond") ? pid : 0;
}

/* Has a recording begun in that time? Who began it stops the daemon later. */
static bool was_used(int fd, uint32_t ms)
{
	struct timespec now;
	struct stat st;

	if (fstat(fd, &st) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
		return false;
	const int64_t age = (now.tv_sec - st.st_mtim.tv_sec) * INT64_C(1000) +
			    (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;

	return age >= 0 && age < ms;
}

/* Start it as a shell would: no blocked signals, no descriptors of ours. */
static void become_daemon(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	if (chdir("/") != 0)
		_exit(127);
	close_range(3, ~0U, 0);
	execlp("lttng-sessiond", "lttng-sessiond", "--daemonize",
	       "--no-kernel", (char *)NULL);
	execl("/usr/bin/lttng-sessiond", "lttng-sessiond", "--daemonize",
	      "--no-kernel", (char *)NULL);
	_exit(127);
}

/* With --daemonize, the command returns once the daemon listens. NULL, or why
 * there is none. */
static const char *start_daemon(void)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		become_daemon();
	for (int ms = 0; pid > 0 && ms < START_MS; ms += 2) {
		if (waitpid(pid, &status, WNOHANG) != pid) {
			poll(NULL, 0, 2);
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return NULL;
		return WIFEXITED(status) && WEXITSTATUS(status) == 127 ?
		       "there is no lttng-sessiond: install the package "
		       "lttng-tools" :
		       "lttng-sessiond does not start: look whether its run "
		       "folder can be written";
	}
	return "lttng-sessiond does not start in time";
}

const char *daemon_ensure(void)
{
	const int fd = lock();
	const char *why = NULL;

	if (lttng_session_daemon_alive() != 1) {
		why = start_daemon();
		if (!why)
			write_daemon(fd, daemon_pid());
	}
	if (fd >= 0)
		futimens(fd, NULL);
	unlock(fd);
	return why;
}

/* Without the lock, which who meets a daemon that hangs may hold for long. */
bool daemon_is_ours(pid_t pid)
{
	char path[LOCK_PATH_MAX];

	lock_path(path);
	const int fd = open_lock(path);
	const bool ours = pid > 1 && read_daemon(fd) == pid;

	unlock(fd);
	return ours;
}

/* Without its folder, nobody can speak to it any more. */
static bool is_idle(pid_t daemon)
{
	struct lttng_session *sessions = NULL;
	const char *const home = getuid() == 0 ? "/var/run" : home_now();
	const int n = daemon == daemon_pid() ? lttng_list_sessions(&sessions) :
		      home[0] == '/' && access(home, F_OK) != 0 &&
		      errno == ENOENT ? 0 : -1;

	free(sessions);
	return n == 0;
}

bool daemon_stop_idle(uint32_t ms)
{
	const int fd = lock();
	const pid_t pid = read_daemon(fd);
	const bool used = pid > 1 && was_used(fd, ms);
	char path[LOCK_PATH_MAX];

	lock_path(path);
	if (fd >= 0 && pid == 0) {
		/* It has died, or no recorder started it. */
		unlink(path);
	} else if (pid > 1 && !used && is_idle(pid) &&
		   kill(pid, SIGTERM) == 0) {
		for (int left = STOP_MS; left > 0 && kill(pid, 0) == 0;
		     left -= 5)
			poll(NULL, 0, 5);
		unlink(path);
	}
	unlock(fd);
	return !used;
}
