/* pager.c - the pager as a child process, with a pipe to it in place of stdout.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/cmd.h"

#include "analyzer/out/out_table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager, self;

/* Commands whose output on stdout is a file, a picture, or a few lines. */
static bool is_paged(const struct cmd *cmd)
{
	static const char *const other[] = { "plot", "html", "export",
					     "top", "validate", "help" };

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (strcmp(cmd->name, other[i]) == 0)
			return false;
	return true;
}

/* What the shell is to run; NULL: nothing. */
static const char *program(void)
{
	const char *const own = getenv("WEFT_PAGER");
	const char *const name = own ? own : getenv("PAGER");

	if (name && (name[0] == '\0' || strcmp(name, "cat") == 0))
		return NULL;
	return name ? name : "command -v less >/dev/null 2>&1 && exec less; "
			     "exec cat";
}

/* The pager was left (SIGPIPE), which is no failure; or weft is to end. Without
 * weft, the pager and the shell would read the same keys. Processes that weft
 * has forked just end. */
static void end(int number)
{
	if (getpid() == self) {
		close(STDOUT_FILENO);
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
	}
	_exit(getpid() == self && number == SIGPIPE ? 0 : 128 + number);
}

static _Noreturn void become(const char *command, const int ends[2])
{
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_start(const struct cmd *cmd)
{
	const char *const command = program();
	char columns[24];
	int ends[2];

	if (!command || !is_paged(cmd) || !isatty(STDOUT_FILENO) ||
	    pipe(ends) != 0)
		return;
	snprintf(columns, sizeof(columns), "%zu", out_table_terminal(stdout));
	setenv("COLUMNS", columns, 1);
	pager = fork();
	if (pager == 0)
		become(command, ends);
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		self = getpid();
		signal(SIGINT, end);
		signal(SIGTERM, end);
		signal(SIGPIPE, end);
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_end(void)
{
	if (pager <= 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}
