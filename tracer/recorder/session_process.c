/* session_process.c - the child that holds the LTTng session, and the
 * recorder's side of the socket between them.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/session_process.h"
#include "tracer/recorder/message.h"
#include "tracer/recorder/trace_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OPEN_MS = 8000,
	OPEN_S = 120,              /* then the child gives up, too */
	STOP_S = 20,               /* for the daemon to stop once it is asked */
	LINGER_MS = 3000,          /* before the daemon is stopped */
	LOOK_MS = 500,             /* between looks at the output's size */
};

/* The child sends two: when the session is open, and when it is closed. */
struct reply {
	int status;
	int daemon, consumer;      /* pids */
	char why[LTTNG_WHY_MAX];
};

/* ---- the child ---- */

static void answer(int socket, const struct reply *r)
{
	if (send(socket, r, sizeof(*r), MSG_NOSIGNAL) < 0)
		return;
}

/* Let go of the recorder's terminal, signals and descriptors. Returns the
 * socket's new number. */
static int let_go(int socket)
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

static pid_t own_daemon, own_consumer; /* 0: no recorder started them */

/* The daemon hangs: with a full disk, the consumer was seen to spin for ever.
 * If a recorder started them, they are not left behind like that. Other
 * recordings that use them have their spill files. */
static void on_hang(int signal_number)
{
	(void)signal_number;
	if (own_consumer > 1)
		kill(own_consumer, SIGKILL);
	if (own_daemon > 1)
		kill(own_daemon, SIGKILL);
	_exit(1);
}

/* Done whether or not the recorder still waits: a daemon that hung for a while
 * must not keep a session that nobody closes. */
static void open_session(const struct session_plan *plan, struct reply *r)
{
	alarm(OPEN_S);
	r->status = lttng_daemon_ensure(r->why);
	if (r->status == 0)
		r->status = lttng_session_open(plan, r->why);
	r->daemon = lttng_daemon_pid();
	r->consumer = lttng_daemon_consumer(r->daemon);
	if (lttng_daemon_is_ours(r->daemon)) {
		own_daemon = r->daemon;
		own_consumer = r->consumer;
	}
	alarm(0);
	signal(SIGALRM, on_hang);
}

/* A slow disk is waited for as long as the recorder waits. The daemon takes
 * half a second to destroy a session: once all is written, nobody waits. */
static void close_session(const struct session_plan *plan, int socket)
{
	struct reply r = { 0 };
	const bool is_written = lttng_session_stop(plan, socket);

	if (is_written)
		answer(socket, &r);
	r.status = lttng_session_destroy(plan, r.why);
	if (!is_written)
		answer(socket, &r);
}

__attribute__((noreturn))
static void run_child(int socket, const struct session_plan *plan)
{
	struct reply r = { 0 };
	char order;

	socket = let_go(socket);
	open_session(plan, &r);
	answer(socket, &r);
	if (r.status == 0) {
		/* Wait for the order to close, or for the recorder's death. */
		while (recv(socket, &order, 1, 0) < 0 && errno == EINTR)
			;
		close_session(plan, socket);
	}
	close(socket);
	/* The daemon takes 1.5 s to stop. Nobody waits for that, and a
	 * recording that follows soon finds the daemon running. */
	poll(NULL, 0, LINGER_MS);
	alarm(STOP_S);
	lttng_daemon_stop_idle();
	_exit(0);
}

/* ---- the recorder's side ---- */

int session_process_start(struct session_process *s,
			  const struct session_plan *plan, const char *home)
{
	int pair[2];

	*s = (struct session_process){ -1, -1, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	const pid_t pid = fork();

	if (pid == 0) {
		if (home)
			setenv("LTTNG_HOME", home, 1);
		run_child(pair[1], plan);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		message_trouble("cannot fork: %s; recording goes to "
				"spill.weft", strerror(errno));
		return -1;
	}
	s->socket = pair[0];
	return 0;
}

/* 1: a reply; 0: none in time; negative: the child has died. */
static int receive(const struct session_process *s, struct reply *r, int ms)
{
	struct pollfd p = { .fd = s->socket, .events = POLLIN };
	int ready;

	assert(s->socket >= 0);
	do {
		ready = poll(&p, 1, ms);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return 0;
	if (recv(s->socket, r, sizeof(*r), 0) != (ssize_t)sizeof(*r))
		return -1;
	r->why[sizeof(r->why) - 1] = '\0';
	return 1;
}

/* The child finishes what it does, closes the session and stops the daemon. */
static void dismiss(struct session_process *s)
{
	close(s->socket);
	s->socket = -1;
}

static int open_pidfd(pid_t pid)
{
	return pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int session_process_wait_open(struct session_process *s)
{
	struct reply r;
	const int got = receive(s, &r, OPEN_MS);

	if (got == 1 && r.status == 0) {
		s->daemon = open_pidfd(r.daemon);
		s->consumer = open_pidfd(r.consumer);
		return 0;
	}
	message_trouble("no LTTng session: %s; recording goes to spill.weft",
			got == 1 ? r.why : "the session daemon does not "
			"answer");
	dismiss(s);
	return -1;
}

static bool has_died(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 1;
}

bool session_process_lost_daemon(const struct session_process *s)
{
	return has_died(s->daemon) || has_died(s->consumer);
}

/* Receive a reply, waiting as long as the folder grows. */
static int receive_closed(const struct session_process *s, struct reply *r,
			  const char *output, int patience_ms)
{
	uint64_t bytes = trace_folder_bytes(output);
	int idle_ms = 0;

	for (;;) {
		const int got = receive(s, r, LOOK_MS);

		if (got != 0)
			return got;
		const uint64_t now = trace_folder_bytes(output);

		idle_ms = now == bytes ? idle_ms + LOOK_MS : 0;
		bytes = now;
		if (idle_ms >= patience_ms ||
		    (idle_ms > 0 && session_process_lost_daemon(s)))
			return 0;
	}
}

int session_process_close(struct session_process *s, const char *output,
			  int patience_ms)
{
	struct reply r;
	const char order = 'c';

	if (s->socket < 0)
		return -1;
	if (send(s->socket, &order, 1, MSG_NOSIGNAL) != 1 ||
	    receive_closed(s, &r, output, patience_ms) != 1) {
		message_trouble("the LTTng session could not be closed in "
				"order");
		dismiss(s);
		return -1;
	}
	if (r.status != 0)
		message_trouble("LTTng session: %s", r.why);
	dismiss(s);
	return r.status;
}
