/* cmd.h - what a command is, and the list of them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_CMD_H
#define WEFT_ANALYZER_CMD_CMD_H

#include "analyzer/load/opt.h"

enum cmd_exit {
	CMD_OK = 0,
	CMD_USAGE = 1,       /* the command line makes no sense */
	CMD_UNREADABLE = 2,  /* nothing useful could be read or written */
	CMD_BUG = 3,         /* weft itself is wrong */
	CMD_WORSE = 4,       /* weft diff --fail-over: more than allowed */
};

struct cmd {
	const char *name;
	const char *args;     /* the operands, for the usage line */
	const char *summary;  /* half a line, no full stop */
	const char *about;    /* paragraphs, blank lines between them */
	const struct opt *opts;
	/* Gets the operands. Leaves the causes in the chain when it fails. */
	enum cmd_exit (*run)(int count, char **operands);
};

/* Ends with NULL; in the order of help. */
extern const struct cmd *const cmd_list[];

const struct cmd *cmd_find(const char *name);

/* Options, operands, run. argv[0] is the command's name. */
enum cmd_exit cmd_run(const struct cmd *, int argc, char **argv);

extern const struct cmd cmd_report, cmd_tree, cmd_callers, cmd_coroutines,
	cmd_stacks, cmd_slow, cmd_plot, cmd_cold, cmd_export, cmd_merge, cmd_diff,
	cmd_dump, cmd_info, cmd_check, cmd_help;

#endif
