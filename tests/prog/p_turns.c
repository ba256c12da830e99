/* p_turns.c - two threads take turns: each waits for the other, so often that
 * they do little else. "p_turns N": N turns each, and a hundred are one call
 * that is recorded.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>

#define RAW __attribute__((no_instrument_function))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, turns;

RAW static void take(int me)
{
	pthread_mutex_lock(&lock);
	while (turn != me)
		pthread_cond_wait(&turned, &lock);
	turn = !me;
	pthread_cond_signal(&turned);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void take_some(int me, int n)
{
	for (int i = 0; i < n; i++)
		take(me);
}

RAW static void *play(void *me)
{
	for (int i = 0; i < turns; i += 100)
		take_some(me == &turn, 100);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	turns = argc > 1 ? atoi(argv[1]) : 0;
	pthread_create(&other, NULL, play, &turn);
	play(NULL);
	pthread_join(other, NULL);
	return 0;
}
