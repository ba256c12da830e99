/* fibers_woven.c - fibers of the random program: each owns a Lua machine, runs
 * random calls on a stack of its own, and goes off the thread in the midst of
 * them, back to who resumed it or straight to another fiber. Any thread may go
 * on with it. By the seed, weft is told of the switches by weft.h, by one of
 * the sanitizers' calls, or by nobody but swapcontext.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define PLAIN __attribute__((noinline))
#define WEAK __attribute__((weak))
enum { SLOTS = 4, STACK_SIZE = 1 << 20 };
static const unsigned SPREAD = 0x9e3779b9;

struct weft_fiber;
WEAK struct weft_fiber *weft_fiber_create(void);
WEAK void weft_fiber_switch(struct weft_fiber *);
WEAK void weft_fiber_destroy(struct weft_fiber *);
WEAK void *__tsan_create_fiber(unsigned);
WEAK void __tsan_destroy_fiber(void *);
WEAK void __tsan_switch_to_fiber(void *, unsigned);
WEAK void *__tsan_get_current_fiber(void);
WEAK void __sanitizer_start_switch_fiber(void **, const void *, size_t);
WEAK void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);

/* A thread that runs fibers. */
struct carrier {
	ucontext_t at;
	struct walk *walk;
	struct fiber *now, *left; /* left: by one that went to another */
	void *tsan, *fake;
};

struct fiber {
	ucontext_t at;
	char *stack;
	struct walk walk;
	struct vm vm;
	struct coro *coro;
	struct carrier *on;
	bool has_begun, has_ended;
	struct weft_fiber *weft;
	void *tsan, *fake;
	const void *back;       /* the stack it came from, as it was told */
	size_t back_size;
};

static enum { TELL_WEFT, TELL_NOBODY, TELL_TSAN, TELL_ASAN } tell;
static struct fiber slots[SLOTS];
static struct fiber *ready[SLOTS];
static unsigned ready_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *script;
static __thread struct carrier carrier;

void n_fiber(struct walk *w), f_hop(struct walk *w), f_body(struct walk *w);

/* ------------------------------------------------------------- who is ready */

OUTSIDE static unsigned side(struct walk *w)
{
	w->side = w->side * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->side >> 33);
}

OUTSIDE static struct fiber *take(struct walk *w)
{
	struct fiber *f = NULL;

	pthread_mutex_lock(&lock);
	if (ready_count > 0) {
		const unsigned i = side(w) % ready_count;

		f = ready[i];
		ready[i] = ready[--ready_count];
	}
	pthread_mutex_unlock(&lock);
	return f;
}

OUTSIDE static void begin(unsigned low, unsigned high);

/* Another one begins on the same stack. */
OUTSIDE static void renew(struct fiber *f)
{
	const uint64_t me = (uintptr_t)f;

	if (tell == TELL_TSAN && f->tsan)
		__tsan_destroy_fiber(f->tsan);
	f->has_begun = f->has_ended = false;
	f->coro = book_fiber(F_f_body);
	if (tell == TELL_WEFT && weft_fiber_create)
		f->weft = weft_fiber_create();
	if (tell == TELL_TSAN && __tsan_create_fiber)
		f->tsan = __tsan_create_fiber(0);
	getcontext(&f->at);
	sigaddset(&f->at.uc_sigmask, SIGALRM);
	f->at.uc_stack.ss_sp = f->stack;
	f->at.uc_stack.ss_size = STACK_SIZE;
	f->at.uc_link = NULL;
	makecontext(&f->at, (void (*)(void))begin, 2, (unsigned)me,
		    (unsigned)(me >> 32));
}

