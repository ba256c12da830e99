/* p_reopen.c - "p_reopen A B": opens and closes two instrumented libraries in
 * turn, 50 times each, and calls into them.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 50, CALLS = 20 };

static void *same[2];

static int use(const char *path, int which)
{
	void *const library = dlopen(path, RTLD_NOW);
	int (*plug)(int);
	int sum = 0;

	if (!library)
		return -1;
	void *const symbol = dlsym(library, "plug");

	memcpy(&plug, &symbol, sizeof(plug));
	same[which] = symbol;
	for (int i = 0; i < CALLS; i++)
		sum += plug(i);
	dlclose(library);
	return sum;
}

int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; argc > 2 && i < ROUNDS; i++)
		sum += use(argv[1], 0) + use(argv[2], 1);
	printf("calls %d in_a\ncalls %d in_b\ncalls %d plug\ncalls %d use\n",
	       ROUNDS * CALLS, ROUNDS * CALLS, 2 * ROUNDS * CALLS, 2 * ROUNDS);
	printf("sum %d, at one address: %s\n", sum,
	       same[0] == same[1] ? "yes" : "no");
	return sum == 2 * ROUNDS * (CALLS * (CALLS - 1) / 2) ? 5 : 1;
}
