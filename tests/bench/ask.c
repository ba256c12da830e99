/* ask.c - linked into a program, no memory can be read carefully there: weft's
 * check of Lua's layout fails, and what it wants to know it asks of Lua's API.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NO_SUCH_WAY = 9 }; /* how careful reads are made (lua_mem.c) */

long syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_rt_sigprocmask && a[0] == NO_SUCH_WAY) {
		errno = EFAULT;
		return -1;
	}
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}
