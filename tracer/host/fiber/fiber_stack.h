/* fiber_stack.h - a fiber's part of the stitched stack: put onto the thread's,
 * taken off again. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_FIBER_FIBER_STACK_H
#define WEFT_TRACER_HOST_FIBER_FIBER_STACK_H

#include "tracer/host/fiber/fiber.h"

/* Put f with all it had open onto the thread's stack, which holds no fiber.
 * flags: RESUME_INFERRED or 0. Busy. */
void fiber_stack_attach(struct thread_state *s, struct fiber *f, uint32_t flags,
			uint64_t sp, uint64_t now);

/* Take the fiber off the stack; f keeps what is open. Busy. */
void fiber_stack_detach(struct thread_state *s, struct fiber *f, uint64_t now);

/* It has ended, or nobody knows what has become of it. Busy. */
void fiber_stack_end(struct thread_state *s, uint32_t flags, uint64_t now);

/* CREATE: give it a serial. Busy. */
void fiber_stack_create(struct thread_state *s, struct fiber *f, uint64_t now);

#endif
