/* program.c - starting the program and passing signals on. It stays in our
 * process group with our terminal; Ctrl-C is between it and the user.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/program.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HIGH_FD = 1000,            /* away from what programs close or poll */
	CANNOT_EXECUTE = 126,
	NOT_FOUND = 127,
};

static int read_signals[] = { SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT };

int program_take_signals(struct program *p)
{
	sigset_t set;

	memset(p, 0, sizeof(*p));
	p->go = p->failed = -1;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(read_signals) / sizeof(int); i++)
		sigaddset(&set, read_signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, &p->mask) != 0)
		return -1;
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signals < 0 ? -1 : 0;
}

/* A descriptor of the pool that survives exec. It is opened anew: the lock
 * that says "the recorder lives" belongs to the recorder's own opening. */
static int open_pool(const struct arena *arena)
{
	struct rlimit limit;
	const int low = open(arena->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int from = HIGH_FD;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur <= HIGH_FD)
		from = limit.rlim_cur > 16 ? (int)limit.rlim_cur - 8 : 3;
	const int high = fcntl(low, F_DUPFD, from);

	return high >= 0 ? high : fcntl(low, F_DUPFD, 3);
}

static void set_environment(const struct arena *arena,
			    const struct surround *surround)
{
	char text[160];

	snprintf(text, sizeof(text), "%d:%" PRIu64 ":%" PRIu64 ":%s",
		 open_pool(arena), (uint64_t)arena->device,
		 (uint64_t)arena->inode, arena->path);
	setenv(POOL_ENV, text, 1);
	surround_set(surround);
}

__attribute__((noreturn))
static void become(const struct program *p, char *const argv[],
		   const struct arena *arena, const struct surround *surround,
		   int go, int failed)
{
	char order;
	ssize_t n;

	set_environment(arena, surround);
	do {
		n = read(go, &order, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(NOT_FOUND);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
	execvp(argv[0], argv);
	const int why = errno;

	if (write(failed, &why, sizeof(why)) < 0)
		_exit(NOT_FOUND);
	_exit(why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE);
}

int program_fork(struct program *p, char *const argv[],
		 const struct arena *arena, const struct surround *surround)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
		say("cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	p->pid = fork();
	if (p->pid == 0) {
		close(go[1]);
		close(failed[0]);
		become(p, argv, arena, surround, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	p->go = go[1];
	p->failed = failed[0];
	if (p->pid < 0) {
		say("cannot fork: %s", strerror(errno));
		return -1;
	}
	return 0;
}

int program_go(struct program *p, const char *name, int *status)
{
	int why = 0;
	ssize_t n;

	if (write(p->go, "g", 1) != 1)
		say("cannot start \"%s\": %s", name, strerror(errno));
	do {
		n = read(p->failed, &why, sizeof(why));
	} while (n < 0 && errno == EINTR);
	close(p->go);
	close(p->failed);
	p->go = p->failed = -1;
	if (n <= 0)
		return 0;
	waitpid(p->pid, NULL, 0);
	say("cannot run \"%s\": %s", name, strerror(why));
	*status = why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
	return -1;
}

void program_cancel(struct program *p)
{
	if (p->go >= 0) {
		close(p->go);
		close(p->failed);
		p->go = p->failed = -1;
		waitpid(p->pid, NULL, 0);
	}
}

static void reap(struct program *p)
{
	int status;

	if (!p->has_ended && waitpid(p->pid, &status, WNOHANG) == p->pid) {
		p->status = status;
		p->has_ended = true;
	}
}

void program_handle_signals(struct program *p)
{
	struct signalfd_siginfo s;

	while (read(p->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		switch (s.ssi_signo) {
		case SIGCHLD:
			break;
		case SIGTERM:
		case SIGHUP:
			if (!p->has_ended)
				kill(p->pid, (int)s.ssi_signo);
			else
				p->wants_finish = true;
			break;
		default:
			/* The program has its own from the terminal. */
			if (p->has_ended)
				p->wants_finish = true;
		}
	}
	reap(p);
}

int program_exit_like(const struct program *p)
{
	sigset_t one;

	if (!p->has_ended)
		return 0;
	if (WIFEXITED(p->status))
		return WEXITSTATUS(p->status);
	const int s = WTERMSIG(p->status);

	/* The program's core file, if any, is of use; ours is not. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(s, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, s);
	raise(s);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + s;
}
