/* calls.c - workloads of nothing but calls. "calls WHAT N [RATE]" makes about N
 * calls (at RATE a second, if given), times them itself, and prints
 * "ns-per-call calls ns-by-the-wall-clock". Several threads may have to share
 * CPUs with the recorder: there the first is their CPU time.
 * Built with -finstrument-functions.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline))
long leaf(long x), mid(long x), fib(long x);

PLAIN long leaf(long x)
{
	return x * 3 + 1;
}

PLAIN long mid(long x)
{
	return leaf(x) + leaf(x + 1);
}

PLAIN long fib(long x)
{
	return x < 2 ? x : fib(x - 1) + fib(x - 2);
}

OUTSIDE static long run_calls(long n)
{
	long sum = 0;

	for (long i = 0; i < n / 3; i++)
		sum += mid(i);
	keep(sum);
	return n / 3 * 3;
}

/* The number of calls of fib(x). */
OUTSIDE static long fib_calls(long x)
{
	long a = 1, b = 1;

	for (long i = 2; i <= x; i++) {
		const long c = a + b + 1;

		a = b;
		b = c;
	}
	return b;
}

OUTSIDE static long run_fib(long n)
{
	long x = 2;

	while (fib_calls(x + 1) < n)
		x++;
	keep(fib(x));
	return fib_calls(x);
}

struct job {
	long (*run)(long);
	long n, done;
	double cpu;
};

OUTSIDE static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

OUTSIDE static void *job_run(void *arg)
{
	struct job *j = arg;
	const double start = cpu_seconds();

	j->done = j->run(j->n);
	j->cpu = cpu_seconds() - start;
	return NULL;
}

/* The work shared out to so many threads. */
OUTSIDE static long run_threads(int threads, long (*run)(long), long n,
				double *cpu)
{
	pthread_t thread[16];
	struct job job[16];
	long done = 0;

	for (int i = 0; i < threads; i++) {
		job[i] = (struct job){ run, n / threads, 0, 0 };
		pthread_create(&thread[i], NULL, job_run, &job[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		done += job[i].done;
		*cpu += job[i].cpu;
	}
	return done;
}

OUTSIDE static long run_paced(long n, double rate)
{
	const long lot = 3000;
	const double start = seconds();
	long done = 0;

	while (done < n) {
		done += run_calls(lot);
		while (seconds() - start < (double)done / rate)
			;
	}
	return done;
}

OUTSIDE int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "calls";
	const long n = argc > 2 ? atol(argv[2]) : 3000000;
	double start, cpu = 0;
	long done = 0;

	if (strcmp(what, "two") != 0 && strcmp(what, "deep") != 0)
		pin();
	start = seconds();
	if (strcmp(what, "calls") == 0)
		done = run_calls(n);
	else if (strcmp(what, "fib") == 0)
		done = run_fib(n);
	else if (strcmp(what, "two") == 0)
		done = run_threads(2, run_calls, n, &cpu);
	else if (strcmp(what, "random") == 0)
		done = many_random(n);
	else if (strcmp(what, "inlined") == 0)
		done = many_inlined(n);
	else if (strcmp(what, "deep") == 0)
		done = run_threads(4, many_deep, n, &cpu);
	else if (strcmp(what, "paced") == 0)
		done = run_paced(n, argc > 3 ? atof(argv[3]) : 5e6);
	else if (strcmp(what, "idle") == 0)
		done = (mid(1), sleep((unsigned)n), 3);
	const double took = seconds() - start;

	printf("%.3f %ld %.3f\n", (cpu > 0 ? cpu : took) * 1e9 / (double)done,
	       done, took * 1e9 / (double)done);
	return 0;
}
