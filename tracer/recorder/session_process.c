/* session_process.c - a child that holds the LTTng session.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/session_process.h"
#include "tracer/recorder/daemon.h"
#include "tracer/recorder/folder.h"
#include "tracer/recorder/rate.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OPEN_MS = 8000,
	OPEN_S = 120,              /* then the keeper gives up, too */
	STOP_S = 20,               /* for the daemon to stop, once asked */
	LINGER_MS = 3000,          /* before the daemon is stopped */
};

/* Two come: opened, closed. */
struct reply {
	int status;
	int daemon, consumer;      /* pids */
	char why[200];
};

static void answer(int socket, const struct reply *r)
{
	if (send(socket, r, sizeof(*r), MSG_NOSIGNAL) < 0)
		return;
}

/* Terminal, signals and descriptors of the recorder's are none of ours. */
static int detach(int socket)
{
	const int null = open("/dev/null", O_RDWR);

	setsid();
	for (int s = 1; s < NSIG; s++)
		signal(s, s == SIGCHLD || s == SIGALRM ? SIG_DFL : SIG_IGN);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (socket != 3) {
		dup2(socket, 3);
		socket = 3;
	}
	fcntl(socket, F_SETFD, FD_CLOEXEC);
	close_range(4, ~0U, 0);
	return socket;
}

static pid_t own_daemon, own_consumer; /* a recorder started them; or 0 */

/* The daemon hangs: with its disk full the consumer was seen to spin for ever.
 * One that is ours is not left behind so; whoever else uses it has its spill
 * file. */
static void on_hang(int signal_number)
{
	(void)signal_number;
	if (own_consumer > 1)
		kill(own_consumer, SIGKILL);
	if (own_daemon > 1)
		kill(own_daemon, SIGKILL);
	_exit(1);
}

/* Whether or not the recorder still waits: a daemon that hung for a while must
 * not be left with a session that nobody closes. */
static void open_session(const struct channel_plan *plan, struct reply *r)
{
	alarm(OPEN_S);
	r->status = daemon_ensure(r->why, sizeof(r->why));
	if (r->status == 0)
		r->status = channel_open(plan, r->why, sizeof(r->why));
	r->daemon = daemon_pid();
	r->consumer = daemon_consumer(r->daemon);
	if (daemon_is_ours(r->daemon)) {
		own_daemon = r->daemon;
		own_consumer = r->consumer;
	}
	alarm(0);
	signal(SIGALRM, on_hang);
}

/* A slow disk is waited for as long as the recorder does. It takes the daemon
 * half a second to destroy a session: once all is written, nobody waits. */
static void close_session(const struct channel_plan *plan, int socket)
{
	struct reply r = { 0 };
	const bool is_written = channel_stop(plan, socket);

	if (is_written)
		answer(socket, &r);
	r.status = channel_destroy(plan, r.why, sizeof(r.why));
	if (!is_written)
		answer(socket, &r);
}

__attribute__((noreturn))
static void keep(int socket, const struct channel_plan *plan)
{
	struct reply r = { 0 };
	char order;

	socket = detach(socket);
	open_session(plan, &r);
	answer(socket, &r);
	if (r.status == 0) {
		/* An order, or the recorder's death. */
		while (recv(socket, &order, 1, 0) < 0 && errno == EINTR)
			;
		close_session(plan, socket);
	}
	close(socket);
	/* It takes the daemon 1.5 s to stop. Nobody waits for that, and a
	 * recording that follows soon finds it running. */
	poll(NULL, 0, LINGER_MS);
	alarm(STOP_S);
	daemon_stop_idle();
	_exit(0);
}

int keeper_start(struct keeper *k, const struct channel_plan *plan,
		 const char *home)
{
	int pair[2];

	*k = (struct keeper){ .socket = -1, .daemon = -1, .consumer = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	k->pid = fork();
	if (k->pid == 0) {
		if (home)
			setenv("LTTNG_HOME", home, 1);
		keep(pair[1], plan);
	}
	close(pair[1]);
	if (k->pid < 0) {
		close(pair[0]);
		say_trouble("cannot fork: %s", strerror(errno));
		return -1;
	}
	k->socket = pair[0];
	return 0;
}

/* 1: an answer; 0: none in time; negative: the keeper has died. */
static int receive(const struct keeper *k, struct reply *r, int ms)
{
	struct pollfd p = { .fd = k->socket, .events = POLLIN };
	int ready;

	do {
		ready = poll(&p, 1, ms);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return 0;
	if (recv(k->socket, r, sizeof(*r), 0) != (ssize_t)sizeof(*r))
		return -1;
	r->why[sizeof(r->why) - 1] = '\0';
	return 1;
}

/* It finishes what it is at, closes the session, stops the daemon. */
static void dismiss(struct keeper *k)
{
	close(k->socket);
	k->socket = -1;
}

static int watch(pid_t pid)
{
	return pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int keeper_wait_open(struct keeper *k)
{
	struct reply r;
	const int got = receive(k, &r, OPEN_MS);

	if (got == 1 && r.status == 0) {
		k->daemon = watch(r.daemon);
		k->consumer = watch(r.consumer);
		return 0;
	}
	if (got == 1)
		say_trouble("no LTTng session: %s", r.why);
	else
		say_trouble("no LTTng session: the session daemon does not "
			    "answer");
	dismiss(k);
	return -1;
}

static bool has_died(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 1;
}

bool keeper_lost_daemon(const struct keeper *k)
{
	return has_died(k->daemon) || has_died(k->consumer);
}

/* As receive, but as long as the folder grows. */
static int receive_closed(const struct keeper *k, struct reply *r,
			  const char *output, int patience_ms)
{
	uint64_t bytes = folder_bytes(output);
	int still = 0;

	for (;;) {
		const int got = receive(k, r, 500);

		if (got != 0)
			return got;
		const uint64_t now = folder_bytes(output);

		still = now == bytes ? still + 500 : 0;
		bytes = now;
		if (still >= patience_ms ||
		    (still > 0 && keeper_lost_daemon(k)))
			return 0;
	}
}

int keeper_close(struct keeper *k, const char *output, int patience_ms)
{
	struct reply r;
	const char order = 'c';

	if (k->socket < 0)
		return -1;
	if (send(k->socket, &order, 1, MSG_NOSIGNAL) != 1 ||
	    receive_closed(k, &r, output, patience_ms) != 1) {
		say_trouble("the LTTng session could not be closed in order");
		dismiss(k);
		return -1;
	}
	if (r.status != 0)
		say_trouble("LTTng session: %s", r.why);
	dismiss(k);
	return r.status;
}
