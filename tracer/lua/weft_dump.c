/* weft_dump.c - runs the analyzer on the trace that is being recorded.
 * SPDX-License-Identifier: MIT */
#include "tracer/lua/weft_dump.h"
#include "tracer/host/api/weft.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The recorder brings what lies in an open chunk to the disk within 2 s, LTTng a
 * little later: a mark shows when it is there. */
enum { TRIES = 30, BETWEEN_MS = 500 };

static void wait_a_little(void)
{
	struct timespec left = { .tv_nsec = BETWEEN_MS * 1000000L };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* libweft.so lies in PREFIX/lib. */
static int find_command(char *out, size_t room)
{
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)weft_mark, &info) || !info.dli_fname)
		return -1;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return -1;
	snprintf(out, room, "%.*s/../bin/weft", (int)(slash - info.dli_fname),
		 info.dli_fname);
	if (access(out, X_OK) == 0)
		return 0;
	snprintf(out, room, "weft");
	return 0;
}

/* The analyzer is no part of the program: it is not recorded. */
static char **without_weft(void)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 &&
		    strncmp(environ[i], "WEFT_POOL=", 10) != 0)
			env[k++] = environ[i];
	}
	return env;
}

/* What it says of a recording that has no end as yet is no news. */
static int run(const char *const *argv, const char *path)
{
	posix_spawn_file_actions_t actions;
	char **const env = without_weft();
	int status = -1;
	pid_t pid;

	if (!env || posix_spawn_file_actions_init(&actions) != 0) {
		free(env);
		return -1;
	}
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
					 O_WRONLY, 0);
	if (path)
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path,
			O_WRONLY | O_CREAT | O_TRUNC, 0666);
	/* It changes none of them; its type is older than const. */
	errno = posix_spawnp(&pid, argv[0], &actions, NULL,
			     (char *const *)(uintptr_t)argv, env);
	if (errno == 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	return status;
}

static int make(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    0666);

	return fd < 0 ? -1 : close(fd);
}

int weft_dump(const char *path, int since, char *why, size_t room)
{
	char command[4096];
	const char *const trace = getenv("WEFT_TRACE");
	char now[80];
	const char *const argv[] = { command, "report", "--csv", trace,
		"--until-mark", now, since ? "--since-mark" : NULL,
		"weft.reset", NULL };
	struct weft_status s = { .size = sizeof(s) };
	struct timespec t;
	int status = -1;

	if (weft_status(&s) != 0 || !trace) {
		snprintf(why, room, "this program is not being recorded");
		return -1;
	}
	if (find_command(command, sizeof(command)) != 0) {
		snprintf(why, room, "cannot find out where weft is installed");
		return -1;
	}
	if (!s.on) {
		snprintf(why, room, "recording is off: turn it on first");
		return -1;
	}
	if (path && make(path) != 0) {
		snprintf(why, room, "cannot write \"%s\": %s", path,
			 strerror(errno));
		return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(now, sizeof(now), "weft.dump %ld %lld.%09ld", (long)getpid(),
		 (long long)t.tv_sec, t.tv_nsec);
	weft_mark(now);
	fflush(stdout);
	for (int i = 0; i < TRIES && status != 0; i++) {
		wait_a_little();
		status = run(argv, path);
	}
	if (status == 0)
		return 0;
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		snprintf(why, room, "cannot run \"%s\": %s", command,
			 strerror(errno != 0 ? errno : ENOENT));
	else
		snprintf(why, room, "\"%s report\" failed (status %d)",
			 command, WIFEXITED(status) ? WEXITSTATUS(status) :
			 -1);
	return -1;
}
