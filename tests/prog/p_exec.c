/* p_exec.c - works, and becomes itself again by exec, twice: once as it is,
 * once with all its descriptors closed and once in a vforked child.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
void first(void), second(void), third(void);
PLAIN void first(void) { __asm__ volatile(""); }
PLAIN void second(void) { __asm__ volatile(""); }
PLAIN void third(void) { __asm__ volatile(""); }

static void times(int n, void (*f)(void))
{
	while (n-- > 0)
		f();
}

int main(int argc, char **argv)
{
	const char *const stage = argc > 1 ? argv[1] : "first";

	if (strcmp(stage, "first") == 0) {
		times(111, first);
		execl("/proc/self/exe", argv[0], "second", (char *)NULL);
		return 1;
	}
	if (strcmp(stage, "third") == 0) {
		times(333, third);
		_exit(0);
	}
	times(222, second);
	const pid_t pid = vfork();

	if (pid == 0) {
		closefrom(3);
		execl("/proc/self/exe", argv[0], "third", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	times(8, second);
	printf("calls 111 first\ncalls 230 second\ncalls 333 third\n");
	return 0;
}
