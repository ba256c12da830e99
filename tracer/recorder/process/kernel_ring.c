/* kernel_ring.c - two software events a thread, which need no hardware: one for
 * its context switches, one for its samples. They share a ring. The kernel
 * dates what it notes by CLOCK_MONOTONIC; to know its ticks, the clocks are
 * read together at each reading, and what lies between two readings is
 * interpolated.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/kernel_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	USUAL_PAGES = 4,           /* 680 samples, or 1,000 switches */
	MOST_PAGES = 32,           /* more than happen between two readings */
	PAIR_MS = 100,             /* the clocks may drift apart for so long */
};

#define NS_PER_S UINT64_C(1000000000)

/* ---- opening ---- */

static int open_event(uint32_t tid, const struct perf_event_attr *wanted)
{
	struct perf_event_attr a = *wanted;

	a.size = sizeof(a);
	a.type = PERF_TYPE_SOFTWARE;
	a.sample_id_all = 1;
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.exclude_hv = 1;
	const long fd = syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1,
				PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* It counts nothing: what it notes comes by the way. */
static int open_switches(uint32_t tid, bool with_maps)
{
	const struct perf_event_attr a = {
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.context_switch = 1, .mmap = with_maps, .exclude_kernel = 1,
	};

	return open_event(tid, &a);
}

/* cpu-clock runs while the thread does. Who may not see the kernel's own code
 * gets no samples there. */
static int open_samples(uint32_t tid, uint64_t period)
{
	struct perf_event_attr a = {
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = period,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IP,
	};
	int fd = open_event(tid, &a);

	if (fd == -EACCES || fd == -EPERM) {
		a.exclude_kernel = 1;
		fd = open_event(tid, &a);
	}
	return fd;
}

/* A user may lock so much memory; what is left of it may do for fewer pages. */
static int map_ring(struct kernel_ring *ring, size_t most)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t n = most; n > 0; n /= 2) {
		void *const at = mmap(NULL, (1 + n) * page, PROT_READ |
				      PROT_WRITE, MAP_SHARED, ring->fd, 0);

		if (at == MAP_FAILED)
			continue;
		ring->page = at;
		ring->bytes = (1 + n) * page;
		return 0;
	}
	return -ENOMEM;
}

