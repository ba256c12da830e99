/* p_cancel.c - "p_cancel N": threads that are cancelled at any instruction,
 * those of hooks among them. Prints how many calls had begun.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define OUTSIDE __attribute__((no_instrument_function))
static volatile unsigned long steps;
static volatile int runs;
void step(void), cleanup(void *arg);
void *run(void *arg);

PLAIN void step(void)
{
	steps++;
}

PLAIN void cleanup(void *arg)
{
	(void)arg;
}

PLAIN void *run(void *arg)
{
	pthread_cleanup_push(cleanup, arg);
	runs = 1;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		step();
	pthread_cleanup_pop(0);
	return arg;
}

OUTSIDE int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 10;

	for (int i = 0; i < n; i++) {
		pthread_t t;

		runs = 0;
		if (pthread_create(&t, NULL, run, NULL) != 0)
			return 1;
		while (!runs)
			usleep(10);
		usleep((unsigned)(i * 37 % 500));
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	printf("calls %d run\ncalls %d cleanup\nsteps %lu\n", n, n, steps);
	return 0;
}
