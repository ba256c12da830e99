/* options.h - what the user asked for.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_OPTIONS_H
#define WEFT_RECORDER_OPTIONS_H

#include "tracepoints/pool.h"

#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_MAX_LABELS = 32 };

struct options {
	const char *output;        /* NULL: a name of our own */
	int paused, no_follow, no_lua, no_native, lua_init, quiet, archive;
	enum pool_on_full on_full;
	uint64_t pool_bytes;       /* 0: the default */
	char *label[OPTIONS_MAX_LABELS]; /* "key=value" */
	int labels;
	char **program;            /* its argv */
};

/* Gives 0, or the status to exit with after help or a complaint. Negative is
 * neither: go on. */
int options_read(struct options *o, int argc, char **argv);

/* "64M" and the like. False: it is no size. */
bool options_size(const char *text, uint64_t *bytes);

#endif
