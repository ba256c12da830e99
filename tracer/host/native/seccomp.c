/* seccomp.c - programs that give up system calls, or the clock. What weft would
 * do beyond their own code must not be what they are killed for.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread_state.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel takes the time stamp counter from a thread in seccomp's strict
 * mode, and every system call but four: it cannot be recorded any further. */
static int ends_recording(int option, unsigned long mode)
{
	return (option == PR_SET_SECCOMP && mode == SECCOMP_MODE_STRICT) ||
	       (option == PR_SET_TSC && mode == PR_TSC_SIGSEGV);
}

/* Before a filter of system calls is put in place the kernel mostly wants
 * PR_SET_NO_NEW_PRIVS, which all libraries ask for here. */
static int may_confine(int option)
{
	return option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS;
}

/* libc's has a variable number of arguments, all in registers. */
EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d);

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d)
{
	if (may_confine(option))
		process_confined = 1;
	if (ends_recording(option, a) && thread_self) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_CONFINED);
		thread_end();
	}
	return (int)syscall(SYS_prctl, option, a, b, c, d);
}
