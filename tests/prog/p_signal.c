/* p_signal.c - "p_signal HZ SECONDS [jump|alt|paced]": calls without pause, for
 * so many seconds on the CPU, while a timer's instrumented handler interrupts
 * it; prints its counts. jump: some handlers leave by siglongjmp. alt: on a
 * stack of their own. paced: calls a tenth of the time only.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PLAIN __attribute__((noinline, noclone))
#define OUTSIDE __attribute__((no_instrument_function))
static volatile unsigned long leaves, mids, handlers, helpers, rounds, steps;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump, is_jumping, is_paced;
static unsigned long jumped;

long leaf(long x), mid(long x), again(long x), step(long x);
void handler(int number), helper(void);

PLAIN long leaf(long x)
{
	leaves++;
	return x * 3 + 1;
}

PLAIN long mid(long x)
{
	mids++;
	return leaf(x) + leaf(x + 1);
}

PLAIN void helper(void)
{
	helpers++;
}

PLAIN void handler(int number)
{
	handlers++;
	helper();
	helper();
	if (is_jumping && may_jump && handlers % 16 == 0) {
		may_jump = 0;
		siglongjmp(back, number);
	}
}

OUTSIDE static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

OUTSIDE static void work(double end)
{
	volatile long sum = 0;

	while (now() < end) {
		for (int i = 0; i < 100; i++)
			sum += mid(i);
		for (const double go_on = now() + (is_paced ? 6e-5 : 0);
		     now() < go_on;)
			;
	}
}

/* A jump may leave its call, or the hook of it, at any instruction: then weft
 * may know of a call more than is counted here, but never of one less. */
PLAIN long step(long x)
{
	steps++;
	return x ^ 1;
}

/* Jumps happen within it alone: its own count is exact. */
PLAIN long again(long x)
{
	long sum = 0;

	rounds++;
	may_jump = 1;
	for (int i = 0; i < 2000; i++)
		sum += step(i * x);
	may_jump = 0;
	return sum;
}

OUTSIDE static void work_with_jumps(double end)
{
	while (now() < end) {
		if (sigsetjmp(back, 1) == 0)
			again(3);
		else
			jumped++;
	}
}

OUTSIDE int main(int argc, char **argv)
{
	const long hz = argc > 1 ? atol(argv[1]) : 1000;
	const double seconds = argc > 2 ? atof(argv[2]) : 1;
	const char *const how = argc > 3 ? argv[3] : "";
	struct sigaction act = { .sa_handler = handler,
				 .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM };
	struct itimerspec every = { .it_interval.tv_nsec = 1000000000 / hz,
				    .it_value.tv_nsec = 1000000000 / hz };
	timer_t timer;

	is_paced = strcmp(how, "paced") == 0 || strcmp(how, "alt") == 0;
	is_jumping = strcmp(how, "jump") == 0;
	if (strcmp(how, "alt") == 0) {
		stack_t alt = { .ss_size = 65536 };

		alt.ss_sp = mmap(NULL, alt.ss_size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sigaltstack(&alt, NULL);
		act.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &act, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &every, NULL);
	if (is_jumping)
		work_with_jumps(now() + seconds);
	else
		work(now() + seconds);
	timer_delete(timer);
	if (!is_jumping)
		printf("calls %lu leaf\ncalls %lu mid\n", leaves, mids);
	printf("calls %lu handler\ncalls %lu helper\n", handlers, helpers);
	if (is_jumping)
		printf("calls %lu again\nsteps %lu\njumped %lu\n", rounds,
		       steps, jumped);
	return 0;
}
