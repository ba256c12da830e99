/* step.h - runs code of this program one instruction at a time, and leaves it
 * by a jump out of a signal handler after as many as wanted, or calls something
 * after each. x86-64 alone.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

extern char __executable_start[], etext[];

enum { STEP_TRAP_FLAG = 0x100 };

static sigjmp_buf step_back;
static volatile unsigned long step_left; /* 0: it runs as usual */
static void (*step_each)(void);          /* NULL: nothing is called */

/* Instructions of libraries are stepped over, and those at which the program
 * holds back signals: no other handler would come there. */
static void step_trap(int number, siginfo_t *info, void *context)
{
	greg_t *const regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uintptr_t at = (uintptr_t)regs[REG_RIP];

	(void)info;
	if (step_left == 0) {
		regs[REG_EFL] &= ~(greg_t)STEP_TRAP_FLAG;
		return;
	}
	regs[REG_EFL] |= STEP_TRAP_FLAG;
	if (at < (uintptr_t)__executable_start || at >= (uintptr_t)etext ||
	    sigismember(&((ucontext_t *)context)->uc_sigmask, SIGALRM))
		return;
	if (step_each)
		step_each();
	if (--step_left == 0)
		siglongjmp(step_back, number);
}

/* From here on, count instructions. */
static inline void step_begin(unsigned long count)
{
	const struct sigaction act = { .sa_sigaction = step_trap,
				       .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	step_left = count;
	raise(SIGTRAP);
}

static inline void step_end(void)
{
	step_left = 0;
}
