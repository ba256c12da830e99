/* cmd_export.c - "weft export": what was recorded, in the formats of other
 * tools. Knows the list of formats; each of them is written elsewhere, text by
 * the folder out and profiles by load/load_profile.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/out/out_collapsed.h"
#include "analyzer/out/out_file.h"
#include "analyzer/out/out_speedscope.h"

#include <unistd.h>

/* The options. arg_format: an index of formats. */
static const char *arg_output = "-";
static int arg_format;

/* ---- formats ------------------------------------------------------------ */

/* Each has a name and either a writer of text or one of a file that no terminal
 * can show. A new format is a row. */
#define FORMATS(X) \
	X("pprof", NULL, load_profile_write) \
	X("collapsed", out_collapsed_write, NULL) \
	X("speedscope", out_speedscope_write, NULL)

#define FORMAT_NAME(name, put, write) name,
/* The names, for the option's choices, are made from the same rows as the
 * writers: neither list can be changed without the other. */
static const char *const format_names[] = { FORMATS(FORMAT_NAME) NULL };

#define FORMAT_ROW(name, put, write) { put, write },
/* put writes the session as text to a file that is open; write makes the file
 * itself and puts the load's sentences into it. One of them is NULL. Both
 * return 0, or -1 with the cause in the chain. */
static const struct format {
	int (*put)(FILE *, struct session *);
	int (*write)(struct load *, const char *file);
} formats[] = { FORMATS(FORMAT_ROW) };

/* What out_file_write calls; ctx is the load. */
static int put_text(FILE *to, void *load)
{
	return formats[arg_format].put(to, ((struct load *)load)->session);
}

/* ---- the command -------------------------------------------------------- */

/* -f is one of the formats above; the first one is the default. */
static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 'f', .name = "format", .arg = "NAME",
	  .to = &arg_format, .choices = format_names, .help = "what to write" },
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "the file to write; - is standard "
	  "output" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* Only the profile keeps histograms and Lua states apart, so they are collected
 * for it alone. The file is written even if the trace holds no call: the exit
 * status says that, and what there is can be looked at. */
static enum cmd_exit run(int count, char **operands)
{
	static const struct replay_collect none, all = { .hist = 1, .vm = 1 };
	const struct format *const f = &formats[arg_format];
	enum cmd_exit status;
	struct load load;

	/* A terminal would take bytes of the file for commands. */
	if (f->write && arg_output[0] == '-' && arg_output[1] == '\0' &&
	    isatty(STDOUT_FILENO)) {
		err_add("this format is binary and is not written to a "
			"terminal; give -o FILE");
		return CMD_USAGE;
	}
	load_want_net(true);
	status = load_open_with(&load, f->write ? &all : &none, count,
				operands);
	if (status == CMD_OK &&
	    (f->write ? f->write(&load, arg_output) :
	     out_file_write(arg_output, put_text, &load)) != 0)
		status = CMD_UNREADABLE;
	if (status == CMD_OK) {
		header_print_losses(&load);
		status = header_need_calls(&load);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_export = {
	.name = "export",
	.args = "TRACE...",
	.summary = "write a trace in the format of other tools",
	.about =
	"Reads traces (several are merged) and writes one file.\n"
	"\n"
	"pprof is a compact profile: a protobuf file, gzipped, that\n"
	"\"go tool pprof\", speedscope and others open, with calls, self\n"
	"and suspended time of each stack. weft reads it back: report,\n"
	"tree, merge, diff and others take it instead of a trace, and\n"
	"print the same. It does not hold single coroutines, moments and\n"
	"chunks.\n"
	"\n"
	"collapsed is text for flame graph tools: a line for each stack, its\n"
	"frames with semicolons between them, and its self time in ns.\n"
	"\n"
	"speedscope is JSON for that viewer: a tree for each thread, in which\n"
	"each stack appears once, as wide as its total time. Names of Lua\n"
	"functions end in \" [lua]\", names of marks in \" [mark]\".",
	.opts = opts,
	.run = run,
};
