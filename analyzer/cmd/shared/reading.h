/* reading.h - what most commands have in common: they read traces, print a
 * header that says what was lost, and then what is theirs.
 *
 * analyzer/cmd/shared: what more than one command needs. Knows no single
 * command.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/load/load.h"

/* What such a command works with. Its prepare may change all but load, which is
 * opened afterwards; its print finds all of it set. */
struct reading {
	int count;                   /* the operands: what is read */
	char **operands;
	const char *function;        /* reading_take_function's, or NULL */
	struct replay_collect want;  /* hist and vm are the command's to set */
	bool wants_net;              /* as the command's has_net says */
	struct table table;          /* csv is set; prepare chooses columns */
	struct load load;
};

/* Run a command that has print: prepare, open the load, print, close it
 * whatever happened. */
enum cmd_exit reading_run(const struct cmd *, int count, char **operands);

/* In prepare: take the first operand, which names functions. also: what can
 * stand for it, or "". 0, or -1 with the cause in the chain if it is missing:
 * nothing is given, or only something that is there as a file. */
int reading_take_function(struct reading *, const char *also);

/* 0, or -1 with the cause in the chain: to sort by that key takes context
 * switches, and the trace has none. */
int reading_can_sort(const struct session *, bool takes_switches,
		     const char *key);

/* Traces, for a command that is printed: words of a shell, of which none is an
 * option. Those of load_words go before them. The caller frees them. */
char *reading_words(int count, const char *const *traces);

/* The header at the top of the report; with --csv, what was lost as comments on
 * stderr. _begin leaves out the empty line below it, for notes that follow. */
void reading_print_header(const struct load *);
void reading_begin_header(const struct load *);
