/* daemon.c - the session daemon's life. All recorders of a user start and stop
 * it under one lock, and the lock's file holds the number of the daemon that a
 * recorder started: the last one to find it without sessions stops it.
 * Runs in the keeper process only: these calls may hang.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/daemon.h"
#include "tracer/recorder/pool_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
	LOCK_MS = 4000,
	START_MS = 5000,
	STOP_MS = 4000,
	LONGEST_HOME = 70,          /* socket paths end at 108 bytes */
};

static const char *home_now(void)
{
	const char *const own = getenv("LTTNG_HOME");
	const char *const home = own ? own : getenv("HOME");

	return home ? home : "";
}

const char *daemon_home(void)
{
	static char folder[64];
	const char *const home = home_now();
	struct stat st;

	if (getuid() == 0)
		return NULL;
	if (home[0] == '/' && strlen(home) <= LONGEST_HOME &&
	    access(home, W_OK | X_OK) == 0)
		return NULL;
	snprintf(folder, sizeof(folder), "/tmp/weft-lttng-%u",
		 (unsigned)getuid());
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return NULL;
	/* Somebody else may have made it to listen to us. */
	if (lstat(folder, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != getuid() || (st.st_mode & 077) != 0)
		return NULL;
	return folder;
}

static void run_folder(char *out, size_t room)
{
	if (getuid() == 0)
		snprintf(out, room, "/var/run/lttng");
	else
		snprintf(out, room, "%s/.lttng", home_now());
}

/* Does the process' name begin so? */
static int is_named(pid_t pid, const char *name)
{
	char path[64], comm[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return 0;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return strncmp(comm, name, strlen(name)) == 0;
}

pid_t daemon_pid(void)
{
	char folder[256], path[300];
	int pid = 0;

	run_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/lttng-sessiond.pid", folder);
	FILE *const f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid > 1 && is_named(pid, "lttng-sessiond") ? pid : 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(path, "re");

	if (!f)
		return 0;
	const size_t n = fread(text, 1, sizeof(text) - 1, f);

	fclose(f);
	text[n] = '\0';
	const char *const end = strrchr(text, ')');

	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

pid_t daemon_consumer(pid_t daemon)
{
	pid_t found = 0;
	DIR *const proc = daemon > 0 ? opendir("/proc") : NULL;

	if (!proc)
		return 0;
	for (const struct dirent *e; !found && (e = readdir(proc)); ) {
		const pid_t pid = atoi(e->d_name);

		if (pid > 1 && is_named(pid, "lttng-consumerd") &&
		    parent_of(pid) == daemon)
			found = pid;
	}
	closedir(proc);
	return found;
}

static void lock_path(char *out, size_t room)
{
	const char *const home = getuid() == 0 ? "" : home_now();

	snprintf(out, room, ARENA_FOLDER "/weft-lock-%u-%08x",
		 (unsigned)getuid(), (unsigned)XXH32(home, strlen(home), 0));
}

/* Held until it is closed. Negative: not to be had; go on without. Whoever
 * stops the daemon removes the file: a lock on a nameless one is none. */
static int lock(void)
{
	char path[80];
	struct stat st;
	int fd = -1;

	lock_path(path, sizeof(path));
	for (int ms = 0; ms < LOCK_MS; ms += 10) {
		if (fd < 0)
			fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW |
				  O_CLOEXEC, 0600);
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

static void remember(int fd, pid_t pid)
{
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (fd < 0 || ftruncate(fd, 0) != 0)
		return;
	if (pwrite(fd, text, (size_t)n, 0) != n)
		(void)ftruncate(fd, 0);
}

static pid_t remembered(int fd)
{
	char text[16] = "";

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return atoi(text);
}

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

/* With --daemonize it returns once the daemon listens. */
static int start(char *why, size_t room)
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
			return 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
			snprintf(why, room, "there is no lttng-sessiond "
				 "(package lttng-tools)");
		else
			snprintf(why, room, "lttng-sessiond does not start "
				 "(is its run folder writable?)");
		return -1;
	}
	snprintf(why, room, "lttng-sessiond does not come up");
	return -1;
}

int daemon_ensure(char *why, size_t room)
{
	const int fd = lock();
	int result = 0;

	if (lttng_session_daemon_alive() != 1) {
		result = start(why, room);
		if (result == 0)
			remember(fd, daemon_pid());
	}
	if (fd >= 0)
		close(fd);
	return result;
}

int daemon_is_ours(pid_t pid)
{
	const int fd = lock();
	const int ours = pid > 1 && remembered(fd) == pid;

	if (fd >= 0)
		close(fd);
	return ours;
}

void daemon_stop_idle(void)
{
	const int fd = lock();
	const pid_t pid = remembered(fd);
	struct lttng_session *sessions = NULL;
	char path[80];

	lock_path(path, sizeof(path));
	if (fd >= 0 && (pid <= 1 || pid != daemon_pid())) {
		/* It died without us, or was none of ours. */
		unlink(path);
	} else if (pid > 1) {
		if (lttng_list_sessions(&sessions) == 0 &&
		    kill(pid, SIGTERM) == 0) {
			for (int ms = 0; ms < STOP_MS && kill(pid, 0) == 0;
			     ms += 5)
				poll(NULL, 0, 5);
			unlink(path);
		}
		free(sessions);
	}
	if (fd >= 0)
		close(fd);
}
