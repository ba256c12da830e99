/* sampler.h - kernel samples of whole processes: of all their threads, those
 * that they will start, and the processes that they will fork. Nothing of weft
 * need be in them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_mmap_page;

enum sampler_kind {
	SAMPLER_SAMPLE,            /* address; 0: in the kernel */
	SAMPLER_MAPPED,            /* code: from start on, of that size */
	SAMPLER_FORKED,            /* the process has come from another */
	SAMPLER_IMAGE,             /* and now runs another program */
	SAMPLER_LOST,              /* so many samples */
};

struct sampler_event {
	uint64_t time;             /* CLOCK_MONOTONIC ns */
	enum sampler_kind kind;
	uint32_t pid;              /* in this process' namespace */
	union {
		uint64_t address, lost;
		uint32_t parent;
		struct {
			uint64_t start, size, offset;
			char *path;        /* of who reads it, to be freed */
		};
	};
};

/* All zero: it samples nothing. */
struct sampler {
	struct sampler_ring {
		struct perf_event_mmap_page *page; /* NULL: none */
		int fd;            /* of the event that it was mapped by */
	} *ring;                   /* by CPU */
	uint32_t cpus;
	size_t bytes;              /* of a ring */
	int *fd;
	size_t fds, room;
	uint32_t left_out;         /* threads for which there is no room */
};

/* Sample a thread from now on, or from its next exec on, and all that comes
 * from it. period: ns on the CPU between two samples. Returns 0, or a negative
 * errno; -EMFILE: there are too many already, and it is left out. */
int sampler_add(struct sampler *s, pid_t tid, uint64_t period, bool from_exec);
/* All threads of a process, in the same way. 0 if there is one at least. */
int sampler_add_process(struct sampler *s, pid_t pid, uint64_t period);
void sampler_end(struct sampler *s);

/* Called for what was noted, in each CPU's order. */
typedef void sampler_fn(void *ctx, const struct sampler_event *e);
/* Hand over what was noted since the last call. Call it every 100 ms, or events
 * are lost. */
void sampler_read(struct sampler *s, sampler_fn *fn, void *ctx);
