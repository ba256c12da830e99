/* p_rights.c - "p_rights WHAT [DIR]": gives up rights, its root, its open
 * descriptors, or several of them, works, and becomes itself again by exec.
 * Built with the loader's paths only, so that DIR can be its root.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
void before(void), after(void), childs(void), again(void);
PLAIN void before(void) { __asm__ volatile(""); }
PLAIN void after(void) { __asm__ volatile(""); }
PLAIN void childs(void) { __asm__ volatile(""); }
PLAIN void again(void) { __asm__ volatile(""); }

static void times(int n, void (*f)(void))
{
	while (n-- > 0)
		f();
}

static int give_up(const char *what, const char *root)
{
	if (strstr(what, "chroot") && (chroot(root) != 0 || chdir("/") != 0))
		return -1;
	if (strstr(what, "closed"))
		closefrom(3);
	return strstr(what, "setuid") ? setuid(65534) : 0;
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "again") == 0) {
		times(44, again);
		/* Long enough to be seen. */
		usleep(1000000);
		return 7;
	}
	times(11, before);
	if (give_up(what, argc > 2 ? argv[2] : "/") != 0) {
		perror(what);
		return 1;
	}
	times(22, after);
	if (fork() == 0) {
		times(33, childs);
		_exit(0);
	}
	wait(NULL);
	printf("calls 11 before\ncalls 22 after\ncalls 33 childs\n");
	fflush(stdout);
	execl(argc > 3 ? argv[3] : "/proc/self/exe", argv[0], "again",
	      (char *)NULL);
	perror("exec");
	return 1;
}
