/* p_reference.c - "p_reference ROUNDS [naps] [FILE]": four functions that take
 * as much CPU time as each other: leaf() in very many short calls, threaded()
 * in a thread, forked() in a child process, inlined() in one call a round,
 * which an optimised build does not have as a function. With naps it sleeps
 * after each round. With FILE, it does a tenth of its work if the file is not
 * there, and makes it. Prints "LEAVES ROUNDS": the calls of leaf(), and of each
 * other one.
 * Built by tests/e2e/reference.sh.
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 100000, LEAVES = 1000 };

#define SEEN __attribute__((noinline))

static unsigned rounds;
static int naps;

/* Each step waits for the one before, so that it takes as long wherever the
 * loop lies. */
static inline __attribute__((always_inline, no_instrument_function))
void turn(unsigned n)
{
	unsigned x = n;

	while (n-- > 0) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
}

SEEN static void leaf(void)
{
	turn(TURNS / LEAVES);
}

SEEN static void threaded(void)
{
	turn(TURNS);
}

SEEN static void forked(void)
{
	turn(TURNS);
}

static inline void inlined(void)
{
	turn(TURNS);
}

static void rest(void)
{
	if (naps)
		usleep(1000);
}

static void *run_thread(void *unused)
{
	for (unsigned i = 0; i < rounds; i++) {
		threaded();
		rest();
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *const file = argc > 3 ? argv[3] : NULL;
	pthread_t thread;
	pid_t child;

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	naps = argc > 2 && argv[2][0] == 'n';
	if (file && access(file, F_OK) != 0) {
		rounds /= 10;
		fclose(fopen(file, "w"));
	}
	child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < rounds; i++) {
			forked();
			rest();
		}
		_exit(0);
	}
	pthread_create(&thread, NULL, run_thread, NULL);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned k = 0; k < LEAVES; k++)
			leaf();
		inlined();
		rest();
	}
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	printf("%u %u\n", rounds * LEAVES, rounds);
	return 0;
}
