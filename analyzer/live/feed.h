/* feed.h - the chunks of a recording that runs, as they pass the recorder.
 *
 * The folder live/ reads what is not written yet. It uses base/, chunk/ and
 * in/; the recorder's answers are not trusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in.h"

#include <limits.h>

struct feed {
	int fd;                  /* can be polled */
	char name[NAME_MAX + 1]; /* NAME.PID */
	char trace[PATH_MAX];    /* the trace's folder, or "" */
	uint64_t missed;         /* chunks, because we were too slow */
	uint64_t bad;            /* that were none */
	bool is_end;             /* what came last may be the stream's end; if
	                          * not, and it has ended, the rest is
	                          * missing */
	unsigned char *bytes;    /* the rest of what was received */
	size_t used;
};

/* Watch the recording that wanted means (control.h). 0, or -1 with the
 * cause in the chain: there is none, or there are several. Ends with feed_close
 * if it is 0. */
int feed_open(struct feed *, const char *wanted);
void feed_close(struct feed *);

/* Pass on what has come, without waiting, but not more than a few megabytes. 1
 * if there may be more later; 0: the recording has ended. */
int feed_take(struct feed *, in_chunk_fn fn, void *ctx);
