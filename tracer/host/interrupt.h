/* interrupt.h - where signal handlers that interrupted a hook stand: which chunk
 * and record of the level below each run of one interrupted. Hook-safe.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_INTERRUPT_H
#define WEFT_TRACER_HOST_INTERRUPT_H

#include "tracer/host/state.h"

/* A hook of a level above 0 is about to record; needs busy set. Says what it
 * interrupts if that was not said for this run of a handler. */
void interrupt_begin(struct state *s);

/* The level's chunk is about to be handed over: those above, which name it, go
 * first, so that readers have them in time. flags: CHUNK_LAST. */
void interrupt_close(struct state *s, uint32_t flags);

#endif
