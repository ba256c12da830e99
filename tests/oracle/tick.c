/* tick.c - the random program's signal handler, which a timer of each thread
 * calls 10,000 times a second, wherever the thread is. How often it ran is
 * always known; on which call it stands only where the program waits for it: it
 * is held back before that call begins and until it ends.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((noinline))
enum { HZ = 10000, WAIT_ROUNDS = 1000, STACK_SIZE = 65536 };

void on_tick(int number);
void t_help(struct walk *w, unsigned long n);
void n_spin(struct walk *w), s_out(struct walk *w), s_in(struct walk *w);

static __thread timer_t timer;
static __thread void *stack;

PLAIN void t_help(struct walk *w, unsigned long n)
{
	w->helps++;
	if (n > 0)
		t_help(w, n - 1);
}

PLAIN void on_tick(int number)
{
	struct walk *w = self->thread;
	unsigned long *place = w->place;

	(void)number;
	w->ticks++;
	w->seen[w->place ? C_tick_with_place : C_tick]++;
	if (stack)
		w->seen[C_tick_on_its_stack]++;
	if (place)
		++*place;
	t_help(w, w->ticks % 4);
}

OUTSIDE static void hold(int how)
{
	sigset_t tick;

	sigemptyset(&tick);
	sigaddset(&tick, SIGALRM);
	pthread_sigmask(how, &tick, NULL);
}

PLAIN void s_in(struct walk *w)
{
	book_enter(w, F_s_in);
	book_leave(w, F_s_in);
}

PLAIN void s_out(struct walk *w)
{
	book_enter(w, F_s_out);
	s_in(w);
	s_in(w);
	book_leave(w, F_s_out);
}

/* Calls without pause until the handler has run. */
PLAIN void n_spin(struct walk *w)
{
	book_enter(w, F_n_spin);
	struct walk *const t = w->thread;
	const unsigned long before = t->ticks;

	t->place = book_place(w);
	hold(SIG_UNBLOCK);
	for (int i = 0; i < WAIT_ROUNDS && t->ticks == before; i++)
		s_out(w);
	hold(SIG_BLOCK);
	t->place = NULL;
	book_leave(w, F_n_spin);
}

OUTSIDE void tick_wait(struct walk *w)
{
	if (!w->is_ticking)
		return;
	hold(SIG_BLOCK);
	n_spin(w);
	hold(SIG_UNBLOCK);
}

/* Held back where nobody could say on what a handler stands. */
OUTSIDE void tick_hold(const struct walk *w, bool on)
{
	if (w->is_ticking)
		hold(on ? SIG_BLOCK : SIG_UNBLOCK);
}

OUTSIDE void tick_start(struct walk *w, bool on_its_stack)
{
	struct sigaction act = { .sa_handler = on_tick, .sa_flags =
				 SA_RESTART | (on_its_stack ? SA_ONSTACK : 0) };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = SIGALRM };
	const struct itimerspec every = {
		.it_interval.tv_nsec = 1000000000 / HZ,
		.it_value.tv_nsec = 1000000000 / HZ,
	};

	if (!w->is_ticking)
		return;
	if (on_its_stack) {
		stack_t alt = { .ss_size = STACK_SIZE };

		alt.ss_sp = stack = malloc(STACK_SIZE);
		sigaltstack(&alt, NULL);
	}
	event._sigev_un._tid = gettid();
	sigaction(SIGALRM, &act, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		book_die("no timer");
	timer_settime(timer, 0, &every, NULL);
}

/* The stack stays until the program ends: a thread's last signal may be on its
 * way. */
OUTSIDE void tick_stop(struct walk *w)
{
	if (!w->is_ticking)
		return;
	hold(SIG_BLOCK);
	timer_delete(timer);
}
