/* p_slow.c - "p_slow SECONDS [MORE]": calls steadily for so long, prints its
 * counts. With MORE, it then says "waits", does so for the end of its input,
 * and calls for so much longer.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned long count;
__attribute__((noinline)) static void tick(void) { count++; }

__attribute__((no_instrument_function)) static void call_for(double seconds)
{
	for (int i = 0; i < seconds * 100; i++) {
		for (int k = 0; k < 1000; k++)
			tick();
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	printf("pid %d\n", getpid());
	fflush(stdout);
	call_for(argc > 1 ? atof(argv[1]) : 1);
	if (argc > 2) {
		puts("waits");
		fflush(stdout);
		while (getchar() != EOF)
			continue;
		call_for(atof(argv[2]));
	}
	printf("calls %lu tick\n", count);
	return 9;
}
