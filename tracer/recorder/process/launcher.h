/* launcher.h - the process that the user started. It stays in the program's
 * group of processes, passes signals on and ends as the recorder does. That is
 * its child, in a session of its own: where the kernel shares the processors
 * among sessions (autogroup), the program's threads, many as they may be, do
 * not keep the recorder from running.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* A signal that the launcher got. Of SIGCHLD: the program has ended, and status
 * is waitpid's. */
struct launcher_news {
	int signal, status;
};

/* Fork, and go on in the child, the recorder. The launcher waits for it and
 * never returns; if the launcher is killed, the recorder is killed, too. The
 * signals in set, which must be blocked, are the launcher's. Returns the socket
 * to it, which can be read when there is news; negative if it cannot be had. */
int launcher_split(const sigset_t *set);
/* Fork a child of the launcher, so that its parent is whom the user started.
 * Must be called before launcher_leave, and by the only thread. As fork; the
 * child has no socket. */
pid_t launcher_fork(int socket);
/* Leave the launcher's session for one with this process's priority. */
void launcher_leave(void);
/* The next news. Does not wait; false: there is none. */
bool launcher_read(int socket, struct launcher_news *news);
/* End the calling process as one did of which waitpid tells that: by the same
 * signal, without a core file. Returns what to exit with if it did not end by a
 * signal, or if that signal does not end this process. */
int launcher_end_like(int status);
