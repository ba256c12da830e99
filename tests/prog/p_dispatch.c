/* p_dispatch.c - a dispatcher: functions with frames of one size, called from
 * one point, left by longjmp to it; and functions that are inlined, once into
 * each other and recursively. Counts what it calls. matrix
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdio.h>

#define PLAIN __attribute__((noinline))
static volatile unsigned long n_a, n_b, n_c, n_in, n_re, n_outer, n_plain;
static jmp_buf point;
void a(int x), b(int x), c(int x), outer(int x);
long plain(long x);

PLAIN long plain(long x)
{
	n_plain++;
	return x + 1;
}

static inline __attribute__((always_inline)) long inlined(long x)
{
	n_in++;
	return plain(x) * 2;
}

static inline long again(long x)
{
	n_re++;
	return x > 0 ? again(x - 1) + 1 : inlined(x);
}

#define JUMPER(name)                                                           \
	PLAIN void name(int x)                                                 \
	{                                                                      \
		n_##name++;                                                    \
		if (x & 1)                                                     \
			inlined(x);                                            \
		longjmp(point, 1);                                             \
	}
JUMPER(a)
JUMPER(b)
JUMPER(c)

PLAIN void outer(int x)
{
	n_outer++;
	again(x % 9);
	inlined(x);
}

int main(void)
{
	static void (*const jumpers[3])(int) = { a, b, c };
	static volatile int i;

	setjmp(point);
	while (i < 1500) {
		i++;
		outer(i);
		jumpers[i % 3](i);
	}
	printf("calls %lu a\ncalls %lu b\ncalls %lu c\ncalls %lu inlined\n"
	       "calls %lu again\ncalls %lu outer\ncalls %lu plain\n"
	       "calls 1 main\nonly .\n",
	       n_a, n_b, n_c, n_in, n_re, n_outer, n_plain);
	return 0;
}
