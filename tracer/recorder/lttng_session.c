/* lttng_session.c - the only file that talks to LTTng's session daemon, through
 * liblttng-ctl. All recorders of a user start and stop the daemon under one
 * lock. The lock's file holds the number of the daemon that a recorder started:
 * the last recorder that finds it without sessions stops it.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/lttng_session.h"
#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/process_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lttng/lttng.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	LOCK_MS = 4000,
	START_MS = 5000,
	STOP_MS = 4000,
	LONGEST_HOME = 70,          /* socket paths end at 108 bytes */
	BLOCK_US = 1000000,         /* LTTng may hold us up for so long */
	METADATA_FLUSH_US = 200000, /* a killed daemon leaves metadata then */
	DATA_FLUSH_US = 1000000,
	MOST_RING_BYTES = 64 << 20, /* of all CPUs together */
	DESTROY_MS = 15000,
	IMPATIENT_MS = 5000,
	CALL_S = 20,                /* a call that takes longer hangs */
};

static int explain(char why[LTTNG_WHY_MAX], const char *text)
{
	snprintf(why, LTTNG_WHY_MAX, "%s", text);
	return -1;
}

/* ---- the daemon ---- */

static const char *home_now(void)
{
	const char *const own = getenv("LTTNG_HOME");
	const char *const home = own ? own : getenv("HOME");

	return home ? home : "";
}

const char *lttng_home(void)
{
	static char folder[64];
	const char *const home = home_now();
	struct stat st;

	if (getuid() == 0)
		return NULL;
	if (home[0] == '/' && strlen(home) <= LONGEST_HOME &&
	    access(home, W_OK | X_OK) == 0)
		return NULL;
	snprintf(folder, sizeof(folder), "/tmp/weft-lttng-%u",
		 (unsigned)getuid());
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return NULL;
	/* Another user may have made it in order to listen. */
	if (lstat(folder, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != getuid() || (st.st_mode & 077) != 0)
		return NULL;
	return folder;
}

static void run_folder(char *out, size_t room)
{
	if (getuid() == 0)
		snprintf(out, room, "/var/run/lttng");
	else
		snprintf(out, room, "%s/.lttng", home_now());
}

pid_t lttng_daemon_pid(void)
{
	char folder[256], path[300];
	int pid = 0;

	run_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/lttng-sessiond.pid", folder);
	FILE *const f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid > 1 && process_is_named(pid, "lttng-sessiond") ? pid : 0;
}

pid_t lttng_daemon_consumer(pid_t daemon)
{
	pid_t found = 0;
	DIR *const proc = daemon > 0 ? opendir("/proc") : NULL;

	if (!proc)
		return 0;
	for (const struct dirent *e; !found && (e = readdir(proc)); ) {
		const pid_t pid = atoi(e->d_name);

		if (pid > 1 && process_is_named(pid, "lttng-consumerd") &&
		    process_parent(pid) == daemon)
			found = pid;
	}
	closedir(proc);
	return found;
}

static void lock_path(char *out, size_t room)
{
	const char *const home = getuid() == 0 ? "" : home_now();

	snprintf(out, room, POOL_FOLDER "/weft-lock-%u-%08x",
		 (unsigned)getuid(), (unsigned)XXH32(home, strlen(home), 0));
}

/* The lock is held until it is closed. Negative: it cannot be had, go on
 * without. Who stops the daemon removes the file: a lock on a file without a
 * name is worth nothing. */
static int lock(void)
{
	char path[80];
	struct stat st;
	int fd = -1;

	lock_path(path, sizeof(path));
	for (int ms = 0; ms < LOCK_MS; ms += 10) {
		if (fd < 0)
			fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW |
				  O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (fstat(fd, &st) == 0 && st.st_nlink > 0)
				return fd;
			close(fd);
			fd = -1;
			continue;
		}
		poll(NULL, 0, 10);
	}
	close(fd);
	return -1;
}

