/* in_child.c - libbabeltrace2 in a process of its own: started, watched, ended.
 * Knows processes; what is read there is in_bt2's.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_child.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 100,      /* how often an idle child is looked at */
	STUCK_CPU_MS = 4000,/* it works that long without getting on: it
	                     * hangs */
	STUCK_MS = 60000,   /* or waits that long, for a disk perhaps */
};

struct in_child {
	struct in_ring *ring;
	pid_t pid;           /* 0: reaped */
	int status;
	int has_chunk;       /* a slot of the ring is lent out */
	char why[512];
	/* When it was last seen to get on: its count, its CPU time, the
	 * clock. */
	uint64_t progress;
	int64_t cpu, clock;
};

static int64_t ms_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t cpu_ms(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : ms_of(clock);
}

/* A damaged length can make babeltrace2 ask for memory without end. Sanitizers
 * reserve more than any limit. */
static void limit_memory(size_t streams)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	const rlim_t bytes = (UINT64_C(1) << 30) + streams * (64u << 20);
	const struct rlimit data = { bytes, bytes };

	setrlimit(RLIMIT_DATA, &data);
#else
	(void)streams;
#endif
}

static _Noreturn void be_child(struct in_ring *ring,
			       const struct in_source *sources, size_t count,
			       size_t streams, pid_t parent)
{
	const struct rlimit no_core = { 0, 0 };
	const int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* babeltrace2's own complaints would stand beside the report. */
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	setrlimit(RLIMIT_CORE, &no_core);
	limit_memory(streams);
	in_bt2_run(ring, sources, count);
	_exit(0);
}

struct in_child *in_child_start(const struct in_source *sources, size_t count,
				size_t streams)
{
	struct in_ring *const ring = in_ring_new();
	const pid_t parent = getpid();
	struct in_child *c;
	pid_t pid;

	if (!ring)
		return NULL;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_child(ring, sources, count, streams, parent);
	if (pid < 0) {
		err_add("no process to read with: %s", strerror(errno));
		in_ring_free(ring);
		return NULL;
	}
	c = mem_alloc(sizeof(*c));
	c->ring = ring;
	c->pid = pid;
	c->clock = ms_of(CLOCK_MONOTONIC);
	return c;
}

/* Did it get on, or may it still? */
static int is_stuck(struct in_child *c)
{
	const uint64_t progress = c->ring->progress;
	const int64_t now = ms_of(CLOCK_MONOTONIC), cpu = cpu_ms(c->pid);

	if (progress != c->progress) {
		c->progress = progress;
		c->clock = now;
		c->cpu = cpu;
		return 0;
	}
	return cpu - c->cpu > STUCK_CPU_MS || now - c->clock > STUCK_MS;
}

static void reap(struct in_child *c, int flags)
{
	if (c->pid && waitpid(c->pid, &c->status, flags) == c->pid)
		c->pid = 0;
}

static int crashed(struct in_child *c)
{
	if (WIFSIGNALED(c->status))
		snprintf(c->why, sizeof(c->why), "babeltrace2 crashed (%s)",
			 strsignal(WTERMSIG(c->status)));
	else
		snprintf(c->why, sizeof(c->why), "babeltrace2 ended early");
	return -1;
}

static int hung(struct in_child *c)
{
	snprintf(c->why, sizeof(c->why), "babeltrace2 hung");
	kill(c->pid, SIGKILL);
	reap(c, 0);
	return -1;
}

static int ended(struct in_child *c)
{
	if (!c->ring->failed)
		return 0;
	c->ring->text[sizeof(c->ring->text) - 1] = '\0';
	snprintf(c->why, sizeof(c->why), "%s", c->ring->text);
	return -1;
}

int in_child_next(struct in_child *c, const uint64_t **words, size_t *n)
{
	int is_dead = 0;

	if (c->has_chunk)
		in_ring_done(c->ring);
	c->has_chunk = 0;
	for (;;) {
		const int got = in_ring_get(c->ring, is_dead ? 0 : TICK_MS,
					    words, n);

		if (got > 0) {
			c->has_chunk = 1;
			return 1;
		}
		if (got < 0)
			return ended(c);
		if (is_dead)
			return crashed(c);
		/* What it put into the ring before it died is still given. */
		reap(c, WNOHANG);
		is_dead = !c->pid;
		if (!is_dead && is_stuck(c))
			return hung(c);
	}
}

const char *in_child_why(const struct in_child *c)
{
	return c->why;
}

uint64_t in_child_refused(const struct in_child *c)
{
	return c->ring->refused;
}

uint64_t in_child_discarded(const struct in_child *c)
{
	return c->ring->discarded;
}

void in_child_end(struct in_child *c)
{
	if (!c)
		return;
	if (c->pid) {
		kill(c->pid, SIGKILL);
		reap(c, 0);
	}
	in_ring_free(c->ring);
	mem_free(c);
}
