/* weft_dump.c - runs the analyzer on the trace that is being recorded. Knows of
 * the trace only its name (WEFT_TRACE) and how the command is called; reads
 * none of it.
 * SPDX-License-Identifier: MIT */
#include "tracer/lua/weft_dump.h"
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* In the child, which does nothing but this. The command's warnings that the
 * recording has no end yet are left out. */
static _Noreturn void become(const char *const *argv, char **env,
			     const char *path)
{
	const int none = open("/dev/null", O_WRONLY);
	const int out = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) :
			STDOUT_FILENO;

	if (out < 0 || dup2(none, STDERR_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	/* It changes none of argv; its type is older than const. */
	execvpe(argv[0], (char *const *)(uintptr_t)argv, env);
	_exit(127);
}

/* As fork(), but nothing of the program is called. exit_signal: what this
 * process gets when the child ends; 0: nothing, and no wait for any child finds
 * it. An exec would make it SIGCHLD again. */
static pid_t clone_with(int exit_signal)
{
	return (pid_t)syscall(SYS_clone, exit_signal, NULL, NULL, NULL, 0);
}

/* For the pid of a child. Returns its status as waitpid gives it; -1: there is
 * none. */
static int wait_for(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return status;
}

/* Returns the exit status as waitpid gives it; -1: it could not be run. A child
 * of its own waits for the command, so that it does not matter whether the
 * program ignores SIGCHLD or waits for any child; it learns nothing of it. */
static int run(const char *const *argv, const char *path)
{
	char **const env = environment_without_weft();

	if (!env)
		return -1;
	const pid_t pid = clone_with(0);

	if (pid == 0) {
		signal(SIGCHLD, SIG_DFL);
		const pid_t command = clone_with(SIGCHLD);

		if (command == 0)
			become(argv, env, path);
		const int ended = wait_for(command);

		_exit(WIFEXITED(ended) ? WEXITSTATUS(ended) : 127);
	}
	const int status = wait_for(pid);

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
