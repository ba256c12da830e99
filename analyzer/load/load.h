/* load.h - a trace read whole: session, names, and what the reader says.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LOAD_H
#define WEFT_ANALYZER_LOAD_LOAD_H

#include "analyzer/base/mem.h"
#include "analyzer/load/filter_args.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/model/session.h"
#include "analyzer/replay/replay.h"
#include "analyzer/in/in.h"
#include "analyzer/sym/sym.h"

/* Options of every command that reads a trace, for OPT_MORE. */
extern const struct opt load_opts[];

struct load {
	const char *path;
	int is_profile;              /* or merged: only what a profile
	                              * knows */
	struct session *session;
	struct replay_collect want;  /* the command's hist and vm */
	int is_part;                 /* options of choose.h were given: the */
	struct filter_sums part;        /* session's tree is that part only */
	struct in_summary in;
	struct arena *names;
	struct sym_module *modules;  /* one for each elf_id */
};

/* Read and replay the trace that is the only operand, then name its functions;
 * shows its progress on a terminal. A profile is read instead; several operands
 * are merged. CMD_OK, or the exit status with the causes in the chain.
 * load_close in any case. */
enum cmd_exit load_open(struct load *, int count, char **operands);
/* The same, and collect want->hist and want->vm. */
enum cmd_exit load_open_with(struct load *, const struct replay_collect *want,
			     int count, char **operands);
/* The same of one trace or profile, whatever part is asked for. */
enum cmd_exit load_open_whole(struct load *, const struct replay_collect *want,
			      const char *path);
void load_close(struct load *);

/* Read the trace once more, with the names of the first time, for what the
 * sink wants to see. */
int load_again(struct load *, const struct replay_sink *, void *ctx);

/* For what a profile does not know: CMD_OK if the load is from a trace itself,
 * otherwise CMD_UNREADABLE with the cause, that it has no such thing, in the
 * chain. */
enum cmd_exit load_need_trace(const struct load *, const char *what);

/* How functions are named, as the command line says; after load_open. */
struct sym_options load_sym_options(const struct load *);

/* The operand, or NULL with the cause in the chain. */
const char *load_operand(int count, char **operands);

#endif
