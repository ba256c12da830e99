/* offcpu.h - when the recorded threads did not run, as the kernel's account of
 * context switches says, where it grants an ordinary user that account.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_PROCESS_OFFCPU_H
#define WEFT_TRACER_RECORDER_PROCESS_OFFCPU_H

#include "tracepoints/chunk.h"

#include <stdbool.h>
#include <stdint.h>

struct offcpu;

/* Room for that many thread slots. NULL: no memory. All functions below take
 * NULL and then do nothing. It is never freed. */
struct offcpu *offcpu_new(uint32_t slots);

/* Start to watch the thread of a slot. pid and tid are numbers in this process'
 * namespace. The kernel may refuse: another user's program, perf_event_paranoid
 * > 2, too many threads. The thread's chunks then have no ITEM_OFFCPU, and
 * readers treat its times as not known. May lend the baton. */
void offcpu_watch(struct offcpu *o, uint32_t slot, uint32_t pid, uint32_t tid);
/* The slot's thread has ended. What is known of it is kept until the slot is
 * watched again. */
void offcpu_unwatch(struct offcpu *o, uint32_t slot);

/* Read what the kernel has noted since the last time. Needed every 100 ms or
 * so, and before the thread's chunk is completed. */
void offcpu_read(struct offcpu *o, uint32_t slot);

/* What offcpu_read finds: the thread of the slot, which has a known begin
 * (offcpu_lost), left a CPU (out) or came to one, at that ns of
 * CLOCK_MONOTONIC; or switches were lost before it. Until the first switch
 * after a loss it is not known where the thread was: that switch tells. */
void offcpu_switch(struct offcpu *o, uint32_t slot, bool out, uint64_t at);
void offcpu_lost(struct offcpu *o, uint32_t slot, uint64_t at);

/* Write the chunk's ITEM_OFFCPU to the room words at to. Returns its words with
 * the head word. 0: nothing is known of the chunk's time, or no room. Where
 * not all spans have room, the known time ends before the first that has none.
 * Spans that end within the chunk are forgotten: ask once for each chunk, in
 * the order of the stream. */
uint32_t offcpu_item(struct offcpu *o, uint32_t slot,
		     const struct chunk_header *h, uint64_t *to, uint32_t room);

#endif
