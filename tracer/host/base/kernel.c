/* kernel.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

bool kernel_confined;

/* libc's functions would leave out the signals that it uses itself. */
static uint64_t set_mask(uint64_t mask)
{
	const int saved = errno;
	uint64_t before = mask;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before,
		sizeof(mask));
	errno = saved;
	return before;
}

static uint64_t bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

struct kernel_signals kernel_hold_signals(void)
{
	const uint64_t raised = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) |
				bit(SIGFPE) | bit(SIGTRAP);
	struct kernel_signals before = { .is_held = !kernel_confined };

	if (before.is_held)
		before.blocked = set_mask(~raised);
	return before;
}

void kernel_let_signals(struct kernel_signals before)
{
	if (before.is_held)
		set_mask(before.blocked);
}
