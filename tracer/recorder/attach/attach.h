/* attach.h - recording a program that runs already: it is asked to join the
 * pool, and to leave it at the end. SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/mailbox.h"
#include "tracer/recorder/attach/load.h"
#include "tracer/recorder/attach/target.h"
#include "tracer/recorder/base/pool_owner.h"

struct attach {
	struct target target;
	uint64_t mailbox;          /* where it lies in the program */
	uint64_t pool_size;        /* that it must have; 0: any */
	char pool[ATTACH_PATH_MAX]; /* its name, as the program is told */
	struct load load;          /* if it was started without libweft.so */
	uint64_t since_ms, next_ms;
	bool is_used;              /* is a program attached at all? */
	bool is_late;              /* was it started without libweft.so? */
	bool waits;                /* until it calls its next hook */
	bool told_waiting;
	bool has_ended;            /* was it heard of, while it was recorded? */
	int status;                /* then: as of waitpid; negative: unknown */
	bool paused;               /* recording stays off when it has joined */
	bool of_libc;              /* calls of libc's are recorded, too */
	uint64_t coroutines;       /* numbers that earlier recordings used up */
};

/* Find the program that text names (target_find), and its mailbox, if it has
 * one. Prints why and returns negative if it cannot be attached. pool_bytes: as
 * the user wants it; 0: any. of_libc: calls of libc's are recorded, too. */
int attach_find(struct attach *a, const char *text, uint64_t pool_bytes,
		bool of_libc);

/* The program's number; 0: none is attached. */
static inline pid_t attach_pid(const struct attach *a)
{
	return a->is_used ? a->target.remote.pid : 0;
}

/* The pool is there, and off: ask the program to join, with libweft.so loaded
 * from this path if it has none. Prints why and returns negative if it
 * cannot. */
int attach_begin(struct attach *a, struct pool_owner *owner, bool paused,
		 const char *library);

/* While it waits: ask again, and turn recording on once it has joined. Cheap if
 * there is nothing to do. False: the program refuses, or has ended; a line was
 * printed. */
bool attach_poll(struct attach *a, struct pool_owner *owner, uint64_t now_ms);

/* Recording is off, and the pool is empty: all processes that are in it leave
 * it, at their next hooks at the latest, and its memory is given back. */
void attach_end(struct attach *a, struct pool_owner *owner);
