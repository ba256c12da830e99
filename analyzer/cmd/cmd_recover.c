/* cmd_recover.c - "weft recover": a trace of what a recording left that did not
 * come to its end. recover/ makes it; here it is read like any other, so that
 * what it lacks is said in the words of every report.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/cmd.h"

#include "analyzer/base/err.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/recover/recover.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *arg_output;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "DIR",
	  .to = &arg_output, .help = "the folder for the new trace; it must "
	  "not exist (default: the first DIR or FILE, with .recovered added)" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static enum cmd_exit show(char *path)
{
	struct load load;
	enum cmd_exit status = load_open(&load, 1, &path);

	if (status == CMD_OK) {
		header_begin(stdout, &load);
		out_print(stdout, "recovered to %s\n", path);
	}
	load_close(&load);
	return status;
}

static enum cmd_exit recover_run(int count, char **operands)
{
	char path[PATH_MAX];
	size_t n;

	if (count == 0) {
		err_add("nothing is given to recover from; give the folder "
			"that weft record made");
		return CMD_USAGE;
	}
	n = strlen(operands[0]);
	while (n > 1 && operands[0][n - 1] == '/')
		n--;
	if (snprintf(path, sizeof(path), "%.*s%s",
		     arg_output ? PATH_MAX : (int)n,
		     arg_output ? arg_output : operands[0],
		     arg_output ? "" : ".recovered") >= (int)sizeof(path)) {
		err_add("the path of the new trace is too long");
		return CMD_USAGE;
	}
	return recover_make(path, count, operands) == 0 ? show(path) :
	       CMD_UNREADABLE;
}

const struct cmd cmd_recover = {
	.name = "recover",
	.args = "DIR|FILE...",
	.summary = "make a trace of what is left after a crash",
	.about =
	"Makes a new trace, which every command reads, of what is left of one\n"
	"recording whose recorder, LTTng daemons or machine died. DIR is the\n"
	"folder that weft record made; it may be damaged or without its\n"
	"metadata. If the pool, the memory that the program shared with weft\n"
	"record, is still in /dev/shm, its contents are taken, too. FILE is a\n"
	"copy of the pool, or any file that may hold recorded data. None of\n"
	"these is changed.\n"
	"\n"
	"Prints what was found and what is missing. The next weft record of\n"
	"the same user keeps the newest pool for an hour, if memory allows,\n"
	"and removes the others.",
	.opts = opts,
	.run = recover_run,
	.is_unpaged = true,
};
