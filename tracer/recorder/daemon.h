/* daemon.h - LTTng's session daemon: found, started, stopped.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_DAEMON_H
#define WEFT_RECORDER_DAEMON_H

#include <stddef.h>
#include <sys/types.h>

/* A folder to use as LTTNG_HOME instead of what the environment says, because
 * no daemon could put its sockets there; NULL: leave it. */
const char *daemon_home(void);

/* Make sure a daemon runs. Negative: why says it. */
int daemon_ensure(char *why, size_t room);

/* Stop the daemon if a recorder started it and no session is left in it. */
void daemon_stop_idle(void);

/* Is that daemon one that a recorder started? */
int daemon_is_ours(pid_t pid);

/* The daemon's process and that of its consumer; 0: not found. */
pid_t daemon_pid(void);
pid_t daemon_consumer(pid_t daemon);

#endif
