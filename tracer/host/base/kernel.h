/* kernel.h - what this library asks of the kernel.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* Has the program given up system calls? It may be killed for one that it does
 * not make itself: no hook makes any from then on. */
extern HIDDEN bool kernel_confined;

/* It is about to. Memory is set aside for what hooks need afterwards, where
 * there is so much. */
void kernel_confine(void);

/* Zeroed memory of whole pages, which cost nothing until they are touched.
 * NULL: there is none. Hook-safe, but for errno. */
void *kernel_map(size_t size);
/* Give it back, if that may be done. Likewise. */
void kernel_unmap(void *at, size_t size);
/* The thread's number. */
uint32_t kernel_tid(void);

/* The signals that a thread blocks, as the kernel keeps them. */
struct kernel_signals {
	uint64_t blocked;
	bool is_held;
};

/* Hold back this thread's signals, and with them libc's cancellation, so that
 * nothing jumps out of what is done meanwhile: what must be given back, or must
 * not stay half done. Those that an instruction raises come through. Short, or
 * else the program's handlers come late. May be nested. Does nothing in a
 * program that has given up system calls. Hook-safe. */
struct kernel_signals kernel_hold_signals(void);
void kernel_let_signals(struct kernel_signals before);
