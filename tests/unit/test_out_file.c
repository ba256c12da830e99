/* test_out_file.c - what is left of a file whose writing is stopped, and what
 * stays a link.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_file.h"
#include "tests/test.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder of its own, in which the test works. */
static void enter(char *dir)
{
	CHECK(mkdtemp(dir) && chdir(dir) == 0);
}

/* How many files are here; they are removed. */
static int files(void)
{
	DIR *const here = opendir(".");
	int n = 0;

	for (struct dirent *e; (e = readdir(here)); )
		if (e->d_name[0] != '.')
			n += unlink(e->d_name) == 0;
	closedir(here);
	return n;
}

static int stop(FILE *to, void *number)
{
	fputs("half", to);
	fflush(to);
	return raise(*(int *)number);
}

static int put(FILE *to, void *text)
{
	return fputs(text, to) < 0;
}

/* As while there is a pager. */
static void end(int number)
{
	_exit(100 + number);
}

/* The signal that ended a child which wrote "file" when it came, or 0. */
static int write_and_stop(int number, void (*usual)(int))
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		signal(number, usual);
		_exit(out_file_write("file", stop, &number) != 0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) :
	       WEXITSTATUS(status) > 100 ? WEXITSTATUS(status) - 100 : 0;
}

void test_out_file_leaves_nothing_when_it_is_stopped(void)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
	char dir[] = "/tmp/weft-test-XXXXXX";

	enter(dir);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(write_and_stop(stops[i], SIG_DFL), stops[i]);
		CHECK_EQ(files(), 0);
		CHECK_EQ(write_and_stop(stops[i], end), stops[i]);
		CHECK_EQ(files(), 0);
		CHECK_EQ(write_and_stop(stops[i], SIG_IGN), 0);
		CHECK_EQ(files(), 1);
	}
	rmdir(dir);
}

void test_out_file_writes_through_a_link(void)
{
	char dir[] = "/tmp/weft-test-XXXXXX", text[8] = "";
	struct stat is;
	FILE *file;

	enter(dir);
	CHECK(symlink("real", "link") == 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(out_file_write("link", put, (void *)"new"), 0);
	CHECK(lstat("link", &is) == 0 && S_ISLNK(is.st_mode));
	file = fopen("real", "r");
	CHECK(file && fgets(text, sizeof(text), file));
	CHECK_STR(text, "new");
	if (file)
		fclose(file);
	CHECK_EQ(files(), 2);
	rmdir(dir);
}
