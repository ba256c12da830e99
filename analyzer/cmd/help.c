/* help.c - help and completion, printed from the commands' and options' rows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help.h"

#include <string.h>

enum { OPTION_COLUMN = 26, LINE_END = 78 };

void help_version(FILE *to)
{
	fputs("weft " WEFT_VERSION "\n", to);
}

void help_overview(FILE *to)
{
	fputs("usage: weft COMMAND [options] ...\n\n"
	      "  record       run a program and record its native and Lua "
	      "calls\n",
	      to);
	for (size_t i = 0; cmd_list[i] != NULL; i++)
		fprintf(to, "  %-11s  %s\n", cmd_list[i]->name,
			cmd_list[i]->summary);
	fputs("\n\"weft COMMAND --help\" tells more.\n", to);
}

/* "-n, --top N" */
static void option_head(const struct opt *row, char *to, size_t size)
{
	char letter[8] = "    ";

	if (row->letter != '\0')
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(to, size, "%s--%s%s%s", letter, row->name,
		 row->arg != NULL ? " " : "", row->arg != NULL ? row->arg : "");
}

/* Words in lines that end before LINE_END; at is the column reached. */
static void print_wrapped(FILE *to, const char *text, size_t at)
{
	while (*text != '\0') {
		const size_t length = strcspn(text, " ");

		if (at > OPTION_COLUMN && at + 1 + length > LINE_END) {
			fprintf(to, "\n%*s", OPTION_COLUMN, "");
			at = OPTION_COLUMN;
		} else if (at > OPTION_COLUMN) {
			fputc(' ', to);
			at++;
		}
		fprintf(to, "%.*s", (int)length, text);
		at += length;
		text += length + (text[length] == ' ');
	}
	fputc('\n', to);
}

static void print_option(void *ctx, const struct opt *row)
{
	FILE *const to = ctx;
	char head[80], text[800];

	option_head(row, head, sizeof(head));
	fprintf(to, "  %-*s", OPTION_COLUMN - 2, head);
	if (strlen(head) >= OPTION_COLUMN - 3)
		fprintf(to, "\n%*s", OPTION_COLUMN, "");
	print_wrapped(to, opt_help(row, text, sizeof(text)), OPTION_COLUMN);
}

void help_command(FILE *to, const struct cmd *cmd)
{
	static const struct opt help[] = {
		{ .type = OPT_FLAG, .name = "help", .help = "print this" },
		{ .type = OPT_END }
	};

	fprintf(to, "usage: weft %s [options] %s\n\n%s\n\n", cmd->name,
		cmd->args, cmd->about);
	opt_each(cmd->opts, print_option, to);
	opt_each(help, print_option, to);
}

/* --- completion ------------------------------------------------------- */

struct completion { FILE *to; const char *command; };

static void print_word(void *ctx, const struct opt *row)
{
	fprintf(ctx, " --%s", row->name);
}

/* A line of the shell's case: which words may follow this option. */
static void print_choices(void *ctx, const struct opt *row)
{
	const struct completion *const c = ctx;

	if (row->type != OPT_CHOICE)
		return;
	fprintf(c->to, "\t\"%s --%s\"", c->command, row->name);
	if (row->letter != '\0')
		fprintf(c->to, " | \"%s -%c\"", c->command, row->letter);
	fputs(") choice=\"", c->to);
	for (size_t i = 0; row->choices[i] != NULL; i++)
		fprintf(c->to, "%s%s", i > 0 ? " " : "", row->choices[i]);
	fputs("\" ;;\n", c->to);
}

void help_completion(FILE *to)
{
	struct completion c = { .to = to };

	fputs("# Completion of weft's commands and options for bash.\n"
	      "_weft() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} words= choice=\n"
	      "\tlocal before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tchoice=\"record", to);
	for (size_t i = 0; cmd_list[i] != NULL; i++)
		fprintf(to, " %s", cmd_list[i]->name);
	fputs("\"\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", to);
	for (size_t i = 0; cmd_list[i] != NULL; i++) {
		fprintf(to, "\t%s) words=\"--help", cmd_list[i]->name);
		opt_each(cmd_list[i]->opts, print_word, to);
		fputs("\" ;;\n", to);
	}
	fputs("\tesac\n\tcase \"${COMP_WORDS[1]} $before\" in\n", to);
	for (size_t i = 0; cmd_list[i] != NULL; i++) {
		c.command = cmd_list[i]->name;
		opt_each(cmd_list[i]->opts, print_choices, &c);
	}
	fputs("\tesac\n"
	      "\tif [ -n \"$choice\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$choice\" -- \"$word\"))\n"
	      "\telif [ \"${word#-}\" != \"$word\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "\tfi\n"
	      "}\ncomplete -o filenames -F _weft weft\n", to);
}
