/* reading.c - the frame of the commands that read traces. Knows the order of
 * the steps, and nothing of what any command prints.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/reading.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"

#include <stdio.h>
#include <string.h>
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

int reading_can_sort(const struct session *s, bool takes_switches,
		     const char *key)
{
	return !takes_switches || cct_knows_switches(s->cct, NULL, NULL) ? 0 :
	       err_add("cannot sort by %s: the trace holds no context "
		       "switches, or too few; see weft info", key);
}

char *reading_words(int count, const char *const *traces)
{
	char *all = mem_copy("");

	for (int i = 0; i < count; i++) {
		char *const word = out_escape_shell(traces[i]);
		char *const before = all;

		all = mem_print("%s%s%s%s", before, *before ? " " : "",
				traces[i][0] == '-' ? "./" : "", word);
		mem_free_all(before, word);
	}
	return all;
}

/* Does the user name a column of memory, or all of them? */
static bool wants_heap(const struct reading *r, bool by_name)
{
	return (table_args.sort && (table_args.sort->flags & METRIC_HEAP)) ||
	       (metric_has(&r->table.columns, METRIC_HEAP) &&
		!(by_name && strcmp(table_args.columns, "all") == 0));
}

static enum cmd_exit need_heap(const struct reading *r)
{
	if (!wants_heap(r, true) || cct_has_heap(r->load.session->cct))
		return CMD_OK;
	err_add("no memory was recorded: weft record --heap records it");
	return CMD_UNREADABLE;
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
	load_want_heap(wants_heap(&r, false));
	status = cmd->merges ?
		 load_open_merged(&r.load, &r.want, r.count, r.operands) :
		 load_open_with(&r.load, &r.want, r.count, r.operands);
	if (status == CMD_OK && cmd->needs)
		status = load_need_trace(&r.load, cmd->needs);
	if (status == CMD_OK)
		status = need_heap(&r);
	if (status == CMD_OK)
		status = cmd->print(&r);
	load_close(&r.load);
	return status;
}