static int join_samples(const struct kernel_ring *ring)
{
	return ioctl(ring->samples, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0 ?
	       0 : -errno;
}

int kernel_ring_open(struct kernel_ring *ring, uint32_t tid, uint64_t period,
		     const struct rate *rate)
{
	int error = 0;

	memset(ring, 0, sizeof(*ring));
	ring->samples = -1;
	ring->fd = open_switches(tid, period > 0);
	if (ring->fd < 0)
		return ring->fd;
	error = map_ring(ring, USUAL_PAGES);
	if (error == 0 && period > 0) {
		ring->samples = open_samples(tid, period);
		error = ring->samples < 0 ? ring->samples : join_samples(ring);
	}
	rate_read(rate, &ring->last);
	if (error < 0)
		kernel_ring_close(ring);
	return error;
}

/* Its events go on while it has no memory: what they note is lost. A ring's
 * size changes only while it is mapped nowhere, which ends what was joined. */
int kernel_ring_grow(struct kernel_ring *ring)
{
	int error;

	ring->is_grown = true;
	munmap(ring->page, ring->bytes);
	ring->page = NULL;
	error = map_ring(ring, MOST_PAGES);
	return error == 0 && ring->samples >= 0 ? join_samples(ring) : error;
}

void kernel_ring_close(struct kernel_ring *ring)
{
	if (ring->samples >= 0)
		close(ring->samples);
	if (ring->page)
		munmap(ring->page, ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	ring->fd = ring->samples = -1;
	ring->page = NULL;
}

void kernel_ring_sample(struct kernel_ring *ring, bool on)
{
	if (ring->samples >= 0)
		ioctl(ring->samples, on ? PERF_EVENT_IOC_ENABLE :
		      PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- ticks ---- */

static uint64_t scale(uint64_t n, uint64_t to, uint64_t from)
{
	return (uint64_t)((unsigned __int128)n * to / from);
}

/* now is the later reading. What was noted just after a reading is found by it,
 * or only by the next one. */
static uint64_t tick_of(const struct kernel_ring *ring,
			const struct rate *rate, const struct rate_pair *now,
			uint64_t ns)
{
	const struct rate_pair *const last = &ring->last;

	if (ns <= last->mono)
		return last->tick - scale(last->mono - ns, rate->hz, NS_PER_S);
	if (ns >= now->mono)
		return now->tick + scale(ns - now->mono, rate->hz, NS_PER_S);
	return last->tick + scale(ns - last->mono, now->tick - last->tick,
				  now->mono - last->mono);
}

/* ---- reading ---- */

/* Copy bytes of the ring, which wraps. */
static void copy_out(const struct kernel_ring *ring, uint64_t at, void *to,
		     size_t size)
{
	const char *const data = (const char *)ring->page +
				 ring->page->data_offset;
	const uint64_t mask = ring->page->data_size - 1;

	for (size_t i = 0; i < size; i++)
		((char *)to)[i] = data[(at + i) & mask];
}

/* False: it is none of ours, such as the births of threads. */
static bool is_event(const struct perf_event_header *h, enum ring_event *e)
{
	switch (h->type) {
	case PERF_RECORD_SWITCH:
		*e = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT) ? RING_IN :
		     h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ?
		     RING_PREEMPTED : RING_OUT;
		return true;
	case PERF_RECORD_SAMPLE:
		*e = RING_SAMPLE;
		return true;
	case PERF_RECORD_LOST:
		*e = RING_LOST;
		return true;
	case PERF_RECORD_THROTTLE:
		*e = RING_STOPPED;
		return true;
	case PERF_RECORD_UNTHROTTLE:
		*e = RING_RESUMED;
		return true;
	case PERF_RECORD_MMAP:
		*e = RING_MAPPED;
		return true;
	default:
		return false;
	}
}

/* The bytes of a record that we read: a sample's address comes first, and the
 * time comes last, because of sample_id_all. */
struct noted {
	enum ring_event event;
	uint64_t address, time;
};

static bool read_record(const struct kernel_ring *ring, uint64_t at,
			const struct perf_event_header *h, struct noted *n)
{
	if (!is_event(h, &n->event) || h->size < sizeof(*h) + sizeof(n->time))
		return false;
	copy_out(ring, at + sizeof(*h), &n->address, sizeof(n->address));
	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
	    PERF_RECORD_MISC_USER)
		n->address = 0;
	copy_out(ring, at + h->size - sizeof(n->time), &n->time,
		 sizeof(n->time));
	return true;
}

/* The clocks have parted between the readings, as in a suspend: the ticks of
 * what was noted there are not known. */
static void drop(struct kernel_ring *ring, uint64_t end, uint64_t now,
		 ring_fn *fn, void *ctx)
{
	__atomic_store_n(&ring->page->data_tail, end, __ATOMIC_RELEASE);
	fn(ctx, RING_UNKNOWN, now, 0);
}

bool kernel_ring_has_news(const struct kernel_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) !=
	       ring->page->data_tail;
}

/* The clocks are read before what is to be found: all that is older is there
 * then. */
uint64_t kernel_ring_read(struct kernel_ring *ring, const struct rate *rate,
			  ring_fn *fn, void *ctx)
{
	struct rate_pair now = { .tick = rate_ticks(rate) };
	struct perf_event_header h;
	struct noted n;

	if (!kernel_ring_has_news(ring) &&
	    now.tick - ring->last.tick < rate_ms_ticks(rate, PAIR_MS))
		return now.tick;
	rate_read(rate, &now);
	const uint64_t end = __atomic_load_n(&ring->page->data_head,
					     __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;

	if (now.tick < ring->last.tick || now.mono < ring->last.mono ||
	    rate_is_stepped(rate, now.tick, now.mono, now.width)) {
		drop(ring, end, now.tick, fn, ctx);
		at = end;
	}
	for (; at < end; at += h.size) {
		copy_out(ring, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		if (read_record(ring, at, &h, &n))
			fn(ctx, n.event,
			   tick_of(ring, rate, &now, n.time), n.address);
	}
	__atomic_store_n(&ring->page->data_tail, end, __ATOMIC_RELEASE);
	ring->last = now;
	return now.tick;
}
