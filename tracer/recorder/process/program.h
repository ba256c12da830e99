/* program.h - the recorded program: its environment, its start and its end. It
 * is started late but forked early, so that it inherits nothing of what the
 * recorder opens and sets meanwhile.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Where weft's own files are. */
struct installation {
	char library[PATH_MAX];        /* libweft.so */
	char preload[PATH_MAX + 4096]; /* the value of LD_PRELOAD */
	char provider[PATH_MAX];       /* weft-provider.so */
	char modules[PATH_MAX];        /* the folder of the Lua modules */
	char private[32];              /* a temporary folder; "": none */
};

/* Find the files from the place of this program. Prints what is missing and
 * returns negative. A temporary folder is made only if the library's path has
 * bytes that LD_PRELOAD cannot contain. */
int installation_find(struct installation *in);
/* Remove the temporary folder, if there is one. May be called twice. */
void installation_clean(struct installation *in);

/* What the program's environment gets. The strings are the caller's. */
struct child_environment {
	const char *preload;  /* value of LD_PRELOAD; NULL: leave it */
	const char *modules;  /* PREFIX/lib/lua: interpreters shall load weft
			       * (--lua-init); NULL: they shall not */
	bool is_asan;         /* AddressSanitizer is linked into the program */
};

/* The program and the pipes and signals between it and the recorder. */
struct program {
	pid_t pid;
	int go, failed;            /* pipes: to it, from it; negative: closed */
	/* What we were started with, for the program: */
	sigset_t mask;
	struct sigaction file_signal, child_signal; /* SIGXFSZ, SIGCHLD */
	struct rlimit file_size;
	int nice;
	int signals;               /* the socket to the launcher */
	int status;                /* of waitpid, once it has ended */
	bool has_ended;
	bool wants_finish;         /* the user wants the recording to end */
	bool wants_snapshot;       /* SIGUSR1 came; the reader sets it back */
	bool is_not_ours;          /* it ran already: no signal is for it */
};

/* Go on in a child of this process, which stays as the launcher (launcher.h).
 * Let no limit of the files' size end us, and take the priority that we may
 * have, before anything else is forked: a program with more threads than
 * processors fills the pool faster than the recorder is let run. Resets *p and
 * keeps what was there for the program. Prints why and returns negative if it
 * cannot. */
int program_take_signals(struct program *p);
/* Fork; the child sets its environment, unless owner is NULL, and waits for
 * program_go. Prints why and returns negative if it cannot. */
int program_fork(struct program *p, char *const argv[],
		 const struct pool_owner *owner,
		 const struct child_environment *environment);
/* Nothing more is forked: leave the session of the two. */
void program_leave(void);
/* The same where there is nothing to fork, as the program runs already. From
 * here on each signal means that the recording is to end. */
void program_leave_alone(struct program *p);
/* Let it run. If it cannot be executed: prints why, sets *status to what a
 * shell would return (126, or 127 if there is no such file), and returns
 * negative. Waits until the exec has succeeded or failed. */
int program_go(struct program *p, const char *name, int *status);
/* End the child instead, if it waits; do nothing if program_go was called. */
void program_cancel(struct program *p);
/* Read what the launcher tells: forward SIGTERM and SIGHUP to the program,
 * or note, once it has ended, that the user wants the recording to end. Also
 * notes the program's end. Does not wait. */
void program_handle_signals(struct program *p);
/* Its exit status, or the end by the signal that ended it (launcher_end_like);
 * 0 if it still runs. */
int program_exit_like(const struct program *p);
