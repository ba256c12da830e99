/* lttng_session.c - a session of LTTng's daemon, through liblttng-ctl. These
 * calls may hang, so a child of the recorder makes them.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/lttng_session.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/process/process_watch.h"
#include "tracer/recorder/trace/lttng_daemon.h"
#include "tracer/recorder/trace/trace_folder.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lttng/lttng.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	/* What the child waits for. */
	DESTROY_MS = 15000,
	IMPATIENT_MS = 5000,        /* for data, when nobody waits for it */
	LINGER_MS = 3000,           /* before the daemon is stopped */
	CALL_S = 20,                /* a call that takes longer hangs */
	OPEN_S = 30,                /* ... while the session is made */
	DAEMON_S = 60,              /* the lock, and a start or an end */
	/* What the recorder waits for. */
	STEP_MS = 2,                /* for an answer, before it looks again */
	LOOK_MS = 500,              /* between looks at the output's size */
	/* LTTng's channels. */
	BLOCK_US = 1000000,         /* LTTng may hold us up for so long */
	METADATA_FLUSH_US = 200000, /* a killed daemon leaves metadata then */
	DATA_FLUSH_US = 1000000,
	MOST_RING_BYTES = 64 << 20, /* of all CPUs together */
};

static const uint64_t open_ns = 5000000000, silent_ns = 1000000000,
		      starts_ns = 2000000000;

enum { GOES_ON = 1, STARTS_DAEMON };

/* The child sends this when the session is open, and when it is closed; before
 * that, with a positive status, at each step that the daemon has answered. */
static struct reply {
	int status;                /* 0, or negative */
	int daemon, consumer;      /* pids */
	char why[200];             /* why it is negative */
} reply;

/* Does not wait: the few of a recording fit into the socket. */
static void tell_recorder(int socket, int status)
{
	reply.status = status;
	send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
}

/* Note why a step failed. code: liblttng-ctl's, negative; 0: none. Returns
 * negative. */
static int failed(const char *what, int code)
{
	snprintf(reply.why, sizeof(reply.why), "%s%s%s", what,
		 code ? ": " : "", code ? lttng_strerror(code) : "");
	return -1;
}

/* ---- the session ---- */

uint64_t session_plan_fit(struct session_plan *plan, uint64_t free_bytes,
			   uint32_t cpus)
{
	/* A sub-buffer must hold a chunk of 128 KiB and its headers. */
	static const uint64_t size[] = { 1 << 20, 512 << 10, 256 << 10 };

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		for (uint32_t n = 16; n >= 2; n /= 2) {
			/* LTTng keeps one more sub-buffer for its reader. */
			const uint64_t all = size[i] * (n + 1) * cpus;

			if (all > free_bytes / 2 ||
			    (n > 4 && all > MOST_RING_BYTES + size[i] * cpus))
				continue;
			plan->ring_bytes = size[i];
			plan->rings = n;
			return all;
		}
	}
	return 0;
}

void session_plan_name(struct session_plan *plan)
{
	const pid_t pid = getpid();
	uint32_t random = 0;

	/* There is no other session of this process, but maybe another host's
	 * at the same relay daemon. */
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = 0;
	snprintf(plan->name, sizeof(plan->name),
		 "weft-%d-%" PRIx64 "-%08" PRIx32 "-%08" PRIx32, (int)pid,
		 process_start(pid), process_namespaces(), random);
}

/* Was a session of that name left by a recorder that has ended? False for every
 * name that session_plan_name does not give. */
static bool is_left(const char *name)
{
	uint32_t where, random;
	uint64_t start;
	int pid, end = -1;

	return sscanf(name, "weft-%d-%" SCNx64 "-%8" SCNx32 "-%8" SCNx32 "%n",
		      &pid, &start, &where, &random, &end) == 4 &&
	       end >= 0 && name[end] == '\0' && pid > 0 && start > 0 &&
	       where == process_namespaces() && process_has_ended(pid, start);
}

