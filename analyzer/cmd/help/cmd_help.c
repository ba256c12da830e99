/* cmd_help.c - the list of commands, how one of them is run, and all that is
 * told about them: "weft help", --help, the man page and the completion, each
 * printed from the rows of the commands' options. Knows no option of a single
 * command: whatever it prints of one is in that one's rows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/guess.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/pager.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "tracepoints/control.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDRESS(name) &cmd_##name,
/* All commands of CMD_LIST, in the order in which they are listed. */
static const struct cmd *const commands[] = { CMD_LIST(ADDRESS) };

/* How many there are; the recorder is not among them. */
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* The recorder's commands beside "weft record". */
static const struct { const char *name, *summary; } controls[] = {
#define X(name, summary) { #name, summary },
	CONTROL_COMMANDS(X)
#undef X
};
enum { CONTROLS = sizeof(controls) / sizeof(controls[0]) };

/* A name must be whole: a short form would change its meaning with each new
 * command. */
const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

int cmd_none(const char *name)
{
	struct guess guess;
	char text[GUESS_TEXT];

	guess_init(&guess, name);
	for (size_t i = 0; i < COMMANDS; i++)
		guess_offer(&guess, commands[i]->name,
			    strlen(commands[i]->name));
	for (size_t i = 0; i < CONTROLS; i++)
		guess_offer(&guess, controls[i].name, strlen(controls[i].name));
	guess_offer(&guess, "record", strlen("record"));
	return err_add("there is no command \"%s\"%s", name,
		       guess_text(&guess, "\"weft help\" lists them all", text,
				  sizeof(text)));
}

/* --help, which every command takes without having a row for it. */
static bool arg_help;

static const struct opt help_opts[] = {
	{ .type = OPT_FLAG, .letter = 'h', .name = "help", .to = &arg_help,
	  .help = "print this" },
	{ .type = OPT_END }
};

/* Of each_option: what the caller wants for each row. */
struct each { const struct cmd *cmd; opt_fn fn; void *ctx; };

/* Filters that the command refuses are not among its options: help that lists
 * them would be wrong. */
static void each_row(void *ctx, const struct opt *row)
{
	const struct each *const e = ctx;

	if (!filter_args_is_refused(e->cmd->refused, row))
		e->fn(e->ctx, row);
}

/* All options that the command takes, --help last: its own, and those of every
 * command that reads traces. */
struct options { struct opt row[5]; };

static struct options options_of(const struct cmd *cmd)
{
	return (struct options){ {
		{ .type = OPT_MORE, .more = cmd->opts },
		{ .type = OPT_MORE, .more = cmd->print ? filter_opts : NULL },
		{ .type = OPT_MORE, .more = !cmd->print ? NULL :
		  cmd->has_net ? load_net_opts : load_opts },
		{ .type = OPT_MORE, .more = help_opts },
		{ .type = OPT_END } } };
}

/* Call fn for the rows of all options. */
static void each_option(const struct cmd *cmd, opt_fn fn, void *ctx)
{
	const struct options all = options_of(cmd);
	struct each e = { cmd, fn, ctx };

	opt_each(all.row, each_row, &e);
}

/* ---- help --------------------------------------------------------------- */

/* Columns of the help on a terminal of 80: where the text of an option begins,
 * how wide the names of metrics are below it, and where a line ends. HELP_SIZE:
 * bytes of one option's text. */
enum { OPTION_COLUMN = 26, METRIC_NAME_WIDTH = 14, LINE_END = 78,
       HELP_SIZE = 800 };

/* "weft help" alone. The recorder is no command of this program, but users look
 * for it here first. */
