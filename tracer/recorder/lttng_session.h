/* lttng_session.h - the LTTng session of one recording: its channels and its event.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_LTTNG_SESSION_H
#define WEFT_TRACER_RECORDER_LTTNG_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct channel_plan {
	char session[64];          /* name, with a random part */
	char output[PATH_MAX];     /* absolute */
	pid_t pid;                 /* the one process whose events count */
	uint64_t ring_bytes;       /* a sub-buffer's size */
	uint32_t rings;            /* sub-buffers a CPU */
};

/* Choose ring_bytes and rings so that all CPUs' rings fit in half of what is
 * free in /dev/shm. Gives their whole size; 0: they do not fit. */
uint64_t channel_fit(struct channel_plan *plan, uint64_t free_bytes,
		     uint32_t cpus);

/* Make and start the session. Negative: why says it. May hang. */
int channel_open(const struct channel_plan *plan, char *why, size_t room);
/* Stop it and wait until all is on the disk (a few seconds at most once the
 * descriptor waiting is readable: nobody waits for us). Gives whether it is:
 * nothing is written any more, and the trace can be read. Where a call hangs,
 * SIGALRM comes; in the next one, too. */
bool channel_stop(const struct channel_plan *plan, int waiting);
/* Negative: why says it. */
int channel_destroy(const struct channel_plan *plan, char *why, size_t room);

#endif