static void write_pid(int fd, pid_t pid)
{
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (fd < 0 || ftruncate(fd, 0) != 0)
		return;
	if (pwrite(fd, text, (size_t)n, 0) != n)
		(void)ftruncate(fd, 0);
}

static pid_t read_pid(int fd)
{
	char text[16] = "";

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return atoi(text);
}

static void become_daemon(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	if (chdir("/") != 0)
		_exit(127);
	close_range(3, ~0U, 0);
	execlp("lttng-sessiond", "lttng-sessiond", "--daemonize",
	       "--no-kernel", (char *)NULL);
	execl("/usr/bin/lttng-sessiond", "lttng-sessiond", "--daemonize",
	      "--no-kernel", (char *)NULL);
	_exit(127);
}

/* With --daemonize, the command returns once the daemon listens. */
static int start(char why[LTTNG_WHY_MAX])
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		become_daemon();
	for (int ms = 0; pid > 0 && ms < START_MS; ms += 2) {
		if (waitpid(pid, &status, WNOHANG) != pid) {
			poll(NULL, 0, 2);
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
			explain(why, "there is no lttng-sessiond: install the "
				"package lttng-tools");
		else
			explain(why, "lttng-sessiond does not start: look "
				"whether its run folder can be written");
		return -1;
	}
	return explain(why, "lttng-sessiond does not start in time");
}

int lttng_daemon_ensure(char why[LTTNG_WHY_MAX])
{
	const int fd = lock();
	int result = 0;

	if (lttng_session_daemon_alive() != 1) {
		result = start(why);
		if (result == 0)
			write_pid(fd, lttng_daemon_pid());
	}
	if (fd >= 0)
		close(fd);
	return result;
}

bool lttng_daemon_is_ours(pid_t pid)
{
	const int fd = lock();
	const bool ours = pid > 1 && read_pid(fd) == pid;

	if (fd >= 0)
		close(fd);
	return ours;
}

void lttng_daemon_stop_idle(void)
{
	const int fd = lock();
	const pid_t pid = read_pid(fd);
	struct lttng_session *sessions = NULL;
	char path[80];

	lock_path(path, sizeof(path));
	if (fd >= 0 && (pid <= 1 || pid != lttng_daemon_pid())) {
		/* It has died, or no recorder started it. */
		unlink(path);
	} else if (pid > 1) {
		if (lttng_list_sessions(&sessions) == 0 &&
		    kill(pid, SIGTERM) == 0) {
			for (int ms = 0; ms < STOP_MS && kill(pid, 0) == 0;
			     ms += 5)
				poll(NULL, 0, 5);
			unlink(path);
		}
		free(sessions);
	}
	if (fd >= 0)
		close(fd);
}

/* ---- the session ---- */

static const char data_name[] = "weft";

uint64_t lttng_session_fit(struct session_plan *plan, uint64_t free_bytes,
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

static int failed(const char *what, int code, char why[LTTNG_WHY_MAX])
{
	snprintf(why, LTTNG_WHY_MAX, "%s: %s", what, lttng_strerror(code));
	return -1;
}

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
	code = lttng_enable_event(handle, e, data_name);
	lttng_event_destroy(e);
	return code;
}

/* Without this, two recordings of one user contain each other's chunks. */
static int track(const struct session_plan *plan)
{
	struct lttng_process_attr_tracker_handle *t = NULL;
	int bad;

	if (lttng_session_get_tracker_handle(plan->session, LTTNG_DOMAIN_UST,
			LTTNG_PROCESS_ATTR_VIRTUAL_PROCESS_ID, &t) != LTTNG_OK)
		return -1;
	bad = lttng_process_attr_tracker_handle_set_tracking_policy(t,
			LTTNG_TRACKING_POLICY_INCLUDE_SET) !=
	      LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK ||
	      lttng_process_attr_virtual_process_id_tracker_handle_add_pid(t,
			plan->pid) !=
	      LTTNG_PROCESS_ATTR_TRACKER_HANDLE_STATUS_OK;
	lttng_process_attr_tracker_handle_destroy(t);
	return bad ? -1 : 0;
}