static void print_overview(void)
{
	fputs("usage: weft COMMAND [options] ...\n\n"
	      "  record       run a program and record its native and Lua "
	      "calls\n", stdout);
	for (size_t i = 0; i < CONTROLS; i++)
		printf("  %-11s  %s\n", controls[i].name, controls[i].summary);
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-11s  %s\n", commands[i]->name,
		       commands[i]->summary);
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

	(void)ctx;
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(name, sizeof(name), "%s--%s%s%s", letter, row->name,
		 row->arg ? " " : "", row->arg ? row->arg : "");
	printf("  %-*s", OPTION_COLUMN - 2, name);
	if (strlen(name) >= OPTION_COLUMN - 3)
		printf("\n%*s", OPTION_COLUMN, "");
	print_wrapped(opt_help(row, text, sizeof(text)), OPTION_COLUMN);
	if (row->type != OPT_COLUMNS)
		return;
	for (const struct metric *m = row->view->metrics; m->name; m++) {
		printf("%*s%-*s", OPTION_COLUMN, "", METRIC_NAME_WIDTH,
		       m->name);
		print_wrapped(m->help, OPTION_COLUMN + METRIC_NAME_WIDTH);
	}
}

/* "weft COMMAND --help": usage, what the command is about, its options. */
static void print_command(const struct cmd *cmd)
{
	printf("usage: weft %s [options] %s\n\n%s\n\n", cmd->name, cmd->args,
	       cmd->about);
	each_option(cmd, print_option, NULL);
}

/* ---- the recorder's help ------------------------------------------------ */

/* Bytes of the recorder's help, with the 0 at its end. */
enum { RECORD_MAX = 1 << 16 };

/* The path of the recorder, which is beside this program if it is installed. 0,
 * or -1 if there is none that can be run; no cause is added to the chain, as
 * that is no failure. */
static int recorder_path(char *path, size_t size)
{
	const ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (length <= 0)
		return -1;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if ((size_t)(slash - path) + sizeof("/weft-record") > size)
		return -1;
	strcpy(slash, "/weft-record");
	return access(path, X_OK);
}

/* Read up to the end of the file, as a text of at most RECORD_MAX bytes. More
 * than fits is not the recorder's help. */
