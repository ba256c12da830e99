/* help.c - the options of a command as rows, and help in lines of 80
 * columns.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help/help.h"
#include "analyzer/load/load.h"
#include "tracepoints/control.h"

#include <string.h>

const struct help_control help_controls[] = {
#define X(name, args, summary) { #name, args, summary },
	CONTROL_COMMANDS(X)
#undef X
	{ NULL, NULL, NULL }
};

/* --help, which every command takes without having a row for it. */
static bool arg_help;

static const struct opt help_opts[] = {
	{ .type = OPT_FLAG, .letter = 'h', .name = "help", .to = &arg_help,
	  .help = "print this" },
	{ .type = OPT_END }
};

bool help_is_asked(void)
{
	return arg_help;
}

/* What the caller of help_each_option wants for each row. */
struct each { const struct cmd *cmd; opt_fn fn; void *ctx; };

/* Filters that the command refuses are not among its options: help that lists
 * them would be wrong. */
static void each_row(void *ctx, const struct opt *row)
{
	const struct each *const e = ctx;

	if (!filter_args_is_refused(e->cmd->refused, row))
		e->fn(e->ctx, row);
}

struct help_options help_options_of(const struct cmd *cmd)
{
	return (struct help_options){ {
		{ .type = OPT_MORE, .more = cmd->opts },
		{ .type = OPT_MORE, .more = cmd->print ? filter_opts : NULL },
		{ .type = OPT_MORE, .more = !cmd->print ? NULL :
		  cmd->has_net ? load_net_opts : load_opts },
		{ .type = OPT_MORE, .more = help_opts },
		{ .type = OPT_END } } };
}

void help_each_option(const struct cmd *cmd, opt_fn fn, void *ctx)
{
	const struct help_options all = help_options_of(cmd);
	struct each e = { cmd, fn, ctx };

	opt_each(all.row, each_row, &e);
}

/* ---- help --------------------------------------------------------------- */

/* Columns of the help on a terminal of 80: where the text of an option begins,
 * how wide the names of metrics are below it, and where a line ends. */
enum { OPTION_COLUMN = 26, METRIC_NAME_WIDTH = 14, LINE_END = 78 };

/* The recorder is no command of this program, but users look for it here
 * first. */
void help_print_overview(const struct cmd *const *commands)
{
	fputs("usage: weft COMMAND [options] ...\n\n"
	      "  record       run a program and record its native and Lua "
	      "calls\n", stdout);
	for (const struct help_control *c = help_controls; c->name; c++)
		printf("  %-11s  %s\n", c->name, c->summary);
	for (; *commands; commands++)
		printf("  %-11s  %s\n", (*commands)->name,
		       (*commands)->summary);
	fputs("\n\"weft COMMAND --help\" explains a command.\n",
	      stdout);
}

/* Words in lines that end before LINE_END; the first begins in the column `at`,
 * OPTION_COLUMN or beyond. A word that is longer than a line stands alone and
 * passes the end. */
static void print_wrapped(const char *text, size_t at)
{
	while (*text) {
		const size_t length = strcspn(text, " ");

		if (at > OPTION_COLUMN && at + 1 + length > LINE_END) {
			printf("\n%*s", OPTION_COLUMN, "");
			at = OPTION_COLUMN;
		} else if (at > OPTION_COLUMN) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)length, text);
		at += length;
		text += length + (text[length] == ' ');
	}
	putchar('\n');
}

/* An option with its text to the right of it, or below it if its name is long.
 * --columns is followed by the metrics that it takes, each with its meaning. */
static void print_option(void *ctx, const struct opt *row)
{
	char letter[8] = "    ", name[80], text[HELP_SIZE];
	const struct metric *m;

	(void)ctx;
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(name, sizeof(name), "%s--%s%s%s", letter, row->name,
		 row->arg ? " " : "", row->arg ? row->arg : "");
	if (strlen(name) >= OPTION_COLUMN - 3)
		printf("  %s\n%*s", name, OPTION_COLUMN, "");
	else
		printf("  %-*s", OPTION_COLUMN - 2, name);
	print_wrapped(opt_help(row, text, sizeof(text)), OPTION_COLUMN);
	if (row->type != OPT_COLUMNS)
		return;
	for (size_t i = 0; (m = opt_metric(row, i)) != NULL; i++) {
		printf("%*s%-*s", OPTION_COLUMN, "", METRIC_NAME_WIDTH,
		       m->name);
		print_wrapped(m->help, OPTION_COLUMN + METRIC_NAME_WIDTH);
	}
}

void help_print_command(const struct cmd *cmd)
{
	printf("usage: weft %s [options] %s\n\n%s\n\n", cmd->name, cmd->args,
	       cmd->about);
	help_each_option(cmd, print_option, NULL);
}
