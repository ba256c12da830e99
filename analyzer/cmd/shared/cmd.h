/* cmd.h - the stage that answers the user: a file for each command, with its
 * options and what it prints. Uses all other stages; computes nothing that
 * another stage could. What a command is, and the list of them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/args/filter_args.h"
#include "analyzer/args/opt.h"

#include <stdio.h>

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

/* A command. All texts are static; help, man page and completion are made from
 * them and from the options' rows.
 *
 * A command that reads traces has print, and cmd/reading is its frame: it adds
 * the filters and the options of loading to opts; checks the options before it
 * reads, because that may take long; and closes what it opened. print begins
 * with a header, which says what was lost. With --csv, stdout holds rows alone
 * and all else goes to stderr. Most commands print a trace without calls as far
 * as it goes, and return CMD_UNREADABLE.
 *
 * Whatever returns CMD_OK, 0 or something else has put the cause into the chain
 * if it failed. */
struct reading;
struct cmd {
	const char *name;
	const char *args;     /* the operands, for the usage line */
	const char *summary;  /* half a line, no full stop */
	const char *about;    /* paragraphs, blank lines between them */
	const struct opt *opts;  /* its own; NULL: none */
	/* The i-th word that its first operand may be beside a file, NULL after
	 * the last one; NULL: there are none. */
	const char *(*word)(size_t i);
	/* The filters that have no meaning for the command; may be NULL. Help
	 * and completion leave them out. */
	const struct filter_refusal *refused;

	enum cmd_exit (*print)(struct reading *);
	int (*prepare)(struct reading *);  /* checks options; may be NULL */
	bool has_net;         /* its times are net, and it has --raw */
	bool merges;          /* even a single trace; see load_open_merged */
	const char *needs;    /* what no profile holds; see load_need_trace */
	bool is_unpaged;      /* its output on stdout is a file, a picture, or
	                       * a few lines; or it does more than to print */
	bool is_judge;        /* its exit status says what it found */

	/* A command that does not, or not always: takes the operands, and may
	 * call reading_run. */
	enum cmd_exit (*run)(int count, char **operands);
};

/* All commands, in the order of the help: cmd_NAME is defined in cmd_NAME.c. A
 * new command is a word here and a file; help, man page, completion and main.c
 * follow from that. */
#define CMD_LIST(X) \
	X(report) X(explain) X(tree) X(callers) X(lines) X(coroutines) \
	X(stacks) X(slow) X(locks) X(path) X(threads) X(heap) X(plot) \
	X(html) X(coverage) X(trim) X(export) X(merge) X(diff) X(dump) \
	X(info) X(check) X(recover) X(top) X(validate) X(help)
#define CMD_DECLARE(name) extern const struct cmd cmd_##name;
CMD_LIST(CMD_DECLARE)

/* The command of that name; NULL if there is none. "record" is none: the
 * recorder is a program of its own. */
const struct cmd *cmd_find(const char *name);
/* Say that there is no such command, with a guess at the one that was meant.
 * Always -1. */
int cmd_none(const char *name);

/* Parse the options, refuse filters that have no meaning, start the pager,
 * which the caller ends, and run the command; argv[0] is its name. With --help
 * it prints the command's help instead.
 * Returns weft's exit status; if that is not CMD_OK, the causes are in the
 * chain, which the caller prints. Output that could not be written is
 * CMD_UNREADABLE. */
enum cmd_exit cmd_run(const struct cmd *, int argc, char **argv);

/* ---- the pager ---------------------------------------------------------- */

/* If stdout is a terminal and the command prints text there, send stdout
 * through the pager: WEFT_PAGER, or PAGER, or less, which shows what fits on
 * the screen at once. None if that is empty or "cat". Tables keep the width of
 * the terminal. */
void pager_start(const struct cmd *);
/* Was the pager left before the command ended? What it still prints is then
 * lost, which is no failure. */
bool pager_is_left(void);
/* Flush stdout and wait until the pager ends, if there is one. Negative: it
 * could not be run. */
int pager_end(void);