/* It blocks the writer for block_us before it drops anything. */
static int add_channel(struct lttng_handle *handle, const char *name,
		       uint64_t bytes, uint64_t count, unsigned int flush_us,
		       int64_t block_us)
{
	struct lttng_channel *const c = lttng_channel_create(&handle->domain);
	int code = -LTTNG_ERR_NOMEM;

	if (!c)
		return code;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->enabled = 1;
	c->attr.overwrite = 0;
	c->attr.subbuf_size = bytes;
	c->attr.num_subbuf = count;
	c->attr.switch_timer_interval = flush_us;
	c->attr.output = LTTNG_EVENT_MMAP;
	/* This timer reports how full the rings are; nobody asks for that. If
	 * one recording ends while another begins, LTTng 2.13's daemons may
	 * wait for each other for ever when they stop it. */
	lttng_channel_set_monitor_timer_interval(c, 0);
	if (block_us > 0)
		lttng_channel_set_blocking_timeout(c, block_us);
	code = lttng_enable_channel(handle, c);
	lttng_channel_destroy(c);
	return code;
}

/* Turn on weft:chunk in the data channel. */
static int add_event(struct lttng_handle *handle)
{
	struct lttng_event *const e = lttng_event_create();
	int code = -LTTNG_ERR_NOMEM;

	if (!e)
		return code;
	e->type = LTTNG_EVENT_TRACEPOINT;
	e->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
	e->loglevel = -1;
	snprintf(e->name, sizeof(e->name), "weft:chunk");
	code = lttng_enable_event(handle, e, "weft");
	lttng_event_destroy(e);
	return code;
}

/* Without this, two recordings of one user contain each other's chunks. */
static int track(const struct session_plan *plan)
{
	struct lttng_process_attr_tracker_handle *t = NULL;

	if (lttng_session_get_tracker_handle(plan->name, LTTNG_DOMAIN_UST,
			LTTNG_PROCESS_ATTR_VIRTUAL_PROCESS_ID, &t) != LTTNG_OK)
		return -1;
	const bool good =
		lttng_process_attr_tracker_handle_set_tracking_policy(t,
			LTTNG_TRACKING_POLICY_INCLUDE_SET) ==
		LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK &&
		lttng_process_attr_virtual_process_id_tracker_handle_add_pid(t,
			plan->pid) ==
		LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK;

	lttng_process_attr_tracker_handle_destroy(t);
	return good ? 0 : -1;
}

/* The metadata channel is made by hand only to have it flushed more often. From
 * 2.16 on, LTTng makes it itself and refuses the name. */
static int fill_session(const struct session_plan *plan,
			struct lttng_handle *handle, int socket)
{
	int code = add_channel(handle, "metadata", 4096, 2, METADATA_FLUSH_US,
			       0);

	if (code < 0 && code != -LTTNG_ERR_INVALID_CHANNEL_NAME)
		return failed("cannot make the metadata channel", code);
	tell_recorder(socket, GOES_ON);
	code = add_channel(handle, "weft", plan->ring_bytes, plan->rings,
			   DATA_FLUSH_US, BLOCK_US);
	if (code < 0)
		return failed("cannot make the data channel", code);
	tell_recorder(socket, GOES_ON);
	if (track(plan) != 0)
		return failed("cannot restrict the session to weft", 0);
	code = add_event(handle);
	if (code < 0)
		return failed("cannot turn on weft:chunk", code);
	code = lttng_start_tracing(plan->name);
	return code < 0 ? failed("cannot start tracing", code) : 0;
}

/* From 2.15 on, LTTng writes CTF 2 unless it is asked for 1.8; before, it has
 * no such function. Asked at run time: the library may be newer than the
 * header that this was built with. */
static void ask_for_ctf_1_8(struct lttng_session_descriptor *d)
{
	enum { CTF_1_8 = 1 }; /* LTTNG_TRACE_FORMAT_CTF_1_8 */
	int (*set)(struct lttng_session_descriptor *, int);
	void *const found = dlsym(RTLD_DEFAULT,
			"lttng_session_descriptor_set_trace_format");

	memcpy(&set, &found, sizeof(set));
	if (found)
		set(d, CTF_1_8);
}

