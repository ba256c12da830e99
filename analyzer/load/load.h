/* load.h - the stage that reads traces whole: from operands and options to a
 * session whose functions have names, filtered as the options say, and to the
 * sentences about it that every command prints. Uses the readers, replay,
 * symbols, merging and profiles; knows no command and prints no table.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/args/filter_args.h"
#include "analyzer/args/opt.h"
#include "analyzer/base/text.h"
#include "analyzer/in/in.h"
#include "analyzer/sym/sym.h"

/* Options of every command that reads traces, for OPT_MORE. */
extern const struct opt load_opts[];
/* Refuse a --debug-dir that is not there, which is known before any trace is
 * read. 0, or -1 with the cause in the chain. */
int load_args_check(void);
/* Those of the options that say what is shown, as words of a shell, each with a
 * space behind, for a command that is printed; net: one that has load_net_opts.
 * The caller frees them. */
char *load_words(bool net);
/* Is there a --reference? */
bool load_has_reference(void);
/* What --max-nodes says. */
size_t load_max_nodes(void);

/* The same with --raw, of commands that show net times. These also call
 * load_want_net before they open anything: what is read has net times then
 * where there are samples (session.net), unless the user wants raw ones. */
extern const struct opt load_net_opts[];
void load_want_net(bool wants);

/* To be called before load_open: its tree has the memory of each node, of
 * traces that have any (cct_has_heap). It costs another pass. */
void load_want_heap(bool wants);

/* A trace, profile or sum of several, open for one command. load_open fills it
 * and load_close frees what it holds; the caller owns the struct itself. The
 * names of the session's functions and its namings are in the arena `names`, so
 * no session outlives its load. */
struct load {
	const char *path;            /* borrowed */
	bool is_profile;             /* read from a profile, or merged: holds
	                              * what a profile can hold */
	bool is_watched;             /* load_watch's sink was told all of it */
	bool is_part;                /* filtered: the session's tree is only */
	struct filter_sums part;        /* the part that was asked for */
	unsigned found;              /* what filter_args_apply returned */
	struct session *session;
	bool is_raw;                 /* times have probes in them, though net
	                              * ones were wanted: too few samples */
	struct replay_collect want;  /* the command's hist and vm, and the
	                              * filters' range and coroutine */
	struct in_summary in;
	struct arena *names;
	struct map *seen;            /* private: the chunks that were read */
};

/* Read and replay the trace that is the only operand, name its functions and
 * filter it; shows the progress on a terminal. A profile is read instead;
 * several operands, and the traces in a folder of them, are merged, each
 * filtered by itself.
 *
 * Returns CMD_OK; CMD_USAGE if operands or filters make no sense; or
 * CMD_UNREADABLE if nothing can be read or a filter finds nothing. The causes
 * are in the chain then. Call load_close in any case. */
enum cmd_exit load_open(struct load *, int count, char **operands);
/* The same, and collect want->hist and want->vm. */
enum cmd_exit load_open_with(struct load *, const struct replay_collect *want,
			     int count, char **operands);
/* The same, but merge even a single operand: the session then has statistics
 * over sessions. */
enum cmd_exit load_open_merged(struct load *,
			       const struct replay_collect *want, int count,
			       char **operands);
/* Before load_open: tell the sink what is in the trace while it is read for the
 * first time, as load_again does. That is not done where several operands, a
 * profile or a part of a trace are opened: see is_watched. */
void load_watch(const struct replay_sink *, void *ctx);
/* Free all that load_open made, also after a failure of it. */
void load_close(struct load *);
/* Take over the reference of a trace in which the program was only sampled,
 * whose names are borrowed: reference_count.func of each. Times stay. */
void load_take_samples(struct load *, struct load *from);

/* Read the trace once more, with the names of the first time, and call the sink
 * for all records that were read then, whatever the filters are: what a trace
 * that grows has got since is left out. Function ids, and indices of threads
 * and processes, are those of the first session. 0, or -1 with the cause in the
 * chain. */
int load_again(struct load *, const struct replay_sink *, void *ctx);

/* CMD_OK if the load was read from a trace itself; otherwise CMD_UNREADABLE
 * with the cause in the chain: a profile has no `what` (a plural). */
enum cmd_exit load_need_trace(const struct load *, const char *what);

/* Put what only the load knows, what the reader of the trace complained of,
 * into its session, before that is merged or written. */
void load_complete(struct load *);

/* How functions are named, as the command line says; after load_open of a
 * trace. The strings belong to the load. */
struct sym_options load_sym_options(const struct load *);

/* What a program or module is called in tables and sentences: the last part of
 * its path. */
static inline const char *load_file_name(const char *path)
{
	return path[0] ? text_base_name(path) : "[unnamed]";
}
