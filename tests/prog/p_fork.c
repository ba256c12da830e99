/* p_fork.c - parent and child both work after a fork, the child's child too;
 * one of them has a thread.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
void both(void), parents(void), childs(void), grandchilds(void), threads_(void);
PLAIN void both(void) { __asm__ volatile(""); }
PLAIN void parents(void) { both(); }
PLAIN void childs(void) { both(); }
PLAIN void grandchilds(void) { both(); }
PLAIN void threads_(void) { both(); }

static void times(int n, void (*f)(void))
{
	while (n-- > 0)
		f();
}

static void *thread(void *arg)
{
	times(700, threads_);
	return arg;
}

int main(void)
{
	pthread_t t;

	times(100, parents);
	fflush(stdout);
	pthread_create(&t, NULL, thread, NULL);
	if (fork() == 0) {
		times(2000, childs);
		if (fork() == 0) {
			times(300, grandchilds);
			exit(0);
		}
		wait(NULL);
		times(10, childs);
		_exit(0);
	}
	times(5000, parents);
	wait(NULL);
	times(23, parents);
	pthread_join(t, NULL);
	printf("calls 5123 parents\ncalls 2010 childs\ncalls 300 grandchilds\n"
	       "calls 700 threads_\ncalls %d both\n", 5123 + 2010 + 300 + 700);
	return 0;
}
