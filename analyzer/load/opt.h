/* opt.h - options as rows of a table: parsing, help, man page and completion
 * all come from the same row.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_OPT_H
#define WEFT_ANALYZER_LOAD_OPT_H

#include <stddef.h>

enum opt_type {
	OPT_END,     /* ends the table */
	OPT_FLAG,    /* to: int, set to 1 */
	OPT_NUMBER,  /* to: size_t */
	OPT_SHARE,   /* to: double; a percentage */
	OPT_TEXT,    /* to: const char * */
	OPT_LIST,    /* to: const char *; given again, it is added after a : */
	OPT_CHOICE,  /* to: int, the index in choices */
	OPT_MORE,    /* the rows of the table more stand here */
};

/* What *to holds before parsing is the default; help shows it, unless it is -1
 * (OPT_CHOICE) or SIZE_MAX (OPT_NUMBER): whoever reads it then decides. */
struct opt {
	enum opt_type type;
	char letter;                 /* 0: none */
	const char *name;
	const char *arg;             /* what help calls the argument */
	void *to;
	const char *help;            /* one sentence, no full stop */
	const char *const *choices;  /* ends with NULL */
	const struct opt *more;
};

/* Parse argv[1] to argv[argc - 1]; options and operands may be mixed, "--" ends
 * options. The operands are moved to argv[0] ...; their number is returned, or
 * -1 with the cause in the chain. An option named "help" in no row is always
 * known and sets *help. */
int opt_parse(const struct opt *, int argc, char **argv, int *help);

/* Call fn for each row, those of OPT_MORE included. */
typedef void (*opt_fn)(void *ctx, const struct opt *);
void opt_each(const struct opt *, opt_fn, void *ctx);

/* The help with the choices and the default: "what comes first: a, b (a)". */
const char *opt_help(const struct opt *, char *room, size_t size);

#endif