OUTSIDE static void give(struct fiber *f)
{
	if (f->has_ended)
		renew(f);
	pthread_mutex_lock(&lock);
	ready[ready_count++] = f;
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------- switching */

/* Does a coroutine of its machine stand on the fiber's own calls? */
OUTSIDE static bool is_in_coroutine(const struct walk *w, struct fiber *f)
{
	return book_segments(w) > book_place_of(w, f->coro) + 1;
}

/* f's calls stand on what is open on this thread from now on. */
OUTSIDE static void mount(struct fiber *f, struct carrier *c)
{
	struct walk *const w = &f->walk;

	f->on = c;
	c->now = f;
	w->account = c->walk->account;
	w->thread = c->walk;
	w->budget = 16;
	w->seen[C_fiber_resume]++;
	if (book_fiber_on(w, f->coro))
		w->seen[C_fiber_moved]++;
	self = w;
	/* What is called first on a stack is its body. */
	tick_hold(w, !f->has_begun);
}

OUTSIDE static void tell_on(struct fiber *f, void **save)
{
	if (tell == TELL_WEFT && weft_fiber_switch)
		weft_fiber_switch(f->weft);
	else if (tell == TELL_TSAN && __tsan_switch_to_fiber)
		__tsan_switch_to_fiber(f->tsan, 0);
	else if (tell == TELL_ASAN && __sanitizer_start_switch_fiber)
		__sanitizer_start_switch_fiber(save, f->stack, STACK_SIZE);
}

OUTSIDE static void tell_back(struct fiber *f)
{
	if (tell == TELL_WEFT && weft_fiber_switch && f->has_ended)
		weft_fiber_destroy(f->weft);
	else if (tell == TELL_WEFT && weft_fiber_switch)
		weft_fiber_switch(NULL);
	else if (tell == TELL_TSAN && __tsan_switch_to_fiber)
		__tsan_switch_to_fiber(f->on->tsan, 0);
	else if (tell == TELL_ASAN && __sanitizer_start_switch_fiber)
		__sanitizer_start_switch_fiber(f->has_ended ? NULL : &f->fake,
			f->back, f->back_size);
}

/* First on a fiber's stack after each switch to it. */
OUTSIDE static void landed(struct fiber *f)
{
	if (tell == TELL_ASAN && __sanitizer_finish_switch_fiber)
		__sanitizer_finish_switch_fiber(f->fake, &f->back,
						&f->back_size);
	if (f->on->left) {
		give(f->on->left);
		f->on->left = NULL;
	}
}

OUTSIDE static void run(struct walk *w, struct fiber *f)
{
	struct carrier *const c = &carrier;

	c->walk = w;
	if (tell == TELL_TSAN && __tsan_get_current_fiber)
		c->tsan = __tsan_get_current_fiber();
	mount(f, c);
	tell_on(f, &c->fake);
	swapcontext(&c->at, &f->at);
	tick_hold(w, false);
	if (tell == TELL_ASAN && __sanitizer_finish_switch_fiber)
		__sanitizer_finish_switch_fiber(c->fake, NULL, NULL);
	give(c->now); /* who came back, by way of others perhaps */
}

/* Off the thread. Where the way back is told with the switch all go by it. */
OUTSIDE static void go(struct fiber *f, struct fiber *to)
{
	struct carrier *const c = f->on;

	book_fiber_off(&f->walk, f->coro, f->has_ended);
	if (to) {
		c->left = f;
		mount(to, c);
		tell_on(to, &f->fake);
	} else {
		self = c->walk;
		tell_back(f);
	}
	swapcontext(&f->at, to ? &to->at : &c->at);
	tick_hold(&f->walk, false);
	landed(f);
}

/* ------------------------------------------------------------- the calls */

PLAIN void n_fiber(struct walk *w)
{
	book_enter(w, F_n_fiber);
	struct fiber *const f = take(w);

	if (f)
		run(w, f);
	book_leave(w, F_n_fiber);
}

PLAIN void f_hop(struct walk *w)
{
	book_enter(w, F_f_hop);
	struct fiber *const f = w->fiber;
	struct fiber *to = NULL;

	w->seen[C_fiber_hop]++;
	if (is_in_coroutine(w, f))
		w->seen[C_fiber_hop_in_coroutine]++;
	if (tell != TELL_ASAN && side(w) % 4 == 0)
		to = take(w);
	go(f, to);
	book_leave(w, F_f_hop);
}

PLAIN void f_body(struct walk *w)
{
	book_enter(w, F_f_body);
	struct vm *const vm = &w->fiber->vm;

	tick_hold(w, false);
	if (!vm->main)
		vm_open(w, vm, script);
	w->vm = vm;
	w->L = vm->main;
	w->jump = NULL;
	for (unsigned i = 1 + side(w) % 3; i > 0; i--) {
		native_act(w, 0);
		if (side(w) % 2)
			f_hop(w);
		vm_resume(w);
	}
	lua_settop(vm->main, 0);
	book_leave(w, F_f_body);
}

OUTSIDE static void begin(unsigned low, unsigned high)
{
	struct fiber *const f = (struct fiber *)((uintptr_t)high << 32 | low);

	f->has_begun = true;
	landed(f);
	f_body(&f->walk);
	f->has_ended = true;
	f->walk.seen[C_fiber_ended]++;
	go(f, NULL);
}

/* ------------------------------------------------------------- for others */

OUTSIDE void fiber_act(struct walk *w)
{
	const unsigned p = side(w) % 100;

	if (w->fiber && p < (is_in_coroutine(w, w->fiber) ? 40 : 12))
		f_hop(w);
	else if (!w->fiber && p < 6)
		n_fiber(w);
}

OUTSIDE void fiber_start(struct walk *w, uint64_t seed, const char *text)
{
	script = text;
	tell = seed / 3 % 4;
	for (unsigned i = 0; i < SLOTS; i++) {
		struct fiber *const f = &slots[i];

		f->walk.fiber = f;
		f->walk.random = f->walk.side = (seed + 1) * SPREAD + i;
		f->walk.is_ticking = w->is_ticking;
		f->stack = malloc(STACK_SIZE);
		if (i % 2)
			vm_open(w, &f->vm, script);
		renew(f);
		ready[ready_count++] = f;
	}
}

/* Each has run, or there would be coroutines of which weft cannot know. Adds
 * what they saw to w's. */
OUTSIDE void fiber_stop(struct walk *w)
{
	for (int i = 0; i < SLOTS; i++) {
		struct fiber *const f = &slots[i];

		while (!f->has_begun) {
			ready_count = 0; /* nobody goes straight to another */
			run(w, f);
		}
		for (int c = 0; c < C_END; c++)
			w->seen[c] += f->walk.seen[c];
		w->skipped += f->walk.skipped;
	}
}
