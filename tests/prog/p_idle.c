/* p_idle.c - "p_idle SECONDS": one call that sleeps.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void nap(unsigned s) { sleep(s); }

int main(int argc, char **argv)
{
	nap(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	return 0;
}
