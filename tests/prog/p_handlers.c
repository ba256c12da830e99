/* p_handlers.c - "p_handlers HZ SECONDS [alt]": eight functions take turns at
 * calling without pause, for so many seconds on the CPU, while a timer's
 * instrumented handler interrupts; prints how often it ran in each. The signal
 * is held back where turns change.
 * flags: -O1 -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PLAIN __attribute__((noinline, noclone))
#define OUTSIDE __attribute__((no_instrument_function))
enum { TURNS = 8, ROUNDS = 400 };
static volatile int turn;
static volatile unsigned long ran[TURNS], in_turn[TURNS], sum;
static sigset_t tick;

PLAIN static void inner(void) { sum += 3; }
PLAIN static void outer(void) { inner(); inner(); }
PLAIN static void helper(void) { sum += 5; }
PLAIN static void handler(int number) { (void)number; helper(); ran[turn]++; }

#define TURN(n)                                                                \
	PLAIN static void turn##n(void)                                        \
	{                                                                      \
		turn = n;                                                      \
		in_turn[n]++;                                                  \
		sigprocmask(SIG_UNBLOCK, &tick, NULL);                         \
		for (int i = 0; i < ROUNDS; i++)                               \
			outer();                                               \
		sigprocmask(SIG_BLOCK, &tick, NULL);                           \
	}
TURN(0) TURN(1) TURN(2) TURN(3) TURN(4) TURN(5) TURN(6) TURN(7)

OUTSIDE static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

OUTSIDE static void use_alt_stack(void)
{
	stack_t alt = { .ss_size = 65536 };

	alt.ss_sp = mmap(NULL, alt.ss_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&alt, NULL);
}

OUTSIDE int main(int argc, char **argv)
{
	static void (*const turns[TURNS])(void) = {
		turn0, turn1, turn2, turn3, turn4, turn5, turn6, turn7 };
	const long hz = argc > 1 ? atol(argv[1]) : 1000;
	const double end = now() + (argc > 2 ? atof(argv[2]) : 1);
	const int is_alt = argc > 3 && strcmp(argv[3], "alt") == 0;
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART |
				 (is_alt ? SA_ONSTACK : 0) };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM };
	struct itimerspec every = { .it_interval.tv_nsec = 1000000000 / hz,
				    .it_value.tv_nsec = 1000000000 / hz };
	timer_t timer;

	if (is_alt)
		use_alt_stack();
	sigemptyset(&tick);
	sigaddset(&tick, SIGALRM);
	sigprocmask(SIG_BLOCK, &tick, NULL);
	sigaction(SIGALRM, &act, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &every, NULL);
	for (unsigned n = 0; now() < end; n++)
		turns[n * 5 % TURNS]();
	timer_delete(timer);
	for (int i = 0; i < TURNS; i++)
		printf("turn%d %lu %lu\n", i, in_turn[i], ran[i]);
	return 0;
}
