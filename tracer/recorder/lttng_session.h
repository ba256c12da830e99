/* lttng_session.h - LTTng's session daemon, and the session of one recording in
 * it. The calls may hang: only the session process makes them, except for
 * lttng_session_fit and lttng_home.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_LTTNG_SESSION_H
#define WEFT_TRACER_RECORDER_LTTNG_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LTTNG_WHY_MAX = 200 };

/* A folder to use as LTTNG_HOME, because no daemon could put its sockets where
 * the environment says. NULL: leave the variable as it is. */
const char *lttng_home(void);

/* Make sure that a daemon runs. Returns negative and the reason in why. */
int lttng_daemon_ensure(char why[LTTNG_WHY_MAX]);
/* Stop the daemon if a recorder started it and it has no session left. */
void lttng_daemon_stop_idle(void);
/* Whether a recorder started that daemon. */
bool lttng_daemon_is_ours(pid_t pid);
/* The daemon's process, and that of its consumer daemon. 0: not found. */
pid_t lttng_daemon_pid(void);
pid_t lttng_daemon_consumer(pid_t daemon);

struct session_plan {
	char session[64];          /* its name, with a random part */
	char output[PATH_MAX];     /* absolute */
	pid_t pid;                 /* the only process that is traced */
	uint64_t ring_bytes;       /* size of a sub-buffer */
	uint32_t rings;            /* sub-buffers of one CPU */
};

/* Choose ring_bytes and rings so that the rings of all CPUs take at most half
 * of the free bytes of /dev/shm. Returns the size of all rings. 0: they do not
 * fit. */
uint64_t lttng_session_fit(struct session_plan *plan, uint64_t free_bytes,
			   uint32_t cpus);

/* Make and start the session. Returns negative and the reason in why. */
int lttng_session_open(const struct session_plan *plan,
		       char why[LTTNG_WHY_MAX]);
/* Stop it and wait until all is on the disk. Once the descriptor waiting can be
 * read, nobody waits for this process: it gives up a few seconds later. True:
 * all is written, and the trace can be read. If a call hangs, SIGALRM comes;
 * that holds for lttng_session_destroy, too. */
bool lttng_session_stop(const struct session_plan *plan, int waiting);
/* Returns negative and the reason in why. */
int lttng_session_destroy(const struct session_plan *plan,
			  char why[LTTNG_WHY_MAX]);

#endif
