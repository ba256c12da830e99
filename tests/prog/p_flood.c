/* p_flood.c - "p_flood N": N million calls as fast as they come.
 * flags: -O1 -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long count;
__attribute__((noinline)) static void drop(void) { count++; }

int main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	for (unsigned long i = 0; i < n * 1000000; i++)
		drop();
	printf("calls %lu drop\n", count);
	return 0;
}
