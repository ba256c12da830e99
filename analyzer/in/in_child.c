/* in_child.c - a reader in a process of its own: started, watched, ended; and
 * memory that both share: the child fills slots while the parent works on those
 * that are full.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_child.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the ring ---- */

/* NULL with a cause if there is no memory to share. The process that made the
 * ring frees it; its child loses its share when it ends. */
static struct in_ring *ring_new(void)
{
	struct in_ring *const r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED) {
		err_add("cannot get shared memory to read with: %s",
			strerror(errno));
		return NULL;
	}
	sem_init(&r->filled, 1, 0);
	sem_init(&r->empty, 1, IN_RING_SLOTS);
	return r;
}

static void ring_free(struct in_ring *r)
{
	sem_destroy(&r->filled);
	sem_destroy(&r->empty);
	munmap(r, sizeof(*r));
}

/* If the parent dies, a signal ends the child, so the wait needs no limit. */
char *in_ring_room(struct in_ring *r)
{
	while (!r->has_room && sem_wait(&r->empty) && errno == EINTR)
		;
	r->has_room = true;
	return r->bytes[r->put % IN_RING_SLOTS];
}

void in_ring_put(struct in_ring *r, size_t n)
{
	r->n[r->put++ % IN_RING_SLOTS] = (uint32_t)n;
	r->has_room = false;
	sem_post(&r->filled);
}

/* The time so many milliseconds from now, as sem_clockwait wants it. */
static struct timespec after(int milliseconds)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += milliseconds / 1000;
	at.tv_nsec += milliseconds % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

/* In the parent: wait for a chunk. 1 if one came, whose bytes are copied; 0 if
 * none came; -1 after the last one. sem_trywait comes first: while the child is
 * ahead, no clock is read. */
static int ring_get(struct in_ring *r, int milliseconds, char *to, size_t *n)
{
	const uint32_t slot = r->got % IN_RING_SLOTS;

	if (sem_trywait(&r->filled)) {
		const struct timespec until = after(milliseconds);
		int rc;

		do
			rc = sem_clockwait(&r->filled, CLOCK_MONOTONIC, &until);
		while (rc && errno == EINTR);
		if (rc)
			return 0;
	}
	*n = r->n[slot];
	if (*n > IN_CHUNK_BYTES)
		*n = IN_CHUNK_BYTES;
	if (*n == 0)
		return -1;
	memcpy(to, r->bytes[slot], *n);
	r->got++;
	sem_post(&r->empty);
	return 1;
}

/* ---- the process ---- */

enum {
	TICK_MS = 100,      /* how often an idle child is checked */
	/* A child hangs if it makes no progress in this much CPU time, or in
	 * this much time of any kind: it may wait for a disk. */
	STUCK_CPU_MS = 4000, STUCK_MS = 60000,
};

struct in_child {
	struct in_ring *ring;
	pid_t pid;           /* 0: reaped */
	int status;
	char bytes[IN_CHUNK_BYTES]; /* of the last chunk */
	char why[512];
	/* When it was last seen to get on: its progress, its CPU time and the
	 * clock, ms. */
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

/* CPU time that a process has used, ms; 0 if that is not known. */
static int64_t cpu_ms(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : ms_of(clock);
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

/* A damaged length can make babeltrace2 ask for memory without end: it gets 1
 * GiB, and 64 MiB a stream file, more than there is at first, as sanitizers
 * reserve terabytes. The ring is shared memory, which this limit does not
 * count. */
static void limit_memory(size_t streams)
{
	const rlim_t bytes = data_bytes() + (UINT64_C(1) << 30) +
			     streams * (64u << 20);
	const struct rlimit data = { bytes, bytes };

	setrlimit(RLIMIT_DATA, &data);
}

/* The child's life. It must not outlive its parent, which may have died before
 * prctl. */
static _Noreturn void be_child(in_child_fn run, struct in_ring *ring,
			       const struct in_source *sources, size_t count,
			       size_t streams, pid_t parent)
{
	const struct rlimit no_core = { 0, 0 };
	const int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* babeltrace2's own messages would come between ours. */
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	setrlimit(RLIMIT_CORE, &no_core);
	limit_memory(streams);
	run(ring, sources, count);
	_exit(0);
}

struct in_child *in_child_start(in_child_fn run,
				const struct in_source *sources, size_t count,
				size_t streams)
{
	struct in_ring *const ring = ring_new();
	const pid_t parent = getpid();
	struct in_child *c;
	pid_t pid;

	if (!ring)
		return NULL;
	/* What is in a buffer now would otherwise be written twice. */
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_child(run, ring, sources, count, streams, parent);
	if (pid < 0) {
		err_add("cannot start a process to read with: %s",
			strerror(errno));
		ring_free(ring);
		return NULL;
	}
	c = mem_alloc(sizeof(*c));
	c->ring = ring;
	c->pid = pid;
	c->clock = ms_of(CLOCK_MONOTONIC);
	return c;
}

/* Has it not got on for too long? CPU time shows a loop early; the clock shows
 * a wait that does not end. */
static bool is_stuck(struct in_child *c)
{
	const uint64_t progress = c->ring->progress;
	const int64_t now = ms_of(CLOCK_MONOTONIC), cpu = cpu_ms(c->pid);

	if (progress != c->progress) {
		c->progress = progress;
		c->clock = now;
		c->cpu = cpu;
		return false;
	}
	return cpu - c->cpu > STUCK_CPU_MS || now - c->clock > STUCK_MS;
}

/* Note that the child ended, if it has. flags: WNOHANG, or 0 to wait for it. */
static void reap(struct in_child *c, int flags)
{
	if (c->pid && waitpid(c->pid, &c->status, flags) == c->pid)
		c->pid = 0;
}

/* The child ended without an end mark: chunks may be missing. */
static int crashed(struct in_child *c)
{
	if (WIFSIGNALED(c->status))
		snprintf(c->why, sizeof(c->why), "babeltrace2 crashed (%s)",
			 strsignal(WTERMSIG(c->status)));
	else
		snprintf(c->why, sizeof(c->why), "babeltrace2 ended early");
	return -1;
}

/* The child makes no progress: end it. */
static int hung(struct in_child *c)
{
	snprintf(c->why, sizeof(c->why), "babeltrace2 hung");
	kill(c->pid, SIGKILL);
	reap(c, 0);
	return -1;
}

/* The child put its end mark. */
static int ended(struct in_child *c)
{
	if (!c->ring->failed)
		return 0;
	c->ring->text[sizeof(c->ring->text) - 1] = '\0';
	snprintf(c->why, sizeof(c->why), "%s", c->ring->text);
	return -1;
}

int in_child_next(struct in_child *c, const char **bytes, size_t *n)
{
	bool is_dead = false;

	*bytes = c->bytes;
	for (;;) {
		const int got = ring_get(c->ring, is_dead ? 0 : TICK_MS,
					 c->bytes, n);

		if (got > 0)
			return 1;
		if (got < 0)
			return ended(c);
		if (is_dead)
			return crashed(c);
		/* Chunks that it put before it died are still returned. */
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

const struct in_ring *in_child_ring(const struct in_child *c)
{
	return c->ring;
}

void in_child_end(struct in_child *c)
{
	if (!c)
		return;
	if (c->pid) {
		kill(c->pid, SIGKILL);
		reap(c, 0);
	}
	ring_free(c->ring);
	mem_free(c);
}
