/* p_slow.c - "p_slow SECONDS": calls steadily for so long, prints its counts.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned long count;
__attribute__((noinline)) static void tick(void) { count++; }

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 1;

	printf("pid %d\n", getpid());
	fflush(stdout);
	for (int i = 0; i < seconds * 100; i++) {
		for (int k = 0; k < 1000; k++)
			tick();
		usleep(10000);
	}
	printf("calls %lu tick\n", count);
	return 9;
}