static int fill(const struct session_plan *plan, struct lttng_handle *handle,
		char why[LTTNG_WHY_MAX])
{
	int code = add_channel(handle, "metadata", 4096, 2, METADATA_FLUSH_US,
			       0);

	if (code < 0)
		return failed("cannot make the metadata channel", code, why);
	code = add_channel(handle, data_name, plan->ring_bytes, plan->rings,
			   DATA_FLUSH_US, BLOCK_US);
	if (code < 0)
		return failed("cannot make the data channel", code, why);
	if (track(plan) != 0)
		return explain(why, "the session cannot be restricted to weft");
	code = add_event(handle);
	if (code < 0)
		return failed("cannot turn on weft:chunk", code, why);
	code = lttng_start_tracing(plan->session);
	return code < 0 ? failed("cannot start tracing", code, why) : 0;
}

int lttng_session_open(const struct session_plan *plan, char why[LTTNG_WHY_MAX])
{
	struct lttng_domain domain = { .type = LTTNG_DOMAIN_UST,
				       .buf_type = LTTNG_BUFFER_PER_UID };
	struct lttng_session_descriptor *const d =
		lttng_session_descriptor_local_create(plan->session,
						      plan->output);
	struct lttng_handle *handle;
	int result = -1;

	if (!d)
		return failed("cannot make the session", -LTTNG_ERR_INVALID,
			      why);
	const enum lttng_error_code code = lttng_create_session_ext(d);

	lttng_session_descriptor_destroy(d);
	if (code != LTTNG_OK)
		return failed("cannot make the session", -(int)code, why);
	handle = lttng_create_handle(plan->session, &domain);
	if (handle)
		result = fill(plan, handle, why);
	else
		failed("cannot make a handle", -LTTNG_ERR_NOMEM, why);
	lttng_destroy_handle(handle);
	if (result != 0)
		lttng_destroy_session_no_wait(plan->session);
	return result;
}

/* Wait as long as somebody waits for us, then a little. Returns whether all is
 * on the disk, metadata included. */
static bool wait_for_data(const struct session_plan *plan, int waiting)
{
	struct pollfd p = { .fd = waiting, .events = POLLIN };
	int left = IMPATIENT_MS;
	int pending;

	while ((pending = lttng_data_pending(plan->session)) == 1 && left > 0) {
		alarm(CALL_S);
		if (poll(&p, 1, 5) != 0) {
			poll(NULL, 0, 5);
			left -= 5;
		}
	}
	return pending == 0;
}

bool lttng_session_stop(const struct session_plan *plan, int waiting)
{
	alarm(CALL_S);
	if (lttng_stop_tracing_no_wait(plan->session) < 0)
		return false;
	return wait_for_data(plan, waiting);
}

int lttng_session_destroy(const struct session_plan *plan,
			  char why[LTTNG_WHY_MAX])
{
	struct lttng_destruction_handle *d = NULL;
	enum lttng_error_code code;

	alarm(CALL_S);
	code = lttng_destroy_session_ext(plan->session, &d);
	if (code != LTTNG_OK)
		return failed("cannot destroy the session", -(int)code, why);
	const enum lttng_destruction_handle_status waited =
		lttng_destruction_handle_wait_for_completion(d, DESTROY_MS);

	code = LTTNG_OK;
	if (waited == LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED)
		lttng_destruction_handle_get_result(d, &code);
	lttng_destruction_handle_destroy(d);
	if (waited != LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED)
		return explain(why, "the session is not destroyed in time");
	if (code == LTTNG_OK)
		return 0;
	return failed("cannot destroy the session", -(int)code, why);
}
