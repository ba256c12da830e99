/* turn.c - a mutex. The other thread waits for it nearly all the time.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/turn.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>

enum { AGAIN_MS = 2, HAND_OVER_MS = 1 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_t other;
static bool has_other;           /* there is another thread */
static bool is_over;
static _Atomic bool is_wanted;   /* the first thread waits for it */
static bool (*do_work)(void *ctx);
static void *work_on;

static void *wait_for_it(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&turn);
		if (is_over)
			break;
		const bool is_done = !do_work(work_on);

		pthread_mutex_unlock(&turn);
		if (is_done || is_wanted)
			poll(NULL, 0, is_done ? AGAIN_MS : HAND_OVER_MS);
	}
	pthread_mutex_unlock(&turn);
	return unused;
}

void turn_start(bool (*work)(void *ctx), void *ctx)
{
	is_over = false;
	do_work = work;
	work_on = ctx;
	pthread_mutex_lock(&turn);
	has_other = pthread_create(&other, NULL, wait_for_it, NULL) == 0;
}

void turn_end(void)
{
	if (!has_other)
		return;
	is_over = true;
	turn_lend();
	pthread_join(other, NULL);
	has_other = false;
}

void turn_lend(void)
{
	if (!has_other)
		return;
	assert(!pthread_equal(pthread_self(), other)); /* work lends nothing */
	pthread_mutex_unlock(&turn);
}

void turn_take(void)
{
	if (!has_other)
		return;
	is_wanted = true;
	pthread_mutex_lock(&turn);
	is_wanted = false;
}
