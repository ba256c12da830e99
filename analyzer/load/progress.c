/* progress.c - measures how fast a trace is read, and guesses how long that
 * takes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/progress.h"

#include "analyzer/base/text.h"
#include "analyzer/out/out_number.h"

#include <stdio.h>
#include <unistd.h>

/* Seconds. */
static double since(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) +
	       (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

/* The bytes of a trace are not all chunks: the last of them are never done. */
const char *progress_text(char *to, uint64_t records, double seconds,
			  uint64_t done, uint64_t of)
{
	const double part = of > 0 && done < of ? (double)done / (double)of :
			    of > 0 ? 1 : 0;
	char count[OUT_NUMBER];

	snprintf(to, PROGRESS_TEXT,
		 "reading: %s, %.1f million a second",
		 out_number_many(count, records, "records"),
		 (double)records / 1e6 / seconds);
	if (part > 0.01)
		text_addf(to, PROGRESS_TEXT, ", %.0f%%, %.0f s left",
			  100 * part, seconds / part - seconds);
	return to;
}

void progress_begin(struct progress *p, const struct in_summary *in)
{
	*p = (struct progress){ .in = in, .is_on = isatty(STDERR_FILENO) };
	clock_gettime(CLOCK_MONOTONIC, &p->begun);
}

void progress_add(struct progress *p, uint64_t records)
{
	char text[PROGRESS_TEXT];
	struct timespec now;

	p->records += records;
	if (!p->is_on)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (since(&p->begun, &now) < 1 || since(&p->shown, &now) < 0.3)
		return;
	p->shown = now;
	p->is_shown = true;
	fprintf(stderr, "\r%s\033[K", progress_text(text, p->records,
		since(&p->begun, &now), p->in->bytes_done,
		p->in->ctf_bytes + p->in->spill_bytes));
}

void progress_end(const struct progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
}
