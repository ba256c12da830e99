/* help_man.c - the man page weft(1): fixed text around what the commands' and
 * options' rows say.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <string.h>

/* Text, line by line, as troff; an empty line starts a paragraph. */
static void put_lines(FILE *to, const char *text, const char *paragraph)
{
	while (*text != '\0') {
		const size_t length = strcspn(text, "\n");
		char *const line = mem_alloc(length + 1);
		char *safe;

		memcpy(line, text, length);
		safe = out_escape_roff(line);
		fprintf(to, "%s\n", length == 0 ? paragraph : safe);
		mem_free(safe);
		mem_free(line);
		text += length + (text[length] == '\n');
	}
}

static void put_option(void *ctx, const struct opt *row)
{
	FILE *const to = ctx;
	char text[800];
	char *const name = out_escape_roff(row->name);

	fputs(".TP\n", to);
	if (row->letter != '\0')
		fprintf(to, "\\fB\\-%c\\fR, ", row->letter);
	fprintf(to, "\\fB\\-\\-%s\\fR", name);
	if (row->arg)
		fprintf(to, " \\fI%s\\fR", row->arg);
	fputc('\n', to);
	put_lines(to, opt_help(row, text, sizeof(text)), ".br");
	mem_free(name);
}

static void put_command(FILE *to, const struct cmd *cmd)
{
	fprintf(to, ".SS weft %s [options] %s\n", cmd->name, cmd->args);
	put_lines(to, cmd->about, ".PP");
	opt_each(cmd->opts, put_option, to);
}

static const char *const head =
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

static const char *const tail =
	".SH CSV\n"
	"\\fB\\-\\-csv\\fR prints a header row and then one row a line,\n"
	"quoted as RFC 4180 says. Times are nanoseconds. Names are whole;\n"
	"control characters in them are shown as \\ex1b or \\eu202e. A name\n"
	"that a spreadsheet would take for a formula, because it starts\n"
	"with = + \\- @ or a control character, gets a \\(aq in front. What\n"
	"was lost is printed to standard error, on lines that start with #.\n"
	".SH EXIT STATUS\n"
	"0: all went well. 1: the command line makes no sense. 2: nothing\n"
	"useful could be read or written; for\n"
	".BR \"weft check\" :\n"
	"the trace is not whole. 3: a bug in weft.\n"
	".B weft record\n"
	"returns the exit status of the program.\n"
	".SH ENVIRONMENT\n.TP\n.B DEBUGINFOD_URLS\n"
	"Servers asked for debug files that are not on this machine, if the\n"
	"library libdebuginfod is installed. Unset, nobody is asked.\n"
	".SH FILES\n.TP\n.I /usr/lib/debug/.build\\-id\n"
	"Debug files of stripped programs, found by build\\-id.\n"
	".SH SEE ALSO\n"
	".BR babeltrace2 (1),\n.BR lttng (1),\n.BR gnuplot (1)\n";

void help_man(FILE *to, const char *record_help)
{
	fputs(head, to);
	if (!record_help) {
		fputs("See\n.BR \"weft record \\-\\-help\" .\n", to);
	} else {
		fputs(".nf\n", to);
		put_lines(to, record_help, "");
		fputs(".fi\n", to);
	}
	fputs(".SH READING\n", to);
	for (size_t i = 0; cmd_list[i] != NULL; i++)
		put_command(to, cmd_list[i]);
	fputs(tail, to);
}
