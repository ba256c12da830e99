/* cmd_help.c - the list of commands, how one of them is run, and "weft help".
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/guess.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/help/help.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/reading.h"
#include "tracepoints/control.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define ADDRESS(name) &cmd_##name,
/* All commands of CMD_LIST, in the order in which they are listed. */
static const struct cmd *const commands[] = {
	CMD_LIST(ADDRESS) NULL
};

/* A name must be whole: a short form would change its meaning with each new
 * command. */
const struct cmd *cmd_find(const char *name)
{
	const struct cmd *const *c = commands;

	while (*c && strcmp((*c)->name, name) != 0)
		c++;
	return *c;
}

int cmd_none(const char *name)
{
	struct guess guess;
	char text[GUESS_TEXT];

	guess_init(&guess, name);
	for (const struct cmd *const *c = commands; *c; c++)
		guess_offer(&guess, (*c)->name, strlen((*c)->name));
	for (const struct help_control *c = help_controls; c->name; c++)
		guess_offer(&guess, c->name, strlen(c->name));
	guess_offer(&guess, "record", strlen("record"));
	return err_add("there is no command \"%s\"%s", name,
		       guess_text(&guess, "\"weft help\" lists them all", text,
				  sizeof(text)));
}

/* ---- running a command -------------------------------------------------- */

/* Output that could not be written must not look like success. A status that is
 * a failure already stays: its cause is in the chain. */
static enum cmd_exit finish(enum cmd_exit status)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_is_left() &&
	    status == CMD_OK) {
		err_add("cannot write the output: %s", strerror(errno));
		return CMD_UNREADABLE;
	}
	return status;
}

/* --help wins over what is wrong after it: who asks for help may not know how
 * to write the rest of the line. */
enum cmd_exit cmd_run(const struct cmd *cmd, int argc, char **argv)
{
	const struct help_options all = help_options_of(cmd);
	const int count = opt_parse(all.row, argc, argv);
	enum cmd_exit status;

	if (help_is_asked()) {
		err_clear();
		pager_start(cmd);
		help_print_command(cmd);
		return finish(CMD_OK);
	}
	table_args_begin();
	if (count < 0 || filter_args_check(cmd->refused) != 0 ||
	    load_args_check() != 0)
		return CMD_USAGE;
	pager_start(cmd);
	status = cmd->run ? cmd->run(count, argv) :
		 reading_run(cmd, count, argv);
	if (status != CMD_USAGE)
		table_args_end();
	return finish(status);
}

/* ---- weft help ---------------------------------------------------------- */

/* The options of weft help. --version is also a word of its own (main.c). */
static bool arg_man, arg_completion, arg_version;
static int arg_shell;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "man", .to = &arg_man,
	  .help = "print the man page weft(1), as troff" },
	{ .type = OPT_FLAG, .name = "completion", .to = &arg_completion,
	  .help = "print completion for a shell" },
	{ .type = OPT_CHOICE, .name = "shell", .arg = "NAME",
	  .to = &arg_shell, .choices = completion_shells,
	  .help = "which shell" },
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
		for (const struct help_control *c = help_controls; c->name; c++)
			if (strcmp(name, c->name) == 0) {
				printf("usage: weft %s %s\n\n%c%s.\n\n%s\n",
				       name, c->args, toupper(c->summary[0]),
				       c->summary + 1, CONTROL_OPERANDS);
				return CMD_OK;
			}
		if (strcmp(name, "record") == 0)
			err_add("\"weft record\" is not installed; install "
				"the package weft-record");
		else
			cmd_none(name);
		return CMD_USAGE;
	}
	help_print_command(cmd);
	return CMD_OK;
}

/* The recorder is run only if its help is needed: it takes a process. */
static enum cmd_exit help_run(int count, char **operands)
{
	const bool is_record = count > 0 && strcmp(operands[0], "record") == 0;
	char *const record = is_record || arg_completion || arg_man ?
			     record_help_read() : NULL;
	enum cmd_exit status = CMD_OK;

	if (count > 1) {
		err_add("only one command can be named, not also \"%s\"",
			operands[1]);
		status = CMD_USAGE;
	} else if (arg_version)
		puts("weft " WEFT_VERSION);
	else if (arg_completion)
		completion_print(arg_shell, commands, record);
	else if (arg_man)
		man_print(commands, record);
	else if (count == 0)
		help_print_overview(commands);
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
	.run = help_run,
	.is_unpaged = true,
};
