/* session_process.h - the process that talks to LTTng's session daemon for us: what
 * hangs there is waited for as long as we like and no longer, and if the
 * recorder is killed, the session is still closed in order.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_SESSION_PROCESS_H
#define WEFT_TRACER_RECORDER_SESSION_PROCESS_H

#include "tracer/recorder/lttng_session.h"

#include <stdbool.h>
#include <sys/types.h>

struct keeper {
	pid_t pid;
	int socket;                /* negative: none */
	int daemon, consumer;      /* pidfds of LTTng's; negative: none */
};

/* Fork it; it begins to make the session at once. home: LTTNG_HOME for it, or
 * NULL. Needs: no other thread yet. Negative: says why. */
int keeper_start(struct keeper *k, const struct channel_plan *plan,
		 const char *home);
/* Wait until the session runs. Negative: it does not; says why. */
int keeper_wait_open(struct keeper *k);
/* Have either of the daemons died? */
bool keeper_lost_daemon(const struct keeper *k);
/* Close the session; waits as long as bytes of the folder output grow, and
 * patience_ms longer. Negative: not closed in order; says why. */
int keeper_close(struct keeper *k, const char *output, int patience_ms);

#endif
