/* cmd.c - the list of commands, and how one is run.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/cmd.h"

#include "analyzer/base/err.h"
#include "analyzer/cmd/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct cmd *const cmd_list[] = {
	&cmd_report, &cmd_tree, &cmd_callers, &cmd_coroutines, &cmd_stacks,
	&cmd_slow, &cmd_plot, &cmd_cold, &cmd_export, &cmd_merge, &cmd_diff,
	&cmd_dump, &cmd_info, &cmd_check, &cmd_help, NULL
};

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; cmd_list[i] != NULL; i++)
		if (strcmp(cmd_list[i]->name, name) == 0)
			return cmd_list[i];
	return NULL;
}

/* Output that could not be written must not look like success. */
static enum cmd_exit finish(enum cmd_exit status)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == CMD_OK) {
		err_add("cannot write the output: %s", strerror(errno));
		return CMD_UNREADABLE;
	}
	return status;
}

enum cmd_exit cmd_run(const struct cmd *cmd, int argc, char **argv)
{
	int help = 0;
	const int count = opt_parse(cmd->opts, argc, argv, &help);

	if (help) {
		err_clear();
		help_command(stdout, cmd);
		return finish(CMD_OK);
	}
	if (count < 0)
		return CMD_USAGE;
	return finish(cmd->run(count, argv));
}
