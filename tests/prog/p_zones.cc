/* p_zones.cc - zones that end, that an exception or a jump ends, that nobody
 * ends, that a native coroutine leaves open when it yields; and ends of none. In
 * functions with hooks and without. Counts its zones, and what it calls in them,
 * and takes their times. Only to be recorded. matrix
 * flags: -std=c++17 -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <csetjmp>
#include <cstdio>
#include <ctime>
#include <ucontext.h>

#pragma weak weft_zone_begin
#pragma weak weft_zone_end

#define BARE __attribute__((no_instrument_function, noinline))
#define APART __attribute__((noinline))
#define WITHIN static inline __attribute__((always_inline))

static unsigned long n_outer, n_inner, n_thrown, n_jumped, n_open, n_line,
	n_slept, n_leaf, n_flat;
static volatile unsigned long sink;
static jmp_buf env;

BARE static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

APART static void leaf()
{
	n_leaf++;
	sink = sink + 1;
}

WITHIN void flat()
{
	n_flat++;
	leaf();
}

APART static void thrower(int depth)
{
	n_thrown++;
	weft::zone z("thrown");
	leaf();
	if (depth == 0)
		throw 1;
	thrower(depth - 1);
	sink = sink + 1;
}

BARE static void bare_thrower(int depth)
{
	n_thrown++;
	weft::zone z("thrown");
	leaf();
	if (depth == 0)
		throw 1;
	bare_thrower(depth - 1);
	sink = sink + 1;
}

APART static void jumper(int depth)
{
	n_jumped++;
	weft_zone_begin("jumped");
	leaf();
	if (depth == 0)
		longjmp(env, 1);
	jumper(depth - 1);
	weft_zone_end();
	sink = sink + 1;
}

/* Begins more than it ends. */
APART static void forgetful(int times)
{
	for (int i = 0; i < times; i++) {
		n_open++;
		weft_zone_begin("open");
		leaf();
	}
}

/* Ends what it did not begin. */
APART static void greedy()
{
	leaf();
	weft_zone_end();
	weft_zone_end();
	sink = sink + 1;
}

/* Leaves zones of its own by an exception, and goes on in one. */
APART static void catcher()
{
	weft::zone z("outer");

	n_outer++;
	try {
		WEFT_ZONE("inner");
		n_inner++;
		thrower(3);
	} catch (int) {
		leaf();
	}
	try {
		bare_thrower(3);
	} catch (int) {
		flat();
	}
	greedy();
	WEFT_ZONE("inner");
	n_inner++;
	flat();
}

BARE static void bare_catcher()
{
	weft_zone_begin("outer");
	n_outer++;
	try {
		weft::zone z("inner");
		n_inner++;
		thrower(2);
	} catch (int) {
		leaf();
	}
	weft_zone_begin("inner");
	n_inner++;
	leaf();
	weft_zone_end();
	leaf();
	weft_zone_end();
}

APART static void jumps()
{
	n_outer++;
	weft_zone_begin("outer");
	if (setjmp(env) == 0)
		jumper(4);
	leaf();
	forgetful(3);
	n_inner++;
	weft_zone_begin("inner");
	leaf();
	weft_zone_end();
	weft_zone_end();
	sink = sink + 1;
}

static ucontext_t here, there;

APART static void sleeper()
{
	for (;;) {
		weft::zone z("slept");
		n_slept++;
		leaf();
		swapcontext(&there, &here);
		leaf();
	}
}

/* It sleeps in a zone while this one has other zones. */
APART static void wake()
{
	WEFT_ZONE("outer");

	n_outer++;
	swapcontext(&here, &there);
	weft::zone z("inner");
	n_inner++;
	leaf();
}

/* Two zones that last for known times. */
BARE static void spin(double ns)
{
	for (const double end = now() + ns; now() < end;)
		sink = sink + 1;
}

APART static void timed(double *whole, double *part)
{
	const double begin = now();
	weft::zone z("whole");

	spin(20e6);
	{
		const double from = now();
		WEFT_ZONE("part");

		spin(30e6);
		*part += now() - from;
	}
	*whole += now() - begin;
}

/* The line of a zone that is begun again at the same place, though nobody ends
 * it. */
BARE static void bare_loop()
{
	for (int i = 0; i < 3; i++) {
		n_line++;
		weft_zone_begin("line");
		leaf();
	}
	weft_zone_end();
}

int main(int, char **)
{
	static char stack[256 * 1024];
	double whole = 0, part = 0;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, sleeper, 0);
	weft_zone_end();
	for (int i = 0; i < 1000; i++) {
		catcher();
		bare_catcher();
		jumps();
		wake();
		bare_loop();
	}
	for (int i = 0; i < 10; i++)
		timed(&whole, &part);
	printf("calls %lu outer\ncalls %lu inner\ncalls %lu thrown\n"
	       "calls %lu jumped\ncalls %lu open\ncalls %lu line\n"
	       "calls %lu slept\ncalls 10 whole\ncalls 10 part\n",
	       n_outer, n_inner, n_thrown, n_jumped, n_open, n_line, n_slept);
	printf("leaf %lu flat %lu\n", n_leaf, n_flat);
	printf("times %.0f whole\ntimes %.0f part\n", whole, part);
	return 0;
}
