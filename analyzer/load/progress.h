/* progress.h - how far the reading of a trace is, in a line on a terminal that
 * is overwritten.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in.h"

#include <time.h>

struct progress {
	const struct in_summary *in;  /* filled in while the trace is read */
	uint64_t records;
	struct timespec begun, shown;
	bool is_on, is_shown;
};

enum { PROGRESS_TEXT = 120 };

/* Begin. Nothing is shown if stderr is no terminal. */
void progress_begin(struct progress *, const struct in_summary *in);
/* So many more records were read. What takes less than a second needs no
 * progress; later it is shown three times a second, as reading must not wait
 * for the terminal. */
void progress_add(struct progress *, uint64_t records);
/* Take the line away. */
void progress_end(const struct progress *);

/* The line after so many seconds, in PROGRESS_TEXT bytes. of, the bytes to be
 * read, may be 0: not known. Returns to. */
const char *progress_text(char *to, uint64_t records, double seconds,
			  uint64_t done, uint64_t of);
