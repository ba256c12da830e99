/* program.h - the program to record: started late, but forked early, so that
 * it inherits nothing of what the recorder opens and sets meanwhile.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_PROGRAM_H
#define WEFT_RECORDER_PROGRAM_H

#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/child_environment.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct program {
	pid_t pid;
	int go, failed;            /* pipes: to it, from it */
	sigset_t mask;             /* the signal mask we were started with */
	int signals;               /* signalfd */
	int status;                /* of waitpid, once ended */
	bool has_ended;
	bool wants_finish;         /* the user wants the recording to end */
};

/* Block the signals we read; before anything else is forked. */
int program_take_signals(struct program *p);
/* Fork. Negative: says why. */
int program_fork(struct program *p, char *const argv[],
		 const struct arena *arena, const struct surround *surround);
/* Let it run. Negative: it could not be executed: says why, and *status is
 * what a shell would give. */
int program_go(struct program *p, const char *name, int *status);
/* It is not to run after all. */
void program_cancel(struct program *p);
/* Read the signals that have come: forward, reap, note. */
void program_handle_signals(struct program *p);
/* Its exit status; or die by the signal that ended it. */
int program_exit_like(const struct program *p);

#endif
