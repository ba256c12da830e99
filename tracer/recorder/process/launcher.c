/* launcher.c - two processes and a socket. The launcher knows its two children,
 * and nothing of recording.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/launcher.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the launcher ---- */

int launcher_end_like(int status)
{
	sigset_t one;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	const int s = WTERMSIG(status);

	/* The program's core file may be of use; ours is not. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(s, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, s);
	raise(s);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + s;
}

static void tell_recorder(int socket, int signal_number, int status)
{
	const struct launcher_news news = { signal_number, status };

	send(socket, &news, sizeof(news), MSG_NOSIGNAL);
}

/* *program: 0 until the recorder has told its number, and once it has ended.
 * There may be other children, from before an exec of this process. */
static void look_at_children(int socket, pid_t recorder, pid_t *program)
{
	int status;

	if (*program == 0 && recv(socket, program, sizeof(*program),
				  MSG_DONTWAIT) != sizeof(*program))
		*program = 0;
	if (*program > 0 && waitpid(*program, &status, WNOHANG) == *program) {
		*program = 0;
		tell_recorder(socket, SIGCHLD, status);
	}
	if (waitpid(recorder, &status, WNOHANG) == recorder)
		_exit(launcher_end_like(status));
}

__attribute__((noreturn))
static void attend(int socket, pid_t recorder, const sigset_t *set)
{
	pid_t program = 0;

	for (;;) {
		const int s = sigwaitinfo(set, NULL);

		if (s > 0 && s != SIGCHLD)
			tell_recorder(socket, s, 0);
		look_at_children(socket, recorder, &program);
	}
}

/* ---- the recorder's side ---- */

int launcher_split(const sigset_t *set)
{
	const pid_t launcher = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	const pid_t pid = fork();

	if (pid > 0) {
		close(pair[1]);
		attend(pair[0], pid, set);
	}
	close(pair[0]);
	if (pid < 0) {
		close(pair[1]);
		return -1;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(1);
	return pair[1];
}

pid_t launcher_fork(int socket)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD,
					 NULL, NULL, NULL, NULL);

	if (pid == 0)
		close(socket);
	/* If the child has been killed already, the launcher did not know
	 * it. */
	if (pid > 0 && (send(socket, &pid, sizeof(pid), MSG_NOSIGNAL) < 0 ||
			kill(getppid(), SIGCHLD) != 0))
		return -1;
	return pid;
}

/* The session's own priority counts beside other sessions. */
void launcher_leave(void)
{
	setsid();
	const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%d", getpriority(PRIO_PROCESS, 0));
	close(fd);
}

bool launcher_read(int socket, struct launcher_news *news)
{
	return recv(socket, news, sizeof(*news), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*news);
}
