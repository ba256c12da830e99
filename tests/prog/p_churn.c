/* p_churn.c ROUNDS THREADS - so many threads live at once, then end, for some
 * rounds; prints how much its memory grew in the last ones, and in the first,
 * in kB a thread.
 * flags: -finstrument-functions -pthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t all;

int leaf(int x);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void *body(void *arg)
{
	leaf(1);
	pthread_barrier_wait(&all);
	return arg;
}

static long resident(void)
{
	FILE *const f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "RssAnon: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

static void round_of(int n, pthread_t *t)
{
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t[i], NULL, body, NULL) != 0)
			exit(1);
	}
	pthread_barrier_wait(&all);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 3;
	const int n = argc > 2 ? atoi(argv[2]) : 100;
	pthread_t *const t = calloc((size_t)n, sizeof(*t));
	const long before = resident();
	long first, late = 0;

	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	round_of(n, t);
	first = resident();
	for (int i = 1; i < rounds; i++) {
		if (i == 2)
			late = resident();
		round_of(n, t);
	}
	printf("first %ld kB late %ld kB\n", (first - before) / n,
	       (resident() - late) / n);
	return 0;
}