static void read_all(int from, char *text)
{
	size_t size = 0;
	ssize_t got;

	while (size < RECORD_MAX - 1 &&
	       (got = read(from, text + size, RECORD_MAX - 1 - size)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		size += got < 0 ? 0 : (size_t)got;
	}
	text[size] = '\0';
}

/* What "weft record --help" prints: the recorder's options are in a table of
 * its own, so it is run and asked. NULL if it is not installed or says nothing.
 * The caller frees it with mem_free. */
static char *record_help(void)
{
	char path[PATH_MAX];
	int ends[2];
	char *text;
	pid_t child;

	if (recorder_path(path, sizeof(path)) != 0 || pipe(ends) != 0)
		return NULL;
	/* A process of its own, since the recorder's options are known to that
	 * program alone. 127 is what shells return for a program that cannot be
	 * run. */
	child = fork();
	if (child == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl(path, "weft record", "--help", (char *)NULL);
		_exit(127);
	}
	/* Without this end closed here, too, the reading would never end. */
	close(ends[1]);
	text = mem_alloc(RECORD_MAX);
	if (child > 0)
		read_all(ends[0], text);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (text[0])
		return text;
	mem_free(text);
	return NULL;
}

/* ---- completion --------------------------------------------------------- */

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

/* The next option in the recorder's help, which has a line "  -o, --output=DIR
 * ..." for each: sets the name and what follows it up to the next space. Lines
 * of other shapes are passed over, so a recorder of another version costs
 * options of the completion, but breaks nothing. Returns where to go on, or
 * NULL at the end. */
static const char *next_record_option(const char *help, char name[32],
				      char arg[80])
{
	while (*help) {
		const char *at = help + strspn(help, " ");

		help += strcspn(help, "\n");
		help += *help == '\n';
		if (at[0] == '-' && at[1] != '-')
			at += strcspn(at, " \n") + 1;
		arg[0] = '\0';
		if (sscanf(at, "--%31[a-z-]=%79[^ \n]", name, arg) >= 1)
			return help;
	}
	return NULL;
}

/* The words that may follow "weft record"; help NULL: none are known. */
static void print_record_words(const char *help)
{
	char name[32], arg[80];

	fputs("\trecord) words=\"", stdout);
	for (const char *at = help; at &&
	     (at = next_record_option(at, name, arg)) != NULL; )
		printf(" --%s", name);
	fputs("\" ;;\n", stdout);
}

/* The choices of the recorder's options, which stand in its help as a|b|c. */
static void print_record_choices(const char *help)
{
	char name[32], arg[80];

	for (const char *at = help; at &&
	     (at = next_record_option(at, name, arg)) != NULL; ) {
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
 * (or "weft" itself) takes; words are the command's options, proposed after a
 * dash. Where none of them says anything, names of files are completed. record:
 * the recorder's help, or NULL. */
static void print_completion(const char *record)
{
	fputs("# Completion of weft's commands and options for bash.\n"
	      "_weft() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} words= choice=\n"
	      "\tlocal before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tchoice=\"record", stdout);
	for (size_t i = 0; i < CONTROLS; i++)
		printf(" %s", controls[i].name);
	for (size_t i = 0; i < COMMANDS; i++)
		printf(" %s", commands[i]->name);
	fputs("\"\n\tfi\n\tcase ${COMP_WORDS[1]} in\n", stdout);
	print_record_words(record);
	for (size_t i = 0; i < COMMANDS; i++) {
		printf("\t%s) words=\"", commands[i]->name);
		each_option(commands[i], print_word, NULL);
		fputs("\" ;;\n", stdout);
	}
	fputs("\tesac\n\tcase \"${COMP_WORDS[1]} $before\" in\n", stdout);
	print_record_choices(record);
	for (size_t i = 0; i < COMMANDS; i++)
		each_option(commands[i], print_choices,
			    (void *)(uintptr_t)commands[i]->name);
	fputs("\tesac\n"
	      "\tif [ -n \"$choice\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$choice\" -- \"$word\"))\n"
	      "\telif [ \"${word#-}\" != \"$word\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	      "\tfi\n"
	      "}\ncomplete -o filenames -F _weft weft\n", stdout);
}

/* zsh has what bash has, if it is asked for that. */
static void print_completion_zsh(const char *record)
{
	fputs("#compdef weft\nautoload -U +X bashcompinit && bashcompinit\n",
	      stdout);
	print_completion(record);
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

static void print_completion_fish(const char *record)
{
	char name[32], arg[80];

	puts("# Completion of weft's commands and options for fish.");
	print_fish_command("record", "record a program");
	for (size_t i = 0; i < CONTROLS; i++)
		print_fish_command(controls[i].name, controls[i].summary);
	for (const char *at = record; at &&
	     (at = next_record_option(at, name, arg)) != NULL; )
		printf("complete -c weft -n '__fish_seen_subcommand_from "
		       "record' -l %s%s\n", name, arg[0] ? " -r" : "");
	for (size_t i = 0; i < COMMANDS; i++) {
		print_fish_command(commands[i]->name, commands[i]->summary);
		each_option(commands[i], print_fish_option,
			    (void *)(uintptr_t)commands[i]->name);
	}
}

static void (*const completions[])(const char *record) = {
	print_completion, print_completion_zsh, print_completion_fish
};

/* ---- the man page ------------------------------------------------------- */

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
		mem_free(safe);
		mem_free(line);
		text += length + (text[length] == '\n');
	}
}

/* An option in the man page, with the metrics of --columns below it, as
 * print_option does it in the help. */
static void put_option(void *ctx, const struct opt *row)
{
	char *const name = out_escape_roff(row->name);
	char text[HELP_SIZE];

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
	for (const struct metric *m = row->view->metrics; m->name; m++) {
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
	"found a change that adds more time than it allows.\n"
	".PP\n"
	".B weft record\n"
	"returns the exit status of the program.\n"
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
	".TP\n.B WEFT_PUSH_TOKEN\n"
	"What\n.B weft push\nsends as \"Authorization: Bearer\".\n"
	".TP\n.B TMPDIR\n"
	"Where\n.B weft validate\nputs its traces; /var/tmp if it is not set.\n"
	".SH FILES\n.TP\n.I /usr/lib/debug/.build\\-id\n"
	"Debug files of stripped programs, found by build\\-id.\n"
	".SH SEE ALSO\n"
	".BR babeltrace2 (1),\n.BR lttng (1),\n.BR gnuplot (1)\n";

/* The man page of weft and of all its commands. Without the recorder, its part
 * refers to its own help. record: the recorder's help, or NULL. */
static void print_man(const char *record)
{
	fputs(man_begin, stdout);
	if (!record) {
		fputs("See\n.BR \"weft record \\-\\-help\" .\n", stdout);
	} else {
		fputs(".nf\n", stdout);
		put_lines(record, "");
		fputs(".fi\n", stdout);
	}
	for (size_t i = 0; i < CONTROLS; i++)
		printf(".SS weft %s [NAME|PID]\n%s\n", controls[i].name,
		       controls[i].summary);
	fputs(".SH READING\n", stdout);
	for (size_t i = 0; i < COMMANDS; i++) {
		printf(".SS weft %s [options] %s\n", commands[i]->name,
		       commands[i]->args);
		put_lines(commands[i]->about, ".PP");
		each_option(commands[i], put_option, NULL);
	}
	fputs(man_end, stdout);
}

/* ---- running a command -------------------------------------------------- */

/* Output that could not be written must not look like success. A status that is
 * a failure already stays: its cause is in the chain. */
static enum cmd_exit finish(enum cmd_exit status)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == CMD_OK) {
		err_add("cannot write the output: %s", strerror(errno));
		return CMD_UNREADABLE;
	}
	return status;
}

/* --help wins over what is wrong after it: who asks for help may not know how
 * to write the rest of the line. */
enum cmd_exit cmd_run(const struct cmd *cmd, int argc, char **argv)
{
	const struct options all = options_of(cmd);
	const int count = opt_parse(all.row, argc, argv);

	if (arg_help) {
		err_clear();
		pager_start(cmd);
		print_command(cmd);
		return finish(CMD_OK);
	}
	if (count < 0 || filter_args_check(cmd->refused) != 0)
		return CMD_USAGE;
	pager_start(cmd);
	return finish(cmd->run ? cmd->run(count, argv) :
		      reading_run(cmd, count, argv));
}

/* ---- weft help ---------------------------------------------------------- */

/* The options of weft help. --version is also a word of its own (main.c). */
static bool arg_man, arg_completion, arg_version;
static int arg_shell;
static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "man", .to = &arg_man,
	  .help = "print the man page weft(1), as troff" },
	{ .type = OPT_FLAG, .name = "completion", .to = &arg_completion,
	  .help = "print completion for a shell" },
	{ .type = OPT_CHOICE, .name = "shell", .arg = "NAME",
	  .to = &arg_shell, .choices = shells, .help = "which shell" },
	{ .type = OPT_FLAG, .name = "version", .to = &arg_version,
	  .help = "print weft's version" },
	{ .type = OPT_END }
};

