/* p_regress.c - "p_regress SEED ROUNDS": a program in two builds. In the one
 * with -DPLANTED twice() is called twice as often, slower() costs 20 % more a
 * call, and shared() is called by stranger(), too. Work is a count of turns;
 * jitter() and nap() take a random time that differs from run to run by far
 * more than what is planted. It prints how long a fixed piece of work took it,
 * in ns, when the machine was at its fastest. Built by tests/e2e/diff.sh.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef PLANTED
enum { TIMES = 2, TURNS = 60000, STRANGERS = 1 };
#else
enum { TIMES = 1, TURNS = 50000, STRANGERS = 0 };
#endif

static volatile uint64_t sink;
static uint64_t seed;

enum { SAMPLES = 60 };
static long fastest;

#define HIDDEN __attribute__((no_instrument_function, noinline))
#define SEEN __attribute__((noinline))

HIDDEN static void turn(unsigned n)
{
	while (n-- > 0)
		sink++;
}

/* How fast is the machine now? */
HIDDEN static void sample(void)
{
	for (int i = 0; i < 2; i++) {
		struct timespec from, to;
		long ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		turn(60000);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec -
		     from.tv_nsec;
		fastest = fastest == 0 || ns < fastest ? ns : fastest;
	}
}

HIDDEN static unsigned chance(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

SEEN static void leaf(void) { turn(6000); }
SEEN static void twice(void) { turn(6000); leaf(); }
SEEN static void slower(void) { turn(TURNS); }
SEEN static void shared(void) { turn(12000); }
SEEN static void known(void) { turn(100); shared(); }
SEEN static void jitter(unsigned n) { turn(n); }
SEEN static void nap(unsigned us) { usleep(us); }

SEEN static void stranger(void)
{
	turn(200);
	for (int i = 0; i < STRANGERS; i++)
		shared();
}

SEEN static void serve(unsigned mood)
{
	for (int i = 0; i < TIMES; i++)
		twice();
	slower();
	known();
	stranger();
	jitter(mood + chance(2000));
	if (chance(40) == 0)
		nap(chance(300));
}

int main(int argc, char **argv)
{
	const long rounds = argc > 2 ? atol(argv[2]) : 100;
	unsigned mood;

	seed = argc > 1 ? (uint64_t)atol(argv[1]) * 977 + 12345 : 1;
	chance(2);
	/* Of the whole run: sessions differ. */
	mood = chance(60000);
	for (long i = 0; i < rounds; i++) {
		if (i % (rounds / SAMPLES + 1) == 0)
			sample();
		serve(mood);
		usleep(700);
	}
	printf("%ld\n", fastest);
	return 0;
}
