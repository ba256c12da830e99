/* kernel_ring.h - what the kernel notes of one thread, in the ring that it
 * shares with us: when the thread left a CPU and came to one, and where its
 * program counter was, by perf_event_open(2).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/rate.h"

struct perf_event_mmap_page;

/* All zero but for the descriptors: not open. */
struct kernel_ring {
	int fd;                    /* negative: not open */
	int samples;               /* negative: none are taken */
	struct perf_event_mmap_page *page;
	size_t bytes;              /* mapped */
	bool is_grown;             /* by kernel_ring_grow */
	struct rate_pair last;     /* the clocks at an earlier reading */
};

enum ring_event {
	RING_IN,                   /* the thread came to a CPU, */
	RING_OUT,                  /* left it to sleep, */
	RING_PREEMPTED,            /* or had to leave it to another one; Linux
	                            * 4.17 and later tell it from RING_OUT */
	RING_SAMPLE,               /* address: its program counter; 0: in the
				    * kernel */
	RING_LOST,                 /* it was full: events were lost before
				    * this tick */
	RING_UNKNOWN,              /* the same, as their times are not known */
	RING_STOPPED,              /* no samples from now on: too many came */
	RING_RESUMED,              /* samples again */
	RING_MAPPED,               /* code was mapped by the thread */
};

/* Called for each event in its order. tick is less exact than ticks that the
 * thread takes: by less than 1 us. */
typedef void ring_fn(void *ctx, enum ring_event event, uint64_t tick,
		     uint64_t address);

/* Begin to note what the thread does; it needs no privilege beyond
 * perf_event_paranoid 2 and the right to look at the thread. With 1, or
 * CAP_PERFMON, samples in the kernel are noted, too. period: ns that it
 * runs between two samples; 0: no samples. tid is a number in this process'
 * namespace; 0: the calling thread. Returns 0, or a negative errno. */
int kernel_ring_open(struct kernel_ring *ring, uint32_t tid, uint64_t period,
		     const struct rate *rate);
void kernel_ring_close(struct kernel_ring *ring);
/* Take samples, or take none until this is called again. */
void kernel_ring_sample(struct kernel_ring *ring, bool on);

/* Hand over what was noted since the last call. Returns a tick: all that
 * happened before it is known. Call it every 100 ms, or events are lost. */
uint64_t kernel_ring_read(struct kernel_ring *ring, const struct rate *rate,
			  ring_fn *fn, void *ctx);

/* Make it as large as can be, once, after events were lost. What happens
 * meanwhile is lost, too, and what was not read. Returns 0, or a negative
 * errno: then close it. */
int kernel_ring_grow(struct kernel_ring *ring);

/* Whether events wait to be read. */
bool kernel_ring_has_news(const struct kernel_ring *ring);
