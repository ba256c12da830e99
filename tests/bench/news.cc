// news.cc - "news N": C++ that takes memory often: N times, with some work between,
// something new takes the place of one of 4096 others. Prints "ns-of-CPU-a-turn N".
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <ctime>

enum { KEPT = 4096, WORK = 80 };

static char *kept[KEPT];

static double cpu_ns()
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(long n)
{
	unsigned long x = 88172645463325252;

	for (long i = 0; i < n; i++) {
		for (int k = 0; k < WORK; k++)
			x = x * 6364136223846793005 + 1442695040888963407;
		char *&at = kept[x >> 52];

		delete[] at;
		at = new char[16 + (x >> 32) % 112];
		*at = 1;
	}
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 1000000;

	run(n / 10);
	const double from = cpu_ns();

	run(n);
	printf("%.3f %ld\n", (cpu_ns() - from) / (double)n, n);
	return 0;
}
