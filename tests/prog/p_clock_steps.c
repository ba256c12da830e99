/* p_clock_steps.c - preloaded into recorder and program: each reading of
 * CLOCK_REALTIME is an hour before or behind the one before.
 * flags: -shared -fPIC
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint readings;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	const int failed = (int)syscall(SYS_clock_gettime, clock, t);

	if (!failed && clock == CLOCK_REALTIME &&
	    atomic_fetch_add(&readings, 1) % 2 == 1)
		t->tv_sec -= 3600;
	return failed;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
