/* pairs.c - "pairs WHAT N": takes and gives back N times what weft may record
 * beside calls: memory, a lock that nobody else wants, a zone; "served" are
 * locks of a table that four threads share, with some work for each. Prints
 * "ns-of-CPU-a-pair pairs ns-by-the-wall-clock".
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"
#include "tracer/host/weft.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void memory(long n)
{
	for (long i = 0; i < n; i++) {
		void *const p = malloc((size_t)(16 + i % 8 * 16));

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static void locks(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
}

static void zones(long n)
{
	for (long i = 0; i < n; i++) {
		weft_zone_begin("zone");
		weft_zone_end();
	}
}

/* ---- a server: most locks are free, and work takes 2 us or so ---- */

enum { SERVERS = 4, SHARDS = 256, STEPS = 1400 };

static struct shard { pthread_mutex_t lock; unsigned long value; }
shards[SHARDS] = { [0 ... SHARDS - 1] = { PTHREAD_MUTEX_INITIALIZER, 0 } };

static void *serve(void *number)
{
	unsigned long x = (unsigned long)pthread_self();

	for (long i = *(long *)number; i > 0; i--) {
		struct shard *const s = &shards[x / SHARDS % SHARDS];

		for (int k = 0; k < STEPS; k++)
			x = x * 6364136223846793005 + 1442695040888963407;
		pthread_mutex_lock(&s->lock);
		s->value += x;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static void served(long n)
{
	pthread_t t[SERVERS];

	n /= SERVERS;
	for (int i = 0; i < SERVERS; i++)
		pthread_create(&t[i], NULL, serve, &n);
	for (int i = 0; i < SERVERS; i++)
		pthread_join(t[i], NULL);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Where there is one thread only, libc takes locks in another way. */
static void *sleeps(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(long); } all[] = {
		{ "memory", memory }, { "locks", locks }, { "zones", zones },
		{ "served", served },
	};
	const long n = argc > 2 ? atol(argv[2]) : 0;
	pthread_t idle;

	for (size_t i = 0; n > 0 && i < sizeof(all) / sizeof(*all); i++) {
		if (strcmp(argv[1], all[i].name) != 0)
			continue;
		pthread_create(&idle, NULL, sleeps, NULL);
		if (all[i].run != served)
			pin();
		all[i].run(n / 100);
		const double from = seconds(), cpu = cpu_seconds();

		all[i].run(n);
		printf("%.3f %ld %.3f\n",
		       (cpu_seconds() - cpu) * 1e9 / (double)n, n,
		       (seconds() - from) * 1e9 / (double)n);
		return 0;
	}
	fprintf(stderr, "usage: pairs memory|locks|served|zones N\n");
	return 2;
}
