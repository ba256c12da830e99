/* stopped.h - one thread of another process, stopped by ptrace where it sits in
 * a system call, to call a function there. Nothing but its registers and
 * its errno is changed, and they are put back, also if we are killed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/attach/sleeper.h"

/* What is called: function(a, b), on a stack of its own. */
struct stopped_call {
	uint64_t function, a, b;
	const char *text;          /* NULL, or what a is to point to */
	uint64_t map, protect, unmap; /* mmap, mprotect and munmap there */
	uint64_t errno_at;         /* __errno_location there */
	uint64_t explain;          /* 0, or called if the result is 0 */
	/* Set by stopped_do: */
	uint64_t result;
	char why[256];             /* the text that explain returned */
	uint64_t longest_ns;       /* a thread stood still, in this or before */
};

/* Have a thread of the process do this call: one that sits in a system call,
 * which can be begun again, and cannot hold the lock of the loader or of
 * malloc. While any thread holds the loader's, none does. waits: for a few
 * seconds, until this can be. Returns NULL, or why it was not done: the program
 * is then as before. */
const char *stopped_do(const struct remote *r, const struct sleeper_libc *libc,
		       struct stopped_call *call, bool waits);
