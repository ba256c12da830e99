/* child.c - starts the child, takes its messages, and ends it. Whatever happens
 * to it, what came before is kept.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/child.h"

#include "analyzer/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 100,       /* how often an idle child is looked at */
	/* Without a limit in seconds, it hangs if no message comes in this much
	 * CPU time, or in this much time of any kind: it may wait for a
	 * disk. */
	STUCK_CPU_MS = 4000, STUCK_MS = 60000,
	READ_BYTES = 1 << 16,
	PIPE_BYTES = 1 << 20, /* so far the child may be ahead */
};

/* How the child came to its end. Its exit status counts only if it ENDED by
 * itself. */
enum ending { ENDED, LATE, NONSENSE, TOO_MUCH, HUNG };

struct running {
	const struct child_job *job;
	pid_t pid;
	int pipe;
	char *inbox;
	size_t held;             /* bytes in it */
	uint64_t all;            /* bytes that came */
	int64_t deadline;        /* ms; 0: none */
	/* When the last message came, ms. */
	int64_t clock, cpu;
};

static int64_t ms_of(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) != 0 ? 0 :
	       (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t child_now(void)
{
	return ms_of(CLOCK_MONOTONIC);
}

/* CPU time that the child has used, ms; 0 if that is not known. */
static int64_t cpu_of(const struct running *c)
{
	clockid_t clock;

	return clock_getcpuclockid(c->pid, &clock) ? 0 : ms_of(clock);
}

/* ---- in the child ---- */

void child_send(FILE *to, const void *head, size_t head_size, const void *rest,
		size_t rest_size)
{
	const uint32_t size = (uint32_t)(head_size + rest_size);

	fwrite(&size, sizeof(size), 1, to);
	fwrite(head, 1, head_size, to);
	fwrite(rest, 1, rest_size, to);
}

/* Bytes of its own memory that the process has; 0 if that is not known. The
 * sixth number counts pages. */
static rlim_t data_bytes(void)
{
	FILE *const f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (f && fscanf(f, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Memory is limited beyond what there is at first: sanitizers reserve
 * terabytes. The limit of CPU time is for a parent that is stopped. */
static void set_limits(const struct child_job *job)
{
	const rlim_t bytes = data_bytes() + job->memory;
	const struct rlimit none = { 0, 0 }, data = { bytes, bytes };
	const struct rlimit time = { job->seconds + 1, job->seconds + 1 };

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_DATA, &data);
	if (job->seconds > 0)
		setrlimit(RLIMIT_CPU, &time);
}

/* The child's life. It must not outlive its parent, which may have died before
 * prctl. Its status says whether all was sent. */
static _Noreturn void be_child(const struct child_job *job, int pipe,
			       pid_t parent)
{
	const int null = open("/dev/null", O_RDWR);
	FILE *const to = fdopen(pipe, "w");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!to || getppid() != parent)
		_exit(1);
	/* Messages of libraries would come between ours. */
	for (int fd = 0; fd < 3; fd++)
		if (fd != pipe)
			dup2(null, fd);
	set_limits(job);
	job->work(job->work_ctx, to);
	_exit(fflush(to) == 0 ? 0 : 1);
}

/* ---- in the parent ---- */

/* Take the whole messages in the inbox; the rest goes to its beginning. */
static enum ending take_messages(struct running *c)
{
	size_t at = 0;
	uint32_t size;

	while (c->held - at >= sizeof(size)) {
		memcpy(&size, c->inbox + at, sizeof(size));
		if (size > c->job->most)
			return NONSENSE;
		if (c->held - at - sizeof(size) < size)
			break;
		at += sizeof(size);
		if (c->job->take(c->job->take_ctx, c->inbox + at, size) != 0)
			return NONSENSE;
		at += size;
	}
	c->held -= at;
	memmove(c->inbox, c->inbox + at, c->held);
	return ENDED;
}

/* Has no message come for too long? CPU time shows a loop early; the clock
 * shows a wait that does not end. */
static enum ending judge(const struct running *c)
{
	const int64_t now = child_now();

	if (c->deadline > 0)
		return now >= c->deadline ? LATE : ENDED;
	return cpu_of(c) - c->cpu > STUCK_CPU_MS ||
	       now - c->clock > STUCK_MS ? HUNG : ENDED;
}

/* Take messages until the child ends or is to be ended. */
static enum ending receive(struct running *c)
{
	enum ending ending = ENDED;

	while (ending == ENDED) {
		struct pollfd poller = { .fd = c->pipe, .events = POLLIN };
		ssize_t size;

		if (poll(&poller, 1, TICK_MS) <= 0) {
			ending = judge(c);
			continue;
		}
		size = read(c->pipe, c->inbox + c->held, READ_BYTES);
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size == 0 ? ENDED : NONSENSE;
		c->held += (size_t)size;
		c->all += (uint64_t)size;
		if (c->job->bytes > 0 && c->all > c->job->bytes)
			return TOO_MUCH;
		ending = take_messages(c);
		if (ending == ENDED && c->deadline > 0)
			ending = judge(c);
		c->clock = child_now();
		c->cpu = cpu_of(c);
	}
	return ending;
}

/* Wait for the child, and say why it ended early. 0 if it did not. */
static int end(struct running *c, enum ending ending, char *why)
{
	static const char *const reasons[] = {
		[LATE] = "took too long", [NONSENSE] = "sent nonsense",
		[TOO_MUCH] = "sent too much", [HUNG] = "hung",
	};
	const char *const what = c->job->what;
	int status = 0;

	if (ending != ENDED)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ending != ENDED)
		snprintf(why, CHILD_WHY, "%s %s", what, reasons[ending]);
	else if (WIFSIGNALED(status))
		snprintf(why, CHILD_WHY, "%s crashed (%s)", what,
			 strsignal(WTERMSIG(status)));
	else if (status != 0)
		snprintf(why, CHILD_WHY, "%s failed", what);
	else
		return 0;
	return -1;
}

int child_run(const struct child_job *job, char *why)
{
	struct running c = { .job = job, .clock = child_now() };
	const pid_t parent = getpid();
	int ends[2], status;

	/* What is in a buffer now would otherwise be written twice. */
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		snprintf(why, CHILD_WHY, "cannot make a pipe for %s",
			 job->what);
		return -1;
	}
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	c.pid = fork();
	if (c.pid == 0) {
		close(ends[0]);
		be_child(job, ends[1], parent);
	}
	close(ends[1]);
	if (c.pid < 0) {
		close(ends[0]);
		snprintf(why, CHILD_WHY, "no process to be had for %s",
			 job->what);
		return -1;
	}
	if (job->seconds > 0)
		c.deadline = c.clock + (int64_t)job->seconds * 1000;
	c.pipe = ends[0];
	c.inbox = mem_alloc(sizeof(uint32_t) + job->most + READ_BYTES);
	status = end(&c, receive(&c), why);
	mem_free(c.inbox);
	close(ends[0]);
	return status;
}

int child_find_recorder(char path[PATH_MAX])
{
	static const char name[] = "/weft-record";
	const ssize_t n = readlink("/proc/self/exe", path,
				   PATH_MAX - sizeof(name));
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -1;
	strcpy(slash, name);
	return access(path, X_OK);
}
