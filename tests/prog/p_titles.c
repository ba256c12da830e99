/* p_titles.c - "p_titles pause": what another process does to its native calls
 * does not turn recording on again; "p_titles threads": a title that one thread
 * stops does not end another's; "p_titles processes": nor that of another
 * process. Counts what it calls while recording must be on.
 * Only to be recorded. flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak weft_native
#pragma weak weft_pause
#pragma weak weft_resume
#pragma weak weft_start
#pragma weak weft_status
#pragma weak weft_stop

#define UNSEEN __attribute__((no_instrument_function))
enum { TIMES = 10000 };
static atomic_int done;
void inside(void);
void outside(void);

__attribute__((noinline)) void inside(void) { __asm__ volatile(""); }
__attribute__((noinline)) void outside(void) { __asm__ volatile(""); }

UNSEEN static int is_on(void)
{
	struct weft_status s = { .size = sizeof(s) };

	weft_status(&s);
	return s.on;
}

UNSEEN static void *start_and_stop(void *unused)
{
	while (!done) {
		weft_start("other");
		weft_stop("other");
	}
	return unused;
}

UNSEEN static pid_t beside(void (*what)(void))
{
	const pid_t child = fork();

	while (child == 0)
		what();
	return child;
}

UNSEEN static void change_native(void)
{
	weft_native(0);
	weft_native(1);
}

UNSEEN static void change_title(void)
{
	weft_start("other");
	weft_stop("other");
}

/* How often recording was on, or off, when it must not be. */
UNSEEN static int pauses(void)
{
	int undone = 0;

	for (int i = 0; i < TIMES; i++) {
		weft_pause();
		for (int k = 0; k < 10; k++)
			outside();
		undone += is_on();
		weft_resume();
		inside();
	}
	return undone;
}

UNSEEN static int titles(void)
{
	int lost = 0;

	for (int i = 0; i < TIMES; i++) {
		weft_start("this");
		inside();
		lost += !is_on();
		weft_stop("this");
	}
	return lost;
}

UNSEEN int main(int argc, char **argv)
{
	const int by_pause = argc > 1 && strcmp(argv[1], "pause") == 0;
	const int by_thread = argc > 1 && strcmp(argv[1], "threads") == 0;
	pthread_t other;
	pid_t child = 0;
	int wrong;

	if (by_thread)
		pthread_create(&other, NULL, start_and_stop, NULL);
	else
		child = beside(by_pause ? change_native : change_title);
	wrong = by_pause ? pauses() : titles();
	done = 1;
	if (by_thread)
		pthread_join(other, NULL);
	else if (kill(child, SIGKILL) == 0)
		waitpid(child, NULL, 0);
	printf("wrong %d\n", wrong);
	return 0;
}
