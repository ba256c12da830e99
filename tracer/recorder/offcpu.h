/* offcpu.h - when recorded threads did not run, from the kernel's own account
 * of context switches, where it lets an ordinary user have that.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_OFFCPU_H
#define WEFT_RECORDER_OFFCPU_H

#include "tracepoints/chunk.h"

#include <stdint.h>

struct offcpu;

/* Room for that many thread slots; NULL: no memory. */
struct offcpu *offcpu_new(uint32_t slots);
void offcpu_free(struct offcpu *);

/* Start to watch the thread of a slot, if the kernel allows (it may not: other
 * users' programs, perf_event_paranoid > 2, too many threads). Its switches are
 * known from now on. pid and tid as this process sees them. */
void offcpu_watch(struct offcpu *, uint32_t slot, uint32_t pid, uint32_t tid);
/* The slot's thread is gone; what is known of it stays until the next watch. */
void offcpu_gone(struct offcpu *, uint32_t slot);

/* Read what the kernel has noted since the last time; call every 100 ms or so
 * for all, and for one slot before its chunk is completed. */
void offcpu_read(struct offcpu *, uint32_t slot);
void offcpu_read_all(struct offcpu *);

/* Words of the item for the chunk (head word included) written at to, where
 * room words are free; 0: nothing is known of the chunk's time, or no room. */
uint32_t offcpu_item(struct offcpu *, uint32_t slot,
		     const struct chunk_header *h, uint64_t *to, uint32_t room);

#endif
