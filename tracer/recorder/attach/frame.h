/* frame.h - what is put into another process so that a thread of it, which we
 * have call a function, comes back by itself: also if we are killed meanwhile.
 * It is what the kernel leaves on the stack for a signal handler, and what
 * rt_sigreturn puts back: all registers, and the signals that are blocked.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <sys/user.h>

/* Bytes of a frame: one without what came after SSE, and any. */
enum { FRAME_BASIC = 320 + 512, FRAME_MAX = 16 << 10 };

/* Make the frame that will lie at this address, a multiple of 64: for a thread
 * that sits in a system call with these registers and that mask. state: its
 * other registers, as ptrace gives them. is_basic: leave out those that came
 * after SSE. Returns its size. */
size_t frame_make(uint8_t bytes[FRAME_MAX], uint64_t at,
		  const struct user_regs_struct *regs, uint64_t mask,
		  const struct iovec *state, bool is_basic);

/* What frame_stub does, with rbx pointing here: it calls function(a, b), and
 * explain() if there is one and the result is 0, puts errno back, sets done,
 * waits for a moment so that we can take over, and returns by the frame. */
struct frame_call {
	uint64_t function, a, b;
	uint64_t explain;
	uint64_t errno_at;         /* __errno_location there */
	uint64_t frame;
	uint64_t wait[2];          /* seconds and nanoseconds */
	uint64_t result, text;     /* what the two returned */
	uint64_t done;
};

extern const uint8_t frame_stub[], frame_stub_end[];
