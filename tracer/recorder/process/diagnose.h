/* diagnose.h - tells the user why a program, or a part of it, is not recorded,
 * and what to do about it.
 *
 * The folder process/ has what /proc and the kernel tell of recorded programs.
 * It uses base/. It must not know where chunks go.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"

enum { SEEN_PROGRAMS_MAX = 32 };

/* The programs that were recorded, by path, but for those beyond
 * SEEN_PROGRAMS_MAX. */
struct seen_programs {
	uint32_t n;
	char path[SEEN_PROGRAMS_MAX][POOL_PATH_MAX];
};

/* Note the program of a process that has ended, or at the recording's end. The
 * slot may contain anything: a path that is not absolute is ignored. */
void seen_programs_note(struct seen_programs *seen,
			const struct pool_process *process);

/* What can be expected of a program before it is started. */
enum diagnose_outlook {
	OUTLOOK_GOOD,
	OUTLOOK_NONE,              /* nothing of it can be recorded */
	OUTLOOK_NO_PRELOAD,        /* ... and with LD_PRELOAD it cannot start */
};

/* Before the start: tell what will certainly be missing. A file that cannot be
 * read counts as good: the start itself will tell. */
enum diagnose_outlook diagnose_before(const char *path);
/* A recorded process now runs this program, which is not recorded: tell why.
 * program: its path, or its short name if the path may not be seen. */
void diagnose_unrecorded(pid_t pid, const char *program);

/* What the recording saw, and what the user asked for. */
struct diagnose_facts {
	uint32_t processes;
	bool was_paused, native_wanted, lua_wanted;
	bool attached;             /* the program ran already */
	uint64_t vms;
	uint32_t trouble;          /* enum process_trouble, bits */
	bool leaves_out;           /* functions, as the user chose */
	const char *awaited;       /* what recording waits for; or NULL, */
	uint64_t awaited_n;        /* and how many functions are called so */
	bool told;                 /* the user knows the reason already */
	const struct seen_programs *seen;
};

/* Nothing was recorded: tell why. argv: of the program at path. */
void diagnose_empty(const char *path, char *const *argv,
		    const struct diagnose_facts *facts);
/* Something was recorded: tell what is missing all the same. */
void diagnose_partial(const char *path, const struct diagnose_facts *facts);