/* Of LTTng's URLs, the one that has both ports. */
static struct lttng_session_descriptor *
describe_output(const struct session_plan *plan)
{
	char url[320];

	if (!plan->relay.host[0])
		return lttng_session_descriptor_local_create(plan->name,
							     plan->output);
	relay_url(&plan->relay, url, sizeof(url));
	return lttng_session_descriptor_network_create(plan->name, url, NULL);
}

/* Make and start the session. */
static int open_session(const struct session_plan *plan, int socket)
{
	struct lttng_domain domain = { .type = LTTNG_DOMAIN_UST,
				       .buf_type = LTTNG_BUFFER_PER_UID };
	struct lttng_session_descriptor *const d = describe_output(plan);

	if (!d)
		return failed("cannot describe the session", 0);
	ask_for_ctf_1_8(d);
	const enum lttng_error_code code = lttng_create_session_ext(d);

	lttng_session_descriptor_destroy(d);
	if (code != LTTNG_OK)
		return failed("cannot make the session", -(int)code);
	tell_recorder(socket, GOES_ON);
	struct lttng_handle *const handle = lttng_create_handle(plan->name,
								&domain);
	const int result = handle ? fill_session(plan, handle, socket) :
			   failed("cannot make a handle", 0);

	lttng_destroy_handle(handle);
	if (result != 0)
		lttng_destroy_session_no_wait(plan->name);
	return result;
}

/* Wait as long as somebody waits for us, then a little. Returns whether all is
 * on the disk, metadata included. */
static bool wait_for_data(const struct session_plan *plan, int waiting)
{
	struct pollfd p = { .fd = waiting, .events = POLLIN };
	int left = IMPATIENT_MS;
	int pending;

	while ((pending = lttng_data_pending(plan->name)) == 1 && left > 0) {
		alarm(CALL_S);
		if (poll(&p, 1, 5) != 0) {
			poll(NULL, 0, 5);
			left -= 5;
		}
	}
	return pending == 0;
}

/* Stop tracing and wait. True: all is written, and the trace can be read. */
static bool stop_session(const struct session_plan *plan, int waiting)
{
	alarm(CALL_S);
	if (lttng_stop_tracing_no_wait(plan->name) < 0)
		return false;
	return wait_for_data(plan, waiting);
}

/* Wait for the end, too: it tells whether the last data was written. */
static int destroy_session(const struct session_plan *plan)
{
	struct lttng_destruction_handle *d = NULL;
	bool in_time = true;

	alarm(CALL_S);
	enum lttng_error_code code = lttng_destroy_session_ext(plan->name, &d);

	if (code == LTTNG_OK) {
		in_time = LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED ==
			  lttng_destruction_handle_wait_for_completion(d,
				DESTROY_MS);
		if (in_time)
			lttng_destruction_handle_get_result(d, &code);
		lttng_destruction_handle_destroy(d);
	}
	if (!in_time)
		return failed("the session is not destroyed in time", 0);
	return code == LTTNG_OK ? 0 :
	       failed("cannot destroy the session", -(int)code);
}

/* A recorder that was killed with all its processes has destroyed nothing. The
 * daemons would keep 35 MB and twenty descriptors of each for ever. */
static void destroy_left(void)
{
	struct lttng_session *all = NULL;

	alarm(CALL_S);
	const int n = lttng_list_sessions(&all);

	for (int i = 0; i < n; i++) {
		alarm(CALL_S);
		if (is_left(all[i].name))
			lttng_destroy_session_no_wait(all[i].name);
	}
	alarm(0);
	free(all);
}

/* ---- the child ---- */

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

/* LTTng's daemons, session daemon first, if a recorder started them. */
static int owned[2] = { -1, -1 };

