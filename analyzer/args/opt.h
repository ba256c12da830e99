/* opt.h - the command line: options as rows of a table, and the statuses that
 * weft exits with. Parsing, help, man page and completion are all made from
 * the same row.
 *
 * analyzer/args: what the command line says, and which part of a trace it means
 * by that. Uses base, model, replay, tables and out; opens no trace.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

/* How a command ends: the exit status of weft. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_USAGE = 1,       /* the command line makes no sense */
	CMD_UNREADABLE = 2,  /* nothing useful could be read or written */
	CMD_BUG = 3,         /* weft itself is wrong */
	CMD_WORSE = 4,       /* weft diff --fail-over: more than allowed */
};

/* What an option takes, and the type of the variable that `to` points to. */
enum opt_type {
	OPT_END,     /* ends the table */
	OPT_FLAG,    /* to: bool, set to true */
	OPT_NUMBER,  /* to: size_t */
	OPT_SHARE,   /* to: double; a percentage from 0 to 100 */
	OPT_GROWTH,  /* the same, which may be more; the help has no default */
	OPT_TEXT,    /* to: const char * */
	OPT_LIST,    /* to: const char *; if given again, the texts are joined
	              * with a colon */
	OPT_PATTERNS, /* to: const char *, patterns (tracepoints/pattern.h);
	              * "@FILE" adds those in a file, and so does each that is
	              * given again */
	OPT_CHOICE,  /* to: int, the index in choices */
	OPT_SORT,    /* to: const struct metric *, a sorting one of the view */
	OPT_COLUMNS, /* to: const char *, names of the view's metrics */
	OPT_MORE,    /* stands for the rows of the table `more` */
};

/* An option of the command line. A table of rows ends with OPT_END and is read
 * only; opt_parse writes to what `to` points to.
 *
 * The value in *to before parsing is the default. The help shows it, unless it
 * is -1 (OPT_CHOICE, OPT_SHARE) or SIZE_MAX (OPT_NUMBER): these mean that the
 * command chooses a value. NULL (OPT_SORT) means `usual`, or the first one. */
struct opt {
	enum opt_type type;
	char letter;                 /* 0: none */
	const char *name;
	const char *arg;             /* what the help calls the argument */
	void *to;
	const char *help;            /* a sentence without its full stop */
	const char *const *choices;  /* ends with NULL */
	const struct opt *more;
	const struct metric_view *view;
	unsigned lacks;              /* flags of metrics that it refuses */
	const char *usual;           /* OPT_SORT: the default, if it depends */
};

/* Parse argv[1] to argv[argc - 1]. Options and operands may be mixed; "--" ends
 * the options. A long name may be shortened as long as it is unambiguous. Moves
 * the operands to argv[0] and following, and returns their number, or -1 with
 * the cause in the chain. Texts point into argv, which must live on. */
int opt_parse(const struct opt *, int argc, char **argv);

/* Call fn for each row in the order of the tables, those of OPT_MORE included.
 * opts NULL: there is none. */
typedef void (*opt_fn)(void *ctx, const struct opt *);
void opt_each(const struct opt *, opt_fn fn, void *ctx);

/* The i-th metric that an OPT_SORT or OPT_COLUMNS takes, counted from 0; NULL
 * after the last one. */
const struct metric *opt_metric(const struct opt *, size_t i);
/* The i-th word that may follow the option, counted from 0; NULL after the last
 * one, or if any text may follow. */
const char *opt_word(const struct opt *, size_t i);

/* Write the help of a row with its choices and its default to `to`, for example
 * "the order of rows: self, total (default: self)". What does not fit is cut
 * off. Returns `to`. */
const char *opt_help(const struct opt *, char *to, size_t size);
