/* sleeper.h - where a thread of another process sits: in which system call, and
 * whether it may be stopped there. It stops none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/attach/remote.h"

/* Where in the process the lock of its loader, and what ends a signal handler,
 * are found. */
struct sleeper_libc {
	uint64_t globals, globals_end; /* the loader's _rtld_global */
	uint64_t restorer;
};

/* Read these. False: this is not glibc, or not one that is known. */
bool sleeper_find_libc(const struct remote *r, struct sleeper_libc *libc);

/* A thread's call that has not come back. */
struct sleeper {
	long number;
	uint64_t a[6], sp, pc;
	/* Begun again, it waits for the whole of its time once more. */
	bool waits_anew;
};

/* False: the thread is in no system call that can be begun again, or may hold
 * malloc's lock. */
bool sleeper_read(const struct remote *r, pid_t tid,
		  const struct sleeper_libc *libc, struct sleeper *c);
/* The thread that holds a mutex of the loader: this one, or for 0 any. 0: none
 * does; -1: it cannot be read. */
pid_t sleeper_loader_holder(const struct remote *r,
			    const struct sleeper_libc *l, pid_t tid);
/* Is that where one of them may be? */
bool sleeper_is_loaders(const struct sleeper_libc *l, uint64_t at);
