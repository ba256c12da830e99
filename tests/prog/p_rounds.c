/* p_rounds.c - "p_rounds A B C D" calls f1 A times, f2 B times, and so on.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long work;
__attribute__((noinline)) static void f1(void) { work += 1; }
__attribute__((noinline)) static void f2(void) { work += 2; }
__attribute__((noinline)) static void f3(void) { work += 3; }
__attribute__((noinline)) static void f4(void) { work += 4; }

int main(int argc, char **argv)
{
	void (*const f[])(void) = { f1, f2, f3, f4 };

	for (int i = 1; i < argc && i <= 4; i++) {
		const long n = atol(argv[i]);

		for (long k = 0; k < n; k++)
			f[i - 1]();
		printf("calls %ld f%d\n", n, i);
	}
	return 0;
}
