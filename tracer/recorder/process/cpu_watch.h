/* cpu_watch.h - what the kernel tells of the recorded threads, where it lets an
 * ordinary user know: when they did not run, and where they were when they did.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/process/kernel_ring.h"
#include "tracer/recorder/process/offcpu.h"
#include "tracer/recorder/process/samples.h"

struct cpu_watched {
	struct kernel_ring ring;
	struct offcpu offcpu;
	struct samples samples;
	int schedule;              /* /proc/TID/schedstat; negative: none */
	uint32_t process;          /* number of its slot */
	bool has_mapped;           /* code, since somebody reset this */
	bool has_lost;             /* its ring was full */
	bool was_crowded;          /* at the last reading, offcpu was */
	/* How often it may come to a CPU while it is sampled, before this is
	 * done without; until which tick that is granted. */
	int64_t credit;
	uint64_t credited;
	bool is_rationed;          /* done without for now */
};

struct cpu_watch {
	const struct rate *rate;
	uint64_t period;           /* ns a thread runs between samples; 0: no
				    * samples. Set it before threads come */
	uint64_t cost;             /* ns that a sample takes */
	bool is_paused;            /* no samples are taken now */
	bool is_crowded;           /* a thread needs a chunk for its switches,
				    * since somebody reset this */
	uint64_t most_hz;          /* the kernel's limit, if more was asked
				    * for; else 0 */
	uint32_t slots, watched, grown;
	uint32_t refused;          /* threads that could not be watched, */
	int why;                   /* and the errno of one of them */
	struct cpu_watched slot[];
};

/* Room for that many thread slots. NULL: no memory. All functions below take
 * NULL and then do nothing. It is never freed. */
struct cpu_watch *cpu_watch_new(uint32_t slots, const struct rate *rate);

/* Find out what samples cost, on the calling thread, and set the period. hz:
 * samples a second; 0: none; negative: as many as cost 1 % of a CPU, but not
 * more than 4,000. Returns 0, or the errno with which the kernel refuses to
 * note anything. Takes some ms. */
int cpu_watch_choose(struct cpu_watch *w, int hz);

/* Say why the kernel refuses, or why a thread cannot be watched, by the errno;
 * "" for 0. */
void cpu_watch_explain(int error, char *text, size_t room);
/* Whether an administrator may allow it. */
bool cpu_watch_is_forbidden(int error);

/* Start to watch the thread of a slot. pid and tid are numbers in this process'
 * namespace. The kernel may refuse: another user's program, perf_event_paranoid
 * > 2, too many threads. The thread's chunks then tell nothing of this kind,
 * and readers treat it as not known. May lend the turn. */
void cpu_watch_begin(struct cpu_watch *w, uint32_t slot, uint32_t process,
		     uint32_t pid, uint32_t tid);
/* The slot's thread has ended. What is known of it is kept until the slot is
 * watched again. */
void cpu_watch_end(struct cpu_watch *w, uint32_t slot);

/* Take no samples, or take them again. */
void cpu_watch_pause(struct cpu_watch *w, bool is_paused);

/* Read what the kernel has noted since the last time. Needed every 100 ms or
 * so, and before the thread's chunk is completed. */
void cpu_watch_read(struct cpu_watch *w, uint32_t slot);

/* Make the ring larger if it was full. What has no chunk yet is lost then: call
 * it between chunks, for threads that live. */
void cpu_watch_make_room(struct cpu_watch *w, uint32_t slot);

/* Samples that no chunk has got, so far. */
uint64_t cpu_watch_lost(const struct cpu_watch *w);
