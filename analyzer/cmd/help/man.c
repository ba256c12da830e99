/* man.c - the man page: what is the same in every version of weft, and between
 * that what the commands say of themselves.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help/help.h"
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "tracepoints/control.h"

#include <string.h>

/* Text, line by line, as troff; an empty line becomes `paragraph`. Each line is
 * escaped by itself: a dot or quote has a meaning only at the start of a
 * line. */
static void put_lines(const char *text, const char *paragraph)
{
	while (*text) {
		const size_t length = strcspn(text, "\n");
		char *const line = mem_alloc(length + 1);
		char *safe;

		memcpy(line, text, length);
		safe = out_escape_roff(line);
		printf("%s\n", length == 0 ? paragraph : safe);
		mem_free_all(safe, line);
		text += length + (text[length] == '\n');
	}
}

/* An option in the man page, with the metrics of --columns below it, as
 * the help has them. */
static void put_option(void *ctx, const struct opt *row)
{
	char *const name = out_escape_roff(row->name);
	char text[HELP_SIZE];
	const struct metric *m;

	(void)ctx;
	fputs(".TP\n", stdout);
	if (row->letter)
		printf("\\fB\\-%c\\fR, ", row->letter);
	printf("\\fB\\-\\-%s\\fR", name);
	if (row->arg)
		printf(" \\fI%s\\fR", row->arg);
	putchar('\n');
	put_lines(opt_help(row, text, sizeof(text)), ".br");
	mem_free(name);
	if (row->type != OPT_COLUMNS)
		return;
	for (size_t i = 0; (m = opt_metric(row, i)) != NULL; i++) {
		snprintf(text, sizeof(text), "%s: %s", m->name, m->help);
		puts(".br");
		put_lines(text, ".br");
	}
}

/* The man page up to the recorder's options. Options and commands are not in
 * this text: they are made from the rows, so that they cannot be out of
 * date. */
static const char man_begin[] =
	".\\\" Made by \"weft help --man\"; do not edit.\n"
	".TH WEFT 1 \"\" \"weft " WEFT_VERSION "\" \"User Commands\"\n"
	".SH NAME\n"
	"weft \\- record native and Lua calls and see where time went\n"
	".SH SYNOPSIS\n"
	".B weft record\n[\\fB\\-o\\fR \\fIDIR\\fR] [options] \\fB\\-\\-\\fR "
	"\\fIprogram\\fR [\\fIargs\\fR]\n.br\n"
	".B weft\n\\fICOMMAND\\fR [options] \\fIDIR\\fR\n"
	".SH DESCRIPTION\n"
	"weft records every native and Lua call of a running program into\n"
	"a compact trace and rebuilds from it what each thread and each\n"
	"coroutine was doing: one stack in which native and Lua frames\n"
	"stand together, with exact call counts and self, total and\n"
	"suspended times.\n"
	".PP\n"
	"Native code takes part if it was built with\n"
	".BR \\-finstrument\\-functions ;\n"
	"Lua code takes part as it is.\n"
	".SH RECORDING\n";

/* What follows the commands in the man page. The statuses are those of enum
 * cmd_exit. */
static const char man_end[] =
	".SH CSV\n"
	"\\fB\\-\\-csv\\fR prints a header row and then one row a line,\n"
	"quoted as RFC 4180 says. Times are nanoseconds. Names are whole;\n"
	"control characters in them are shown as \\ex1b or \\eu202e. A name\n"
	"that a spreadsheet would take for a formula, because it starts\n"
	"with = + \\- @ or a control character, gets a \\(aq in front. What\n"
	"was lost is printed to standard error, on lines that start with #.\n"
	".SH EXIT STATUS\n"
	".TP\n.B 0\nAll went well.\n"
	".TP\n.B 1\nThe command line makes no sense.\n"
	".TP\n.B 2\nNothing useful could be read or written; for\n"
	".BR \"weft check\" :\n"
	"the trace is not complete.\n"
	".TP\n.B 3\nA bug in weft.\n"
	".TP\n.B 4\n"
	".B weft diff \\-\\-fail\\-over\n"
	"found more than it allows.\n"
	".PP\n"
	".B weft record\n"
	"returns the exit status of the program; 127 if there is none of\n"
	"that name, 126 if it cannot be run; 1 or 2, as above, if the\n"
	"recording cannot begin.\n"
	".SH ENVIRONMENT\n.TP\n.B COLUMNS\n"
	"The width of tables; if it is not set, that of the terminal.\n"
	".TP\n.B DEBUGINFOD_URLS\n"
	"Servers that are asked for debug files that are not on this machine,\n"
	"if the library libdebuginfod is installed. If it is not set, no\n"
	"server is asked.\n"
	".TP\n.B NO_COLOR\n"
	"If it is set and not empty, nothing is printed in colour.\n"
	".TP\n.B WEFT_LABELS\n"
	"Labels that\n.B weft record\nputs into each trace:\n"
	"KEY=VALUE,KEY=VALUE. If the command line gives the same key, the\n"
	"command line counts.\n"
	".TP\n.B WEFT_PAGER\n.TQ\n.B PAGER\n"
	"What shows tables and texts on a terminal, page by page; less if\n"
	"neither is set, nothing if it is empty or cat. If LESS is not set,\n"
	"it is set to FRX: what fits on the screen is printed at once.\n"
	".TP\n.B TMPDIR\n"
	"Where\n.B weft validate\nputs its traces; /var/tmp if it is not set.\n"
	".SH FILES\n.TP\n.I /usr/lib/debug/.build\\-id\n"
	"Debug files of stripped programs, found by build\\-id.\n"
	".SH SEE ALSO\n"
	".BR babeltrace2 (1),\n.BR lttng (1),\n.BR gnuplot (1)\n";

void man_print(const struct cmd *const *commands, const char *record)
{
	fputs(man_begin, stdout);
	if (!record) {
		fputs("See\n.BR \"weft record \\-\\-help\" .\n", stdout);
	} else {
		fputs(".nf\n", stdout);
		put_lines(record, "");
		fputs(".fi\n", stdout);
	}
	for (const struct help_control *c = help_controls; c->name; c++)
		printf(".SS weft %s %s\n%s.\n", c->name, c->args, c->summary);
	put_lines("\n" CONTROL_OPERANDS, ".PP");
	fputs(".SH READING\n", stdout);
	for (; *commands; commands++) {
		printf(".SS weft %s [options] %s\n", (*commands)->name,
		       (*commands)->args);
		put_lines((*commands)->about, ".PP");
		help_each_option(*commands, put_option, NULL);
	}
	fputs(man_end, stdout);
}
