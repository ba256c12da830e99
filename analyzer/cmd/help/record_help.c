/* record_help.c - runs the recorder and reads what it prints.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help/help.h"
#include "analyzer/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of the recorder's help, with the 0 at its end. */
enum { RECORD_MAX = 1 << 16 };

/* The path of the recorder, which is beside this program if it is installed. 0,
 * or -1 if there is none that can be run; no cause is added to the chain, as
 * that is no failure. */
static int recorder_path(char *path, size_t size)
{
	const ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (length <= 0)
		return -1;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if ((size_t)(slash - path) + sizeof("/weft-record") > size)
		return -1;
	strcpy(slash, "/weft-record");
	return access(path, X_OK);
}

/* Read up to the end of the file, as a text of at most RECORD_MAX bytes. More
 * than fits is not the recorder's help. */
static void read_all(int from, char *text)
{
	size_t size = 0;
	ssize_t got;

	while (size < RECORD_MAX - 1 &&
	       (got = read(from, text + size, RECORD_MAX - 1 - size)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		size += got < 0 ? 0 : (size_t)got;
	}
	text[size] = '\0';
}

char *record_help_read(void)
{
	char path[PATH_MAX];
	int ends[2];
	char *text;
	pid_t child;

	if (recorder_path(path, sizeof(path)) != 0 || pipe(ends) != 0)
		return NULL;
	/* A process of its own, since the recorder's options are known to that
	 * program alone. 127 is what shells return for a program that cannot be
	 * run. */
	child = fork();
	if (child == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl(path, "weft record", "--help", (char *)NULL);
		_exit(127);
	}
	/* Without this end closed here, too, the reading would never end. */
	close(ends[1]);
	text = mem_alloc(RECORD_MAX);
	if (child > 0)
		read_all(ends[0], text);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (text[0])
		return text;
	mem_free(text);
	return NULL;
}

const char *record_help_next(const char *help, char name[RECORD_HELP_NAME],
			     char arg[RECORD_HELP_ARG])
{
	while (help && *help) {
		const char *at = help + strspn(help, " ");

		help += strcspn(help, "\n");
		help += *help == '\n';
		if (at[0] == '-' && at[1] != '-')
			at += strcspn(at, " \n") + 1;
		arg[0] = '\0';
		if (sscanf(at, "--%31[a-z-]=%79[^ \n]", name, arg) >= 1)
			return help;
	}
	return NULL;
}

