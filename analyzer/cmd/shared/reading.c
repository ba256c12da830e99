/* reading.c - the frame of the commands that read traces. Knows the order of
 * the steps, and nothing of what any command prints.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/reading.h"

#include "analyzer/base/err.h"
#include "analyzer/load/header.h"

#include <stdio.h>
#include <unistd.h>

int reading_take_function(struct reading *r, const char *also)
{
	if (r->count == 0 ||
	    (r->count == 1 && access(r->operands[0], F_OK) == 0))
		return err_add("a function is needed: give its name%s, then "
			       "the folder that weft record made", also);
	r->function = r->operands[0];
	r->operands++;
	r->count--;
	return 0;
}

void reading_begin_header(const struct load *load)
{
	if (table_args.csv)
		header_print_losses(load);
	else
		header_begin(stdout, load);
}

void reading_print_header(const struct load *load)
{
	reading_begin_header(load);
	if (!table_args.csv)
		putchar('\n');
}

/* What was wrong with the command line is told before the trace is read, which
 * may take long. */
enum cmd_exit reading_run(const struct cmd *cmd, int count, char **operands)
{
	struct reading r = { .count = count, .operands = operands,
			     .wants_net = cmd->has_net,
			     .table.csv = table_args.csv };
	enum cmd_exit status;

	if (cmd->prepare && cmd->prepare(&r) != 0)
		return CMD_USAGE;
	load_want_net(r.wants_net);
	status = cmd->merges ?
		 load_open_merged(&r.load, &r.want, r.count, r.operands) :
		 load_open_with(&r.load, &r.want, r.count, r.operands);
	if (status == CMD_OK && cmd->needs)
		status = load_need_trace(&r.load, cmd->needs);
	if (status == CMD_OK)
		status = cmd->print(&r);
	load_close(&r.load);
	return status;
}
