/* front.h - the process that the user started. It stays in the program's group
 * of processes, passes signals on and ends as the recorder does. That is its
 * child, in a session of its own: where the kernel shares the processors among
 * sessions (autogroup), the program's threads, many as they may be, do not keep
 * the recorder from running.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* A signal that the front got. Of SIGCHLD: the program has ended, and status is
 * waitpid's. */
struct front_news {
	int signal, status;
};

/* Fork, and go on in the child, the recorder. The front waits for it and never
 * returns; if the front is killed, the recorder is killed, too. The signals in
 * set, which must be blocked, are the front's. Returns the socket to it, which
 * can be read when there is news; negative if it cannot be had. */
int front_split(const sigset_t *set);
/* Fork a child of the front, so that its parent is whom the user started. Must
 * be called before front_leave, and by the only thread. As fork; the child has
 * no socket. */
pid_t front_fork(int socket);
/* Leave the front's session for one with this process's priority. */
void front_leave(void);
/* The next news. Does not wait; false: there is none. */
bool front_read(int socket, struct front_news *news);
/* End the calling process as one did of which waitpid tells that: by the same
 * signal, without a core file. Returns what to exit with if it did not end by a
 * signal, or if that signal does not end this process. */
int front_end_like(int status);
