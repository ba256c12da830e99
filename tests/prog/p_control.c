/* p_control.c - four threads while somebody else turns their recording off and
 * on. Each calls before() N times, then busy() until recording is off, unseen()
 * N times, waits until it is on, and calls after() N times. Prints "ready",
 * "off" and "on" when all have come so far; then waits for the end of its
 * input, calls late() N times and prints its own counts. Only to be recorded.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#pragma weak weft_mark
#pragma weak weft_status

#define UNSEEN __attribute__((no_instrument_function))
#define PLAIN __attribute__((noinline, noclone))
enum { THREADS = 4, N = 10000 };
static atomic_long busy_calls;
static pthread_barrier_t all;
void before(void);
void busy(void);
void unseen(void);
void after(void);
void late(void);
PLAIN void before(void) { __asm__ volatile(""); }
PLAIN void busy(void) { __asm__ volatile(""); }
PLAIN void unseen(void) { __asm__ volatile(""); }
PLAIN void after(void) { __asm__ volatile(""); }
PLAIN void late(void) { __asm__ volatile(""); }

UNSEEN static int is_on(void)
{
	struct weft_status s = { .size = sizeof(s) };

	weft_status(&s);
	return s.on;
}

UNSEEN static void say(const char *what)
{
	if (pthread_barrier_wait(&all) == PTHREAD_BARRIER_SERIAL_THREAD) {
		puts(what);
		fflush(stdout);
	}
	pthread_barrier_wait(&all);
}

UNSEEN static void *run(void *unused)
{
	long n = 0;

	for (int i = 0; i < N; i++)
		before();
	weft_mark("before");
	say("ready");
	for (; is_on(); n++)
		busy();
	for (int i = 0; i < N; i++)
		unseen();
	weft_mark("unseen");
	say("off");
	while (!is_on())
		usleep(1000);
	weft_mark("after");
	for (int i = 0; i < N; i++)
		after();
	say("on");
	busy_calls += n;
	return unused;
}

UNSEEN int main(void)
{
	pthread_t t[THREADS];
	char byte;

	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	while (read(0, &byte, 1) > 0)
		continue;
	for (int i = 0; i < N; i++)
		late();
	printf("calls %d before\ncalls %d after\ncalls %d late\nbusy %ld\n",
	       THREADS * N, THREADS * N, N, busy_calls);
	return 7;
}
