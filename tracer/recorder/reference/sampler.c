/* sampler.c - an event for each thread and CPU, which the kernel passes on to
 * what the thread starts; and a ring for each CPU, since those of a CPU share
 * one.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/reference/sampler.h"
#include "tracer/recorder/base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_PAGES = 16,           /* of a ring: 1,600 samples */
	FDS_SPARE = 256,           /* for all that is not ours */
};

/* ---- opening ---- */

/* As many descriptors as may be had, once. */
static size_t most_fds(void)
{
	static size_t most;
	struct rlimit limit;

	if (most > 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return most;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_cur > 2 * FDS_SPARE ? limit.rlim_cur - FDS_SPARE :
	       FDS_SPARE / 4;
	return most;
}

static int open_event(pid_t tid, int cpu, uint64_t period, bool from_exec)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period, .inherit = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME,
		.sample_id_all = 1, .use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, .exclude_hv = 1,
		.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1,
		.disabled = from_exec, .enable_on_exec = from_exec,
	};
	long fd = syscall(SYS_perf_event_open, &a, tid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	/* Who may not see the kernel's own code gets no samples there. */
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		a.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &a, tid, cpu, -1,
			     PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

/* The first event of a CPU gets a ring, the others write to that. */
static int give_ring(struct sampler *s, struct sampler_ring *ring, int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (ring->page)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0 ?
		       0 : -errno;
	for (size_t n = s->bytes ? s->bytes / page - 1 : MOST_PAGES; n > 0;
	     n = s->bytes ? 0 : n / 2) {
		void *const at = mmap(NULL, (1 + n) * page, PROT_READ |
				      PROT_WRITE, MAP_SHARED, fd, 0);

		if (at == MAP_FAILED)
			continue;
		ring->page = at;
		ring->fd = fd;
		s->bytes = (1 + n) * page;
		return 0;
	}
	return -ENOMEM;
}

static int add_fd(struct sampler *s, int fd)
{
	if (!grow(&s->fd, &s->room, s->fds + 1, sizeof(*s->fd)))
		return -ENOMEM;
	s->fd[s->fds++] = fd;
	return 0;
}

static int make_rings(struct sampler *s)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (s->ring)
		return 0;
	s->ring = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*s->ring));
	s->cpus = s->ring && cpus > 0 ? (uint32_t)cpus : s->ring ? 1 : 0;
	return s->ring ? 0 : -ENOMEM;
}

int sampler_add(struct sampler *s, pid_t tid, uint64_t period, bool from_exec)
{
	int error = make_rings(s);
	const size_t before = s->fds;

	if (error == 0 && s->fds + s->cpus > most_fds()) {
		s->left_out++;
		return -EMFILE;
	}
	for (uint32_t cpu = 0; cpu < s->cpus && error == 0; cpu++) {
		const int fd = open_event(tid, (int)cpu, period, from_exec);

		if (fd == -ENODEV)
			continue; /* this CPU is offline */
		error = fd < 0 ? fd : give_ring(s, &s->ring[cpu], fd);
		if (error == 0)
			error = add_fd(s, fd);
		if (error != 0 && fd >= 0 && s->ring[cpu].fd != fd)
			close(fd);
	}
	return error != 0 ? error : s->fds > before ? 0 : -ENODEV;
}

int sampler_add_process(struct sampler *s, pid_t pid, uint64_t period)
{
	char path[48];
	DIR *tasks;
	int result = -ESRCH;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	for (const struct dirent *e; (e = readdir(tasks)); ) {
		const int error = e->d_name[0] == '.' ? -ESRCH :
			sampler_add(s, (pid_t)atoi(e->d_name), period, false);

		if (error == 0 || result == -ESRCH)
			result = error;
	}
	closedir(tasks);
	return result;
}

void sampler_end(struct sampler *s)
{
	for (uint32_t cpu = 0; cpu < s->cpus; cpu++)
		if (s->ring[cpu].page)
			munmap(s->ring[cpu].page, s->bytes);
	for (size_t i = 0; i < s->fds; i++)
		close(s->fd[i]);
	free(s->ring);
	free(s->fd);
	memset(s, 0, sizeof(*s));
}

/* ---- reading ---- */

/* A record, which may wrap in the ring. None is longer. */
union record {
	struct perf_event_header h;
	uint64_t word[1024];
	char byte[8192];
};

static void copy_out(const struct sampler_ring *ring, uint64_t at, void *to,
		     size_t size)
{
	const char *const data = (const char *)ring->page +
				 ring->page->data_offset;
	const uint64_t mask = ring->page->data_size - 1;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) & mask];
}

/* Of the records below, the words from the header on. */
enum {
	WORD_IP = 1, WORD_SAMPLE_TIME = 3,
	WORD_FORK = 1,             /* pid and parent */
	WORD_LOST = 2,
	WORD_MAP_START = 2, WORD_MAP_SIZE, WORD_MAP_OFFSET,
	WORD_MAP_PATH = 9,
};

/* False: it tells nothing that is asked for. What is not a sample ends with
 * its thread and time. */
static bool read_record(const union record *r, struct sampler_event *e)
{
	const size_t words = r->h.size / 8;
	const bool is_user = (r->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			     PERF_RECORD_MISC_USER;

	if (words < 4)
		return false;
	*e = (struct sampler_event){ .time = r->word[words - 1],
				     .pid = (uint32_t)r->word[words - 2] };
	switch (r->h.type) {
	case PERF_RECORD_SAMPLE:
		e->kind = SAMPLER_SAMPLE;
		e->address = is_user ? r->word[WORD_IP] : 0;
		return true;
	case PERF_RECORD_MMAP2:
		e->kind = SAMPLER_MAPPED;
		e->start = r->word[WORD_MAP_START];
		e->size = r->word[WORD_MAP_SIZE];
		e->offset = r->word[WORD_MAP_OFFSET];
		if (words > WORD_MAP_PATH + 2)
			e->path = strndup(r->byte + 8 * WORD_MAP_PATH,
					  8 * (words - WORD_MAP_PATH - 2));
		return true;
	case PERF_RECORD_FORK:
		e->kind = SAMPLER_FORKED;
		e->pid = (uint32_t)r->word[WORD_FORK];
		e->parent = (uint32_t)(r->word[WORD_FORK] >> 32);
		return e->pid != e->parent;
	case PERF_RECORD_COMM:
		e->kind = SAMPLER_IMAGE;
		return r->h.misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_LOST:
		e->kind = SAMPLER_LOST;
		e->lost = r->word[WORD_LOST];
		return true;
	default:
		return false;
	}
}

static void read_ring(struct sampler_ring *ring, sampler_fn *fn, void *ctx)
{
	const uint64_t end = __atomic_load_n(&ring->page->data_head,
					     __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;
	struct sampler_event e;
	union record r;

	for (; at < end; at += r.h.size) {
		copy_out(ring, at, &r, sizeof(r.h));
		if (r.h.size < sizeof(r.h))
			break;
		if (r.h.size > sizeof(r))
			continue;
		copy_out(ring, at, &r, r.h.size);
		if (read_record(&r, &e))
			fn(ctx, &e);
	}
	__atomic_store_n(&ring->page->data_tail, end, __ATOMIC_RELEASE);
}

void sampler_read(struct sampler *s, sampler_fn *fn, void *ctx)
{
	for (uint32_t cpu = 0; cpu < s->cpus; cpu++)
		if (s->ring[cpu].page)
			read_ring(&s->ring[cpu], fn, ctx);
}
