/* p_few.c - a server: main takes in requests, two threads of a pool serve them.
 * "p_few even|varied REQUESTS burn|nap SLOW": each takes half a millisecond of
 * the CPU, or so on average; SLOW of them 150 times as long, on the CPU or
 * asleep. Now and then there is nothing to do for a tenth of a second.
 * flags: -finstrument-functions -lpthread -lm
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { QUEUE = 8, THREADS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t less = PTHREAD_COND_INITIALIZER;
static double queue[QUEUE];
static int first, last, naps;

RAW static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

PLAIN static void burn(double ms)
{
	const double begin = now();

	while (now() - begin < ms)
		;
}

PLAIN static void nap(double ms)
{
	usleep((unsigned)(ms * 1000));
}

PLAIN static void serve(double ms)
{
	if (ms > 50 && naps)
		nap(ms);
	else
		burn(ms);
}

PLAIN static double take(void)
{
	double ms;

	pthread_mutex_lock(&lock);
	while (first == last)
		pthread_cond_wait(&more, &lock);
	ms = queue[first++ % QUEUE];
	pthread_cond_signal(&less);
	pthread_mutex_unlock(&lock);
	return ms;
}

PLAIN static int serve_one(void)
{
	const double ms = take();

	if (ms >= 0)
		serve(ms);
	return ms >= 0;
}

static void *work(void *unused)
{
	while (serve_one())
		;
	return unused;
}

PLAIN static void request(double ms)
{
	pthread_mutex_lock(&lock);
	while (last - first == QUEUE)
		pthread_cond_wait(&less, &lock);
	queue[last++ % QUEUE] = ms;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	const int n = argc > 4 ? atoi(argv[2]) : 0, slow = argc > 4 ?
		atoi(argv[4]) : 0;
	pthread_t thread[THREADS];

	if (n == 0)
		return 1;
	naps = strcmp(argv[3], "nap") == 0;
	srand48(7);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < n; i++) {
		const int is_even = strcmp(argv[1], "even") == 0;
		const double usual = is_even ? 0.5 : -0.5 * log(1 - drand48());

		const int is_slow = slow > 0 &&
				    i % (n / slow) == n / slow / 2;

		request(is_slow ? 75 : usual);
		if (i % (n / 5) == n / 10)
			usleep(100000);
	}
	for (int i = 0; i < THREADS; i++)
		request(-1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
