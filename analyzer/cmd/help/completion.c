/* completion.c - scripts for bash and zsh, and rules for fish.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help/help.h"

#include <string.h>

/* One of the words that may follow a command. */
static void print_word(void *ctx, const struct opt *row)
{
	(void)ctx;
	printf(" --%s", row->name);
}

/* A line of the shell's case: the words that may follow this option. ctx is the
 * command's name. */
static void print_choices(void *ctx, const struct opt *row)
{
	const char *const command = ctx;

	if (!opt_word(row, 0))
		return;
	printf("\t\"%s --%s\"", command, row->name);
	if (row->letter)
		printf(" | \"%s -%c\"", command, row->letter);
	fputs(") choice=\"", stdout);
	for (size_t i = 0; opt_word(row, i); i++)
		printf("%s%s", i > 0 ? " " : "", opt_word(row, i));
	fputs("\" ;;\n", stdout);
}

/* A line of the shell's case: the words that may follow the command itself,
 * where a file may, too. */
static void print_operands(const struct cmd *c)
{
	if (!c->word)
		return;
	printf("\t\"%s %s\") files=-f choice=\"", c->name, c->name);
	for (size_t i = 0; c->word(i); i++)
		printf("%s%s", i > 0 ? " " : "", c->word(i));
	fputs("\" ;;\n", stdout);
}

/* The words that may follow "weft record"; help NULL: none are known. */
static void print_record_words(const char *help)
{
	char name[RECORD_HELP_NAME], arg[RECORD_HELP_ARG];

	fputs("\trecord) words=\"", stdout);
	for (const char *at = help;
	     (at = record_help_next(at, name, arg)) != NULL; )
		printf(" --%s", name);
	fputs("\" ;;\n", stdout);
}

/* The choices of the recorder's options, which stand in its help as a|b|c. */
static void print_record_choices(const char *help)
{
	char name[RECORD_HELP_NAME], arg[RECORD_HELP_ARG];

	for (const char *at = help;
	     (at = record_help_next(at, name, arg)) != NULL; ) {
		if (!strchr(arg, '|'))
			continue;
		for (char *c = arg; *c; c++)
			if (*c == '|')
				*c = ' ';
		printf("\t\"record --%s\") choice=\"%s\" ;;\n", name, arg);
	}
}

/* A script for bash with two cases: the words that may follow a command, and
 * those that may follow an option of it. Its variables: word is the one to
 * complete, before the one in front of it; choice are the words that an option
 * (or "weft" itself) takes, beside files if there is -f in files; words are the
 * command's options, proposed after a dash. Where none of them says anything,
 * names of files are completed. record: the recorder's help, or NULL. */
static void print_bash(const struct cmd *const *commands, const char *record)
{
	fputs("# Completion of weft's commands and options for bash.\n"
	      "_weft() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} words= choice= files=\n"
	      "\tlocal before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tchoice=\"record", stdout);
	for (const struct help_control *c = help_controls; c->name; c++)
		printf(" %s", c->name);
	for (const struct cmd *const *c = commands; *c; c++)
		printf(" %s", (*c)->name);
	fputs("\"\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", stdout);
	print_record_words(record);
	for (const struct cmd *const *c = commands; *c; c++) {
		printf("\t%s) words=\"", (*c)->name);
		help_each_option(*c, print_word, NULL);
		fputs("\" ;;\n", stdout);
	}
	fputs("\tesac\n\tcase \"${COMP_WORDS[1]} $before\" in\n", stdout);
	print_record_choices(record);
	for (const struct cmd *const *c = commands; *c; c++) {
		print_operands(*c);
		help_each_option(*c, print_choices,
				 (void *)(uintptr_t)(*c)->name);
	}
	fputs("\tesac\n"
	      "\tif [ -n \"$choice\" ] && { [ -z \"$files\" ] || "
	      "[ \"${word#-}\" = \"$word\" ]; }; then\n"
	      "\t\tCOMPREPLY=($(compgen $files -W \"$choice\" -- "
	      "\"$word\"))\n"
	      "\telif [ \"${word#-}\" != \"$word\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "\tfi\n"
	      "}\ncomplete -o filenames -F _weft weft\n", stdout);
}

/* zsh has what bash has, if it is asked for that. */
static void print_zsh(const struct cmd *const *commands, const char *record)
{
	fputs("#compdef weft\nautoload -U +X bashcompinit && bashcompinit\n",
	      stdout);
	print_bash(commands, record);
}

/* One word of fish; the text's line ends become spaces. */
static void put_fish(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text == '\n' ? ' ' : *text);
	}
	putchar('\'');
}

/* ctx is the command's name. Without words of its own, an argument may be a
 * file. */
static void print_fish_option(void *ctx, const struct opt *row)
{
	printf("complete -c weft -n '__fish_seen_subcommand_from %s' -l %s",
	       (const char *)ctx, row->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (row->type != OPT_FLAG)
		fputs(opt_word(row, 0) ? " -x -a '" : " -r", stdout);
	for (size_t i = 0; row->type != OPT_FLAG && opt_word(row, i); i++)
		printf("%s%s", i > 0 ? " " : "", opt_word(row, i));
	fputs(row->type != OPT_FLAG && opt_word(row, 0) ? "' -d " : " -d ",
	      stdout);
	put_fish(row->help);
	putchar('\n');
}

static void print_fish_command(const char *name, const char *summary)
{
	printf("complete -c weft -n __fish_use_subcommand -f -a %s -d ", name);
	put_fish(summary);
	putchar('\n');
}

static void print_fish(const struct cmd *const *commands, const char *record)
{
	char name[RECORD_HELP_NAME], arg[RECORD_HELP_ARG];

	puts("# Completion of weft's commands and options for fish.");
	print_fish_command("record", "record a program");
	for (const struct help_control *c = help_controls; c->name; c++)
		print_fish_command(c->name, c->summary);
	for (const char *at = record;
	     (at = record_help_next(at, name, arg)) != NULL; )
		printf("complete -c weft -n '__fish_seen_subcommand_from "
		       "record' -l %s%s\n", name, arg[0] ? " -r" : "");
	for (const struct cmd *const *c = commands; *c; c++) {
		print_fish_command((*c)->name, (*c)->summary);
		for (size_t i = 0; (*c)->word && (*c)->word(i); i++)
			printf("complete -c weft -n '__fish_seen_subcommand_"
			       "from %s' -a %s\n", (*c)->name, (*c)->word(i));
		help_each_option(*c, print_fish_option,
				 (void *)(uintptr_t)(*c)->name);
	}
}

const char *const completion_shells[] = { "bash", "zsh", "fish", NULL };

void completion_print(int shell, const struct cmd *const *commands,
		      const char *record)
{
	static void (*const prints[])(const struct cmd *const *, const char *)
		= { print_bash, print_zsh, print_fish };

	prints[shell](commands, record);
}

