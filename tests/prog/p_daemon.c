/* p_daemon.c - goes into the background as daemons do, closes all descriptors,
 * and works there. "p_daemon FILE": its counts go to FILE.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
void before(void), behind(void);
PLAIN void before(void) { __asm__ volatile(""); }
PLAIN void behind(void) { __asm__ volatile(""); }

int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < 50; i++)
		before();
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	closefrom(0);
	umask(077);
	for (int i = 0; i < 4000; i++) {
		behind();
		if (i % 1000 == 0)
			usleep(50000);
	}
	FILE *f = fopen(argv[1], "w");

	fprintf(f, "calls 50 before\ncalls 4000 behind\n");
	fclose(f);
	return 0;
}
