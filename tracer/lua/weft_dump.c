/* weft_dump.c - runs the analyzer on the trace that is being recorded. Knows of
 * the trace only its name (WEFT_TRACE) and how the command is called; reads
 * none of it.
 * SPDX-License-Identifier: MIT */
#include "tracer/lua/weft_dump.h"
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The recorder brings what lies in an open chunk to the disk within 2 s, LTTng
 * a little later: a mark shows when it is there. */
enum { TRIES = 30, BETWEEN_MS = 500 };

/* Where the cause of a failure goes: the caller's buffer. */
struct why { char *text; size_t room; };

/* Sets the cause; returns -1. */
static __attribute__((format(printf, 2, 3))) int
fail(const struct why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->room, format, args);
	va_end(args);
	return -1;
}

/* A signal does not end the wait. */
static void wait_a_little(void)
{
	struct timespec left = { .tv_nsec = BETWEEN_MS * 1000000L };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* The path of the command: libweft.so lies in PREFIX/lib, the command in
 * PREFIX/bin. If it is not there, PATH decides. Returns -1 if the library
 * cannot be found. */
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
	if (access(out, X_OK) != 0)
		snprintf(out, room, "weft");
	return 0;
}

/* The analyzer is no part of the program: it is not recorded. The caller frees
 * the array, whose strings are those of environ; NULL: no memory. */
static char **environment_without_weft(void)
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

/* Returns the exit status as waitpid gives it; -1: it could not be run. Its
 * warnings that the recording has no end yet are left out. */
static int run(const char *const *argv, const char *path)
{
	posix_spawn_file_actions_t actions;
	char **const env = environment_without_weft();
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
	/* posix_spawnp changes none of argv; its type is older than const. */
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

/* Makes the file as well: the user learns at once if that fails. */
static bool can_write(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    0666);

	return fd >= 0 && close(fd) == 0;
}

/* A mark that no other is equal to. */
static void set_mark(char *name, size_t room)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(name, room, "weft.dump %ld %lld.%09ld", (long)getpid(),
		 (long long)t.tv_sec, t.tv_nsec);
	weft_mark(name);
}

/* The command fails until the mark is on the disk. Any other failure looks the
 * same, so it is reported after the last try only. */
static int run_until_there(const char *const *argv, const char *path,
			   const struct why *why)
{
	int status = -1;

	fflush(stdout);
	for (int i = 0; i < TRIES && status != 0; i++) {
		wait_a_little();
		status = run(argv, path);
	}
	if (status == 0)
		return 0;
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return fail(why, "cannot run \"%s\": %s", argv[0],
			    strerror(errno != 0 ? errno : ENOENT));
	return fail(why, "\"%s report\" failed (status %d)", argv[0],
		    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int weft_dump(const char *path, bool since_reset, char *text, size_t room)
{
	const struct why why = { text, room };
	const char *const trace = getenv("WEFT_TRACE");
	char command[4096], mark[80];
	const char *const argv[] = { command, "report", "--csv", trace,
		"--until-mark", mark, since_reset ? "--since-mark" : NULL,
		"weft.reset", NULL };
	struct weft_status s = { .size = sizeof(s) };

	if (weft_status(&s) != 0 || !trace)
		return fail(&why, "this program is not being recorded");
	if (find_command(command, sizeof(command)) != 0)
		return fail(&why, "cannot find out where weft is installed");
	if (!s.on)
		return fail(&why, "recording is off: turn it on first");
	if (path && !can_write(path))
		return fail(&why, "cannot write \"%s\": %s", path,
			    strerror(errno));
	set_mark(mark, sizeof(mark));
	return run_until_there(argv, path, &why);
}
