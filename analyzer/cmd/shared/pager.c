/* pager.c - the pager as a child process, with a pipe to it in place of stdout.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/cmd.h"

#include "analyzer/base/err.h"
#include "analyzer/out/out_table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager, self;
static volatile sig_atomic_t is_left;

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

/* Wait until it ends. False: it did not begin; the shell has said why. */
static bool has_run(void)
{
	int status;

	while (waitpid(pager, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	return !WIFEXITED(status) || WEXITSTATUS(status) < 126;
}

/* weft is to end. Without it, the pager and the shell would read the same keys.
 * Processes that weft has forked just end. */
static void end(int number)
{
	if (getpid() == self) {
		close(STDOUT_FILENO);
		has_run();
	}
	_exit(128 + number);
}

/* The pager was left (SIGPIPE), which is no failure; or it did not begin. */
static void end_left(int number)
{
	if (getpid() != self)
		_exit(128 + number);
	close(STDOUT_FILENO);
	_exit(has_run() ? CMD_OK : CMD_UNREADABLE);
}

/* Nobody reads what a judge still prints. */
static void go_on(int number)
{
	const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (getpid() != self || nowhere < 0 ||
	    dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(128 + number);
	is_left = true;
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

	if (!command || cmd->is_unpaged || !isatty(STDOUT_FILENO) ||
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
		signal(SIGPIPE, cmd->is_judge ? go_on : end_left);
	}
	close(ends[0]);
	close(ends[1]);
}

bool pager_is_left(void)
{
	return is_left;
}

int pager_end(void)
{
	bool is_good;

	if (pager <= 0)
		return 0;
	fflush(stdout);
	close(STDOUT_FILENO);
	is_good = has_run();
	pager = 0;
	return is_good ? 0 : err_add("the pager did not begin: see WEFT_PAGER "
				     "and PAGER");
}
