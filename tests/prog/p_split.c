/* p_split.c - functions that gcc may split into a head, which it inlines into
 * some callers and which jumps on to the rest for others: called directly, by
 * pointer, recursively, through each other, and left by longjmp from the rest.
 * Counts what it calls. matrix
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdio.h>

#define PLAIN __attribute__((noinline))
#define UNSEEN __attribute__((no_instrument_function))
static volatile unsigned long n_split, n_again, n_turn, n_back, n_kid, n_tiny;
static volatile unsigned long n_go, n_quit;
static long sum;
static jmp_buf point;
void split(long a, long b, long c, long d, long e, long f);
void again(long n), turn(long n), back(long n), go(long i), quit(long i);
void kid(long a, long b, long c, long d, long e);
/* Nothing is inlined where these are called. */
static void (*volatile split_at)(long, long, long, long, long, long) = split;
static void (*volatile again_at)(long) = again;

#define LIKELY(x) __builtin_expect(x, 1)

/* Too much to be inlined. */
#define SOME(i)                                                                \
	if (sum % (i) == 0)                                                    \
		sum += sum * (i) / ((i) + 1);                                  \
	else if (sum % ((i) + 20) == 3)                                        \
		sum ^= (i) * (i);
#define MUCH                                                                   \
	SOME(3) SOME(4) SOME(5) SOME(6) SOME(7) SOME(8) SOME(9) SOME(10)       \
	SOME(11) SOME(12) SOME(13) SOME(14) SOME(15) SOME(16) SOME(17)         \
	SOME(18) SOME(19) SOME(20) SOME(21) SOME(22) SOME(23) SOME(24)

PLAIN void kid(long a, long b, long c, long d, long e)
{
	n_kid++;
	sum += a ^ b ^ c ^ d ^ e;
}

static inline __attribute__((always_inline)) void tiny(long a)
{
	n_tiny++;
	sum += a;
}

/* The head keeps six values, the rest next to none. */
void split(long a, long b, long c, long d, long e, long f)
{
	if (LIKELY(a == 0))
		return;
	tiny(b);
	kid(a, b, c, d, e + f);
	MUCH
	if (a > 2)
		longjmp(point, 1);
}

void again(long n)
{
	if (LIKELY(n == 0))
		return;
	MUCH
	n_again++;
	again(n - 1);
	kid(n, 0, 0, 0, 0);
	if (n % 3 == 0) {
		n_again++;
		again(n / 3);
	}
	if (n % 4 == 3) {
		n_back++;
		back(n - 3);
	}
	MUCH
}

/* What again and turn inline calls again and turn. */
PLAIN void back(long n)
{
	n_turn++;
	turn(n);
	n_again++;
	again(n / 2);
}

void turn(long n)
{
	if (LIKELY(n == 0))
		return;
	MUCH
	n_turn++;
	turn(n - 1);
	if (n % 3 == 1) {
		n_back++;
		back(n / 3);
	}
	MUCH
}

PLAIN void quit(long i)
{
	n_quit++;
	if (setjmp(point) == 0) {
		n_split++;
		split_at(i, 1, 2, 3, 4, 5);
	}
	n_again++;
	again(i % 4);
}

PLAIN void go(long i)
{
	n_go++;
	n_split++;
	split(i % 3, 1, 2, 3, 4, i);
	n_again++;
	again(i % 9);
	n_turn++;
	turn(i % 11);
	n_split++;
	split(i % 2, 5, 4, 3, 2, i);
}

/* Not a frame of ours. */
UNSEEN static void by_pointer(long i)
{
	n_split++;
	split_at(i % 3, 1, 2, 3, 4, i);
	n_again++;
	again_at(i % 7);
}

int main(void)
{
	for (long i = 0; i < 500; i++) {
		go(i);
		by_pointer(i);
		quit(i % 5);
	}
	printf("calls %lu split\ncalls %lu again\ncalls %lu turn\n"
	       "calls %lu back\ncalls %lu kid\ncalls %lu tiny\ncalls %lu go\n"
	       "calls %lu quit\ncalls 1 main\nonly .\n",
	       n_split, n_again, n_turn, n_back, n_kid, n_tiny, n_go, n_quit);
	return 0;
}
