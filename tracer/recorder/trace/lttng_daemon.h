/* lttng_daemon.h - LTTng's session daemon: where it is, and its start and end.
 * The calls may hang, as a session's may: a child of the recorder makes
 * them. It knows no sessions of ours.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* This user's daemon. 0: there is none. */
pid_t daemon_pid(void);
/* The consumer daemon of a daemon. 0: not found. */
pid_t daemon_consumer(pid_t daemon);

/* Make sure that a daemon runs. NULL, or why none does. */
const char *daemon_ensure(void);
/* Whether a recorder started that daemon. */
bool daemon_is_ours(pid_t pid);
/* Stop the daemon if a recorder started it, and it has no session left. False:
 * it is not looked at, since a recording began in the last ms. */
bool daemon_stop_idle(uint32_t ms);
