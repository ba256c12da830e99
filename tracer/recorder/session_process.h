/* session_process.h - the child process that talks to LTTng's session daemon.
 * What hangs there is waited for as long as we choose. If the recorder is
 * killed, the session is closed in order all the same.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_SESSION_PROCESS_H
#define WEFT_TRACER_RECORDER_SESSION_PROCESS_H

#include "tracer/recorder/lttng_session.h"

#include <stdbool.h>

struct session_process {
	int socket;                /* negative: there is no process */
	int daemon, consumer;      /* pidfds of LTTng's; negative: none */
};

/* Fork it; it begins to make the session at once. home: LTTNG_HOME for it, or
 * NULL. There must be no other thread yet. Prints why and returns negative if
 * it cannot. */
int session_process_start(struct session_process *s,
			  const struct session_plan *plan, const char *home);
/* Wait until the session runs. Prints why and returns negative if it does
 * not. */
int session_process_wait_open(struct session_process *s);
/* Whether one of the daemons has died. */
bool session_process_lost_daemon(const struct session_process *s);
/* Close the session. Waits as long as the files of the folder output grow, and
 * patience_ms longer. Prints why and returns negative if it was not closed in
 * order. */
int session_process_close(struct session_process *s, const char *output,
			  int patience_ms);

#endif