/* "weft help COMMAND". record: the recorder's help if that is asked for and
 * there, else NULL. */
static enum cmd_exit print_about(const char *name, const char *record)
{
	const struct cmd *const cmd = cmd_find(name);

	if (record) {
		fputs(record, stdout);
		return CMD_OK;
	}
	if (!cmd) {
		for (size_t i = 0; i < CONTROLS; i++)
			if (strcmp(name, controls[i].name) == 0) {
				printf("usage: weft %s [NAME|PID]\n\n%s\n",
				       name, controls[i].summary);
				return CMD_OK;
			}
		if (strcmp(name, "record") == 0)
			err_add("\"weft record\" is not installed; install "
				"the package weft-record");
		else
			cmd_none(name);
		return CMD_USAGE;
	}
	print_command(cmd);
	return CMD_OK;
}

/* The recorder is run only if its help is needed: it takes a process. */
static enum cmd_exit run(int count, char **operands)
{
	const bool is_record = count > 0 && strcmp(operands[0], "record") == 0;
	char *const record = is_record || arg_completion || arg_man ?
			     record_help() : NULL;
	enum cmd_exit status = CMD_OK;

	if (arg_version)
		puts("weft " WEFT_VERSION);
	else if (arg_completion)
		completions[arg_shell](record);
	else if (arg_man)
		print_man(record);
	else if (count == 0)
		print_overview();
	else
		status = print_about(operands[0], record);
	mem_free(record);
	return status;
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "show help for weft or one of its commands",
	.about = "Without a command, lists them all.",
	.opts = opts,
	.run = run,
};
