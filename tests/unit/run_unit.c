/* run_unit.c - runs the tests of one program, each in a process of its own, so
 * that a crash fails one test only. "test_x NAME..." runs those named.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIME_LIMIT = 500, SKIPPED = 77 };

static unsigned failures;
enum { MADE = 64 }; /* files that are there at a time */
static char made[MADE][64];
static size_t made_count;

bool test_check(bool held, const char *what, const char *file, int line)
{
	if (held)
		return true;
	failures++;
	printf("%s:%d: not so: %s\n", file, line, what);
	return false;
}

bool test_check_eq(long long a, long long b, const char *what,
		   const char *file, int line)
{
	if (a == b)
		return true;
	failures++;
	printf("%s:%d: not so: %s (%lld, %lld)\n", file, line, what, a, b);
	return false;
}

bool test_check_str(const char *a, const char *b, const char *what,
		    const char *file, int line)
{
	if (a == b || (a && b && strcmp(a, b) == 0))
		return true;
	failures++;
	printf("%s:%d: not so: %s\n  \"%s\"\n  \"%s\"\n", file, line, what,
	       a ? a : "(null)", b ? b : "(null)");
	return false;
}

bool test_check_mem(const void *a, const void *b, size_t n, const char *what,
		    const char *file, int line)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	while (i < n && x[i] == y[i])
		i++;
	if (i == n)
		return true;
	failures++;
	printf("%s:%d: not so: %s (byte %zu of %zu: 0x%02x, 0x%02x)\n", file,
	       line, what, i, n, x[i], y[i]);
	return false;
}

void test_skip(const char *reason)
{
	printf("%s\n", reason);
	fflush(NULL);
	_exit(SKIPPED);
}

static void remove_made(void)
{
	for (size_t i = 0; i < made_count && i < MADE; i++)
		unlink(made[i]);
}

const char *test_file(const void *bytes, size_t n)
{
	char *const path = made[made_count % MADE];
	const char *dir = getenv("T");
	const char *at = bytes;

	if (made_count++ >= MADE)
		unlink(path);
	snprintf(path, sizeof(made[0]), "%.40s/file-XXXXXX",
		 dir && strlen(dir) <= 40 ? dir : "/tmp");
	const int fd = mkstemp(path);

	if (fd < 0)
		abort();
	while (n > 0) {
		const ssize_t wrote = write(fd, at, n);

		if (wrote <= 0)
			abort();
		at += wrote;
		n -= (size_t)wrote;
	}
	close(fd);
	return path;
}

static bool run_one(const struct test_case *t)
{
	fflush(NULL);
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		alarm(TIME_LIMIT);
		t->run();
		remove_made();
		fflush(NULL);
		exit(failures > 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		printf("skip %s\n", t->name);
	else if (status == 0)
		printf("pass %s\n", t->name);
	else if (WIFSIGNALED(status))
		printf("FAIL %s (signal %d)\n", t->name, WTERMSIG(status));
	else
		printf("FAIL %s\n", t->name);
	return status == 0 || WEXITSTATUS(status) == SKIPPED;
}

static bool is_named(const char *name, int count, char **names)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return count == 0;
}

int main(int argc, char **argv)
{
	bool good = true;

	for (const struct test_case *t = test_cases; t->name; t++)
		if (is_named(t->name, argc - 1, argv + 1))
			good &= run_one(t);
	return good ? 0 : 1;
}