static int open_pidfd(pid_t pid)
{
	return pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* The daemon hangs: with a full disk, the consumer was seen to spin for ever.
 * If a recorder started them, they are not left behind like that. Other
 * recordings that use them have their spill files. */
static void on_hang(int signal_number)
{
	(void)signal_number;
	for (int i = 1; i >= 0; i--)
		if (owned[i] >= 0)
			syscall(SYS_pidfd_send_signal, owned[i], SIGKILL, NULL,
				0);
	_exit(1);
}

static void find_daemons(void)
{
	for (int i = 0; i < 2; i++) {
		if (owned[i] >= 0)
			close(owned[i]);
		owned[i] = -1;
	}
	reply.daemon = daemon_pid();
	reply.consumer = daemon_consumer(reply.daemon);
	if (!daemon_is_ours(reply.daemon))
		return;
	owned[0] = open_pidfd(reply.daemon);
	owned[1] = open_pidfd(reply.consumer);
}

/* Done whether or not the recorder still waits: a daemon that hung for a while
 * must not keep a session that nobody closes. One that hangs for good must not
 * be met by all later recorders. */
static void child_open(const struct session_plan *plan, int socket)
{
	find_daemons();
	tell_recorder(socket, GOES_ON);
	signal(SIGALRM, on_hang);
	alarm(DAEMON_S);
	if (lttng_session_daemon_alive() != 1)
		tell_recorder(socket, STARTS_DAEMON);
	const char *const why = daemon_ensure();

	alarm(OPEN_S);
	const int status = why ? failed(why, 0) : open_session(plan, socket);

	alarm(0);
	find_daemons();
	tell_recorder(socket, status);
}

/* A slow disk is waited for as long as the recorder waits. The daemon takes
 * half a second to destroy a session: once all is written, nobody waits. */
static void child_close(const struct session_plan *plan, int socket)
{
	const bool is_written = stop_session(plan, socket);

	if (is_written)
		tell_recorder(socket, 0);
	const int status = destroy_session(plan);

	if (!is_written)
		tell_recorder(socket, status);
}

__attribute__((noreturn))
static void run_child(int socket, const struct session_plan *plan)
{
	char order;

	socket = let_go(socket);
	child_open(plan, socket);
	if (reply.status == 0) {
		destroy_left();
		/* Wait for the order to close, or for the recorder's death. */
		while (recv(socket, &order, 1, 0) < 0 && errno == EINTR)
			;
		child_close(plan, socket);
		alarm(0);
	}
	close(socket);
	/* The daemon takes 1.5 s to stop. Nobody waits for that, and a
	 * recording that follows soon finds the daemon running. That recorder
	 * may be killed: we look twice. */
	for (int i = 0; i < 2; i++) {
		poll(NULL, 0, LINGER_MS);
		destroy_left();
		alarm(DAEMON_S);
		if (daemon_stop_idle(LINGER_MS))
			break;
		alarm(0);
	}
	_exit(0);
}

/* ---- the recorder's side of the socket ---- */

void session_process_init(struct session_process *s)
{
	*s = (struct session_process){ .socket = -1, .daemon = -1,
				       .consumer = -1, .relay = -1 };
}

static void wait_from_now(struct session_process *s)
{
	s->heard_ns = rate_mono();
	s->until_ns = s->heard_ns + open_ns;
}

int session_process_start(struct session_process *s,
			  const struct session_plan *plan)
{
	int pair[2];

	session_process_init(s);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		message_trouble("cannot make a socket: %s; recording goes to "
				"spill.weft", strerror(errno));
		return -1;
	}
	const pid_t pid = fork();

	if (pid == 0)
		run_child(pair[1], plan);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		message_trouble("cannot fork: %s; recording goes to "
				"spill.weft", strerror(errno));
		return -1;
	}
	s->socket = pair[0];
	wait_from_now(s);
	return 0;
}

