/* options.h - the command line of `weft record`.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_OPTIONS_H
#define WEFT_TRACER_RECORDER_OPTIONS_H

#include "tracepoints/pool.h"
#include "tracer/recorder/trace/packer.h"
#include "tracer/recorder/trace/selection.h"

#include <stdbool.h>
#include <stdint.h>

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

enum { OPTIONS_MAX_LABELS = 32 };

/* What the user asked for. The strings belong to popt or to argv, and live as
 * long as the recorder. */
struct options {
	const char *output;        /* NULL: a name is made */
	/* 1 if the option was given; popt stores to int. */
	int paused, no_follow, no_lua, no_native, lua_init, quiet, archive;
	int no_lua_names, count_only;
	enum pool_on_full on_full;
	enum compress compress;
	uint64_t pool_bytes;       /* 0: the default */
	struct selection_wish select; /* what is left out on purpose */
	int sample_hz;             /* negative: chosen by their cost */
	char *label[OPTIONS_MAX_LABELS]; /* "key=value" */
	int labels;
	char **program;            /* its argv */
};

/* Read the command line. Negative: go on, and *o is complete. Otherwise help or
 * a complaint was printed: the status to exit with, and *o is as it was. */
int options_read(struct options *o, int argc, char **argv);

/* Read a size such as "64M" as bytes; K, M and G are powers of 1024. From 1
 * byte to 1 TiB. False: it is none, and *bytes is as it was. */
bool options_size(const char *text, uint64_t *bytes);

#endif
