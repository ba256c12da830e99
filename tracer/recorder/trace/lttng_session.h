/* lttng_session.h - the LTTng session of one recording, and the child process
 * that holds it. What hangs in LTTng's daemon is waited for as long as we
 * choose. If the recorder is killed, the session is closed in order all the
 * same.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/trace/relay.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* What the session shall be. Fixed before session_process_start: the child has
 * a copy. */
struct session_plan {
	char name[64];             /* session_plan_name */
	char output[PATH_MAX];     /* folder of the trace, absolute */
	struct relay relay;        /* that gets the trace instead; or none */
	pid_t pid;                 /* the only process that is traced */
	uint64_t ring_bytes;       /* size of a sub-buffer */
	uint32_t rings;            /* sub-buffers of one CPU */
};

/* Choose ring_bytes and rings so that the rings of all CPUs take at most half
 * of the free bytes of /dev/shm. Returns the size of all rings in bytes, with
 * LTTng's spare sub-buffer of each CPU. 0: they do not fit; the plan is as it
 * was. */
uint64_t session_plan_fit(struct session_plan *plan, uint64_t free_bytes,
			  uint32_t cpus);

/* Choose the session's name: it tells which process records, so that others can
 * see that it has ended and that nobody destroyed its session. */
void session_plan_name(struct session_plan *plan);

/* The recorder's end of the child that holds the session. */
struct session_process {
	int socket;                /* negative: there is no process */
	int daemon, consumer;      /* pidfds of LTTng's; negative: none */
	int relay;                 /* relay_watch; negative: none */
	bool has_opened;
	uint64_t heard_ns;         /* when the daemon did something for us */
	uint64_t until_ns;         /* it is waited for no longer */
};

/* There is none. */
void session_process_init(struct session_process *s);
/* Fork it; it begins to make the session at once. There must be no other thread
 * yet. Prints why and returns negative if it cannot. */
int session_process_start(struct session_process *s,
			  const struct session_plan *plan);
/* Wait until the session runs. Prints why and returns negative if it does not,
 * or if nothing was heard of the daemon for a second; of one that is being
 * started, for 3 s. */
int session_process_open(struct session_process *s);
/* Why the daemon is to be waited for no longer. NULL: it may yet answer. */
const char *session_process_hangs(const struct session_process *s);
/* Which of the daemons has died; NULL: none that is watched. Does not wait. */
const char *session_process_lost(const struct session_process *s);
/* Watch them no longer. */
void session_process_look_away(struct session_process *s);
/* Close the session. Waits as long as the files of the folder output grow, and
 * patience_ms longer. Prints why and returns negative if it was not closed in
 * order. The socket is closed in any case; the child then ends by itself. */
int session_process_close(struct session_process *s, const char *output,
			  int patience_ms);