/* 1: a reply; 0: none in time; negative: the child has died. */
static int receive(const struct session_process *s, int ms)
{
	struct pollfd p = { .fd = s->socket, .events = POLLIN };
	int ready;

	assert(s->socket >= 0);
	do {
		ready = poll(&p, 1, ms);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return 0;
	if (recv(s->socket, &reply, sizeof(reply), 0) !=
	    (ssize_t)sizeof(reply))
		return -1;
	reply.why[sizeof(reply.why) - 1] = '\0';
	return 1;
}

/* The child finishes what it does, closes the session and stops the daemon. */
static void dismiss(struct session_process *s)
{
	close(s->socket);
	s->socket = -1;
}

static bool has_died(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 1;
}

const char *session_process_lost(const struct session_process *s)
{
	return has_died(s->daemon) ? "the session daemon has died" :
	       has_died(s->consumer) ? "LTTng's consumer daemon has died" :
	       has_died(s->relay) ? "the relay daemon is gone" : NULL;
}

/* NULL: neither daemon is. */
static const char *stopped(void)
{
	return process_is_stopped(daemon_pid()) ?
	       "the session daemon is stopped (by a signal, or a debugger)" :
	       process_is_stopped(reply.consumer) ?
	       "LTTng's consumer daemon is stopped (by a signal, or a debugger)"
	       : NULL;
}

const char *session_process_hangs(const struct session_process *s)
{
	const char *why = session_process_lost(s);

	if (!why)
		why = stopped();
	if (!why && rate_mono() >= s->until_ns)
		why = "the session daemon does not answer";
	return why;
}

int session_process_open(struct session_process *s)
{
	const char *why = NULL;
	int got = 0;

	while (!why && (got == 0 || (got == 1 && reply.status > 0))) {
		got = receive(s, STEP_MS);
		if (got == 1 && reply.status > 0)
			s->heard_ns = rate_mono() + (reply.status ==
				      STARTS_DAEMON ? starts_ns : 0);
		if (got == 0)
			why = session_process_hangs(s);
		if (got == 0 && !why && rate_mono() > s->heard_ns + silent_ns)
			why = "the session daemon does not answer";
	}
	if (got == 1 && reply.status == 0) {
		s->daemon = open_pidfd(reply.daemon);
		s->consumer = open_pidfd(reply.consumer);
		s->has_opened = true;
		wait_from_now(s);
		return 0;
	}
	message_trouble("no LTTng session: %s; recording goes to spill.weft",
			why ? why : got == 1 ? reply.why :
			"the process that asks for it has died");
	dismiss(s);
	return -1;
}

static void forget_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void session_process_look_away(struct session_process *s)
{
	forget_fd(&s->daemon);
	forget_fd(&s->consumer);
	forget_fd(&s->relay);
}

/* Receive a reply, waiting as long as the folder grows. A daemon that is
 * stopped may go on in a moment, or never: nobody waits for that. */
static int receive_closed(const struct session_process *s, const char *output,
			  int patience_ms)
{
	uint64_t bytes = trace_folder_bytes(output);
	int idle_ms = 0;

	while (!stopped()) {
		const int got = receive(s, LOOK_MS);

		if (got != 0)
			return got;
		const uint64_t now = trace_folder_bytes(output);

		idle_ms = now == bytes ? idle_ms + LOOK_MS : 0;
		bytes = now;
		if (idle_ms >= patience_ms ||
		    (idle_ms > 0 && session_process_lost(s)))
			break;
	}
	return 0;
}

int session_process_close(struct session_process *s, const char *output,
			  int patience_ms)
{
	const char order = 'c';

	if (send(s->socket, &order, 1, MSG_NOSIGNAL) != 1 ||
	    receive_closed(s, output, patience_ms) != 1) {
		const char *const why = stopped();

		message_trouble("the LTTng session could not be closed "
				"properly%s%s", why ? ": " : "",
				why ? why : "");
		dismiss(s);
		return -1;
	}
	if (reply.status != 0)
		message_trouble("LTTng session: %s", reply.why);
	dismiss(s);
	return reply.status;
}
