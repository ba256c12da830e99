/* p_counts.c - "p_counts MORE PATH": calls functions a known number of times on
 * three threads that race. MORE: one more call of f1 to f4, or 0. PATH 1: f4 is
 * called by f1 once, too, and once less by the thread. It prints its own
 * account: function, calls.
 * built by tests/e2e/diff-counts.sh
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEN __attribute__((noinline))
#define PLAIN __attribute__((no_instrument_function))

static int more, path;
static int calls[5];
static volatile int sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

PLAIN static void note(int f)
{
	__atomic_fetch_add(&calls[f], 1, __ATOMIC_RELAXED);
	sink++;
}

SEEN static void f4(void) { note(4); }
SEEN static void f3(void) { note(3); }
SEEN static void f2(void) { note(2); f3(); }

SEEN static void f1(int by)
{
	note(1);
	if (by)
		f4();
}

PLAIN static void *work(void *first)
{
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		f1(0);
		pthread_mutex_unlock(&lock);
		f2();
		f4();
	}
	if (!first)
		return NULL;
	if (more == 1)
		f1(0);
	if (more == 2)
		f2();
	if (more == 3)
		f3();
	if (more == 4)
		f4();
	f1(path);
	if (!path)
		f4();
	return NULL;
}

PLAIN int main(int argc, char **argv)
{
	pthread_t t[3];

	more = argc > 1 ? atoi(argv[1]) : 0;
	path = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, i == 0 ? "" : NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 1; i < 5; i++)
		printf("f%d %d\n", i, calls[i]);
	return 0;
}
