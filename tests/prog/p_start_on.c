/* p_start_on.c - "p_start_on MODE": before() is called until go() is, and then
 * after(), in several threads or processes, as the modes below say. Prints how
 * many calls there were from go() on.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))
#define PLAIN __attribute__((noinline, noclone))
enum { BEFORE = 1000, STEPS = 10, AFTER = 500, THREADS = 4 };
void before(void), step(void), go(void), after(void), outer(void);
PLAIN void before(void) { __asm__ volatile(""); }
PLAIN void step(void) { __asm__ volatile(""); }
PLAIN void after(void) { __asm__ volatile(""); }

PLAIN void go(void)
{
	for (int i = 0; i < STEPS; i++)
		step();
}

PLAIN void outer(void)
{
	before();
	go();
	after();
}

UNSEEN static void times(int n, void (*f)(void))
{
	while (n-- > 0)
		f();
}

UNSEEN static void tell(int gone, int done)
{
	printf("calls 0 before\ncalls %d go\ncalls %d step\ncalls %d after\n",
	       gone, gone * STEPS, done);
}

UNSEEN static void plain(void)
{
	outer();
	go();
	times(AFTER, after);
	tell(2, AFTER + 1);
}

/* ---- threads ---- */

static pthread_barrier_t together;

UNSEEN static void *thread(void *is_first)
{
	times(BEFORE, before);
	pthread_barrier_wait(&together);
	if (is_first)
		go();
	pthread_barrier_wait(&together);
	times(AFTER, after);
	return NULL;
}

UNSEEN static void threads(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, i == 0 ? t : NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	tell(1, THREADS * AFTER);
}

/* ---- processes ---- */

UNSEEN static void tell_other(int pipe[2])
{
	if (write(pipe[1], "", 1) != 1)
		exit(1);
}

UNSEEN static void hear(int pipe[2])
{
	char byte;

	if (read(pipe[0], &byte, 1) != 1)
		exit(1);
}

/* The one goes when the other is ready, and then tells it. */
UNSEEN static void processes(int child_goes)
{
	int ready[2], gone[2];

	if (pipe(ready) != 0 || pipe(gone) != 0)
		exit(1);
	const pid_t child = fork();

	times(BEFORE, before);
	if ((child == 0) == child_goes) {
		hear(ready);
		go();
		tell_other(gone);
	} else {
		tell_other(ready);
		hear(gone);
	}
	times(AFTER, after);
	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
	tell(1, 2 * AFTER);
}

/* ---- as it is told ---- */

UNSEEN static void lines(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		times(BEFORE, strcmp(line, "go\n") == 0 ? go :
			      strcmp(line, "after\n") == 0 ? after : before);
		printf("done\n");
		fflush(stdout);
	}
}

UNSEEN int main(int argc, char **argv)
{
	const char *const mode = argc > 1 ? argv[1] : "";

	times(BEFORE, before);
	if (strcmp(mode, "plain") == 0)
		plain();
	else if (strcmp(mode, "threads") == 0)
		threads();
	else if (strcmp(mode, "fork") == 0)
		processes(0);
	else if (strcmp(mode, "child") == 0)
		processes(1);
	else if (strcmp(mode, "lines") == 0)
		lines();
	return 5;
}
