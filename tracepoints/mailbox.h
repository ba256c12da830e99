/* mailbox.h - how a recorder asks a program that runs already to join a
 * recording: it writes into a mailbox of libweft.so in that process, through
 * /proc/PID/mem. The next hook that runs finds it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define ATTACH_SYMBOL "weft_mailbox" /* of struct attach_mailbox */

/* long weft_links_lead(void): called by ptrace, again whenever a module was
 * loaded. Leads the program's links to the library. Returns how many are led,
 * or one of these. */
#define ATTACH_LEAD_SYMBOL "weft_links_lead"
enum { ATTACH_LEAD_LATER = -1, ATTACH_LEAD_FULL = -2 };

enum { ATTACH_VERSION = 6, ATTACH_PATH_MAX = 160 };

/* A recorder that loads the library into a program writes its path with this
 * before the file's name: so the library knows it, even if the recorder is
 * killed at once. */
#define ATTACH_LATE "/./"

/* What the recorder wants. */
enum attach_wish {
	ATTACH_NOTHING = 0,
	ATTACH_JOIN = 1,
	ATTACH_LEAVE = 2,
};

/* What the program does. */
enum attach_state {
	ATTACH_AWAY = 0,      /* it is not recorded, and may be */
	ATTACH_JOINED = 1,
	ATTACH_LAUNCHED = 2,  /* it was recorded from its start */
	ATTACH_REFUSED = 3,   /* it was asked to join, and could not: no memory,
	                       * no system calls (seccomp), or a pool of another
	                       * shape, or too many earlier ones that sleeping
	                       * threads were in */
};

/* Whether the pool's name is to be looked for. */
enum attach_search { ATTACH_LOOK = 0, ATTACH_LOOKING, ATTACH_LOOKED };

/* A wish to leave a pool that is not the joined one is ignored.
 * The recorder writes pool and wish, then search, then native, each time in
 * this order, and again until state is what it wants: a thread that looks at
 * that moment may miss it. All else is the program's. */
struct attach_mailbox {
	uint32_t version;
	_Atomic uint32_t search;     /* enum attach_search */
	/* The distance of the pool from thread_no_pool (tracer/host/thread/
	 * thread.h), where native calls are recorded. 0: the next hook finds
	 * out. */
	_Alignas(64) uint64_t native;
	_Atomic uint32_t none;       /* 0 for ever: thread_no_pool's
	                              * generation */
	uint32_t wish;               /* enum attach_wish */
	_Atomic uint32_t state;      /* enum attach_state */
	/* Of the pool that was joined first, bytes; 0: none was. Others must
	 * have its shape. */
	uint64_t pool_size;
	char pool[ATTACH_PATH_MAX];  /* as POOL_ENV's value */
	char joined[ATTACH_PATH_MAX]; /* that of the pool that was joined */
	uint32_t is_late;            /* was it loaded as ATTACH_LATE says? */
};
