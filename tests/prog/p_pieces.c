/* p_pieces.c - "p_pieces N": four threads, each of which calls early() N times
 * and, when all have done so, late() N / 100 times. Prints how often.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };
static pthread_barrier_t all;
static int n;
void early(void);
void late(void);
__attribute__((noinline)) void early(void) { __asm__ volatile(""); }
__attribute__((noinline)) void late(void) { __asm__ volatile(""); }

static void *run(void *unused)
{
	for (int i = 0; i < n; i++)
		early();
	pthread_barrier_wait(&all);
	for (int i = 0; i < n / 100; i++)
		late();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	n = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("calls %d early\ncalls %d late\ncalls %d run\ncalls 1 main\n",
	       THREADS * n, THREADS * (n / 100), THREADS);
	return 0;
}
