/* fiber_api.c - who tells of switches of native coroutines: the program itself,
 * by weft.h or by the calls it makes for the sanitizers, and libc's contexts.
 * Each way ends in fiber_switch, which does the work; this file only finds out
 * which fiber is meant.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/weft.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <ucontext.h>

/* ----------------------------------------------------------------- weft.h */

/* A fiber that the program asks for. NULL: it is not recorded, there is no
 * memory, or a more reliable source tells of switches. */
static struct fiber *make(enum fiber_by who, uint64_t sp)
{
	const int saved = errno;
	struct fiber *const f = process_ready() && fiber_counts(who) ?
				fiber_new() : NULL;

	if (f)
		fiber_create(f, sp);
	errno = saved;
	return f;
}

/* A handle that is none of a fiber stands for the thread's own stack. */
static void go(struct fiber *f, enum fiber_by who, uint64_t sp)
{
	if (f && f->magic != FIBER_MAGIC)
		f = NULL;
	if (mapped_pool && fiber_counts(who))
		fiber_switch(f, false, sp);
}

/* The program gives the fiber up. If it runs, this is its last switch. */
static void drop(struct fiber *f, uint64_t sp)
{
	if (!f || f->magic != FIBER_MAGIC)
		return;
	if (f == fiber_now)
		fiber_switch(NULL, true, sp);
	fiber_free(f);
}

EXPORT struct weft_fiber *weft_fiber_create(void)
{
	return (struct weft_fiber *)make(FIBER_BY_API, HERE);
}

EXPORT void weft_fiber_switch(struct weft_fiber *fiber)
{
	go((struct fiber *)fiber, FIBER_BY_API, HERE);
}

EXPORT void weft_fiber_destroy(struct weft_fiber *fiber)
{
	drop((struct fiber *)fiber, HERE);
}

EXPORT unsigned long long weft_fiber_coroutine(const struct weft_fiber *fiber)
{
	const struct fiber *const f = !fiber ? fiber_now :
				      (const struct fiber *)fiber;

	return !f || f->magic != FIBER_MAGIC ? 0 : f->serial;
}

/* In a build with a sanitizer all that follows is its runtime's. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

/* ------------------------------------------------------------- sanitizers */

void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void *__tsan_get_current_fiber(void);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __sanitizer_start_switch_fiber(void **save, const void *bottom,
				    size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom,
				     size_t *size);

/* If a sanitizer's runtime is loaded its functions do the work, and what is
 * told to them is not used. */
static struct {
	void *(*create)(unsigned);
	void (*destroy)(void *);
	void (*switch_to)(void *, unsigned);
	void *(*current)(void);
	void (*set_name)(void *, const char *);
	void (*start)(void **, const void *, size_t);
	void (*finish)(void *, const void **, size_t *);
} real;

__attribute__((constructor(102))) static void find_runtime(void)
{
	real.create = (void *(*)(unsigned))
		link_elsewhere("__tsan_create_fiber");
	real.destroy = (void (*)(void *))
		link_elsewhere("__tsan_destroy_fiber");
	real.switch_to = (void (*)(void *, unsigned))
		link_elsewhere("__tsan_switch_to_fiber");
	real.current = (void *(*)(void))
		link_elsewhere("__tsan_get_current_fiber");
	real.set_name = (void (*)(void *, const char *))
		link_elsewhere("__tsan_set_fiber_name");
	real.start = (void (*)(void **, const void *, size_t))
		link_elsewhere("__sanitizer_start_switch_fiber");
	real.finish = (void (*)(void *, const void **, size_t *))
		link_elsewhere("__sanitizer_finish_switch_fiber");
}

EXPORT void *__tsan_create_fiber(unsigned flags)
{
	return real.create ? real.create(flags) :
	       make(FIBER_BY_TSAN, HERE);
}

EXPORT void __tsan_destroy_fiber(void *fiber)
{
	if (real.destroy)
		real.destroy(fiber);
	else
		drop(fiber, HERE);
}

EXPORT void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
	if (real.switch_to)
		real.switch_to(fiber, flags);
	else
		go(fiber, FIBER_BY_TSAN, HERE);
}

/* A handle for the thread's own stack. */
static __thread struct fiber own = { .magic = FIBER_OWN };

EXPORT void *__tsan_get_current_fiber(void)
{
	if (real.current)
		return real.current();
	return fiber_now ? fiber_now : &own;
}

EXPORT void __tsan_set_fiber_name(void *fiber, const char *name)
{
	if (real.set_name)
		real.set_name(fiber, name);
}

/* The bounds of the stack that a thread was born with, roughly: programs
 * hand them back to say that they switch to it. */
enum { OWN_SIZE = 8 << 20 };

/* An address near the upper end of the thread's own stack: where the kernel
 * began that of the first thread; elsewhere the thread descriptor, which libc
 * puts at the stack's upper end. */
static uint64_t own_high(void)
{
	extern void *__libc_stack_end;
	static __thread uint64_t high;

	if (high == 0)
		high = kernel_tid() == kernel_pid() ?
		       (uint64_t)__libc_stack_end : (uint64_t)pthread_self();
	return high;
}

/* The stack that the thread has left last. */
static __thread const void *came_from;
static __thread size_t came_from_size;

/* To be called before the switch. What the stack was is asked for after it. */
static void note_left(void)
{
	const struct fiber *const f = fiber_now;
	const uint64_t high = own_high();

	came_from = (const void *)(f && f->high != 0 ? f->low :
				   high - OWN_SIZE);
	came_from_size = f && f->high != 0 ? f->high - f->low :
			 OWN_SIZE + 1;
}

/* bottom is the lowest address of the stack to go to. save: NULL if the stack
 * that is left will not be used again. A stack in which the thread's own lies
 * is that one, not a fiber's. */
EXPORT void __sanitizer_start_switch_fiber(void **save, const void *bottom,
					   size_t size)
{
	const uint64_t low = (uint64_t)bottom, high = own_high();
	struct fiber *f = NULL;

	if (real.start) {
		real.start(save, bottom, size);
		return;
	}
	note_left();
	if (save)
		*save = NULL;
	if (!mapped_pool || !fiber_counts(FIBER_BY_ASAN))
		return;
	if (high < low || high - low > size) {
		f = fiber_at(low);
		if (f)
			f->high = low + size;
	}
	fiber_switch(f, !save, HERE);
}

/* Runs on the new stack. Switches were told of at the start, so all that is
 * left to do is to say which stack was left. */
EXPORT void __sanitizer_finish_switch_fiber(void *save, const void **bottom,
					    size_t *size)
{
	if (real.finish) {
		real.finish(save, bottom, size);
		return;
	}
	if (bottom)
		*bottom = came_from;
	if (size)
		*size = came_from_size;
}

/* ---------------------------------------------------------------- contexts
 * Contexts with a stack of their own are native coroutines. A context is
 * known by where its stack pointer lies. */

/* makecontext is said to take ints, but programs pass whole registers. */
enum { ARGS = 16 };

typedef uint64_t arg;
#define MANY(x) x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9),    \
		x(10), x(11), x(12), x(13), x(14), x(15)

typedef void body_fn(arg, arg, arg, arg, arg, arg, arg, arg, arg, arg, arg,
		     arg, arg, arg, arg, arg);

/* The arguments of makecontext. They belong to the fiber object and are used
 * again with it. */
struct fiber_start {
	body_fn *body;
	const ucontext_t *link;
	arg args[ARGS];
};

typedef void make_fn(ucontext_t *, void (*)(void), int, ...);
typedef int swap_fn(ucontext_t *, const ucontext_t *);
typedef int set_fn(const ucontext_t *);

/* What ours go on to. */
static void *real_make, *real_swap, *real_set;

/* A stack grows down: its upper end is where it begins, empty. */
static bool lies_in(const struct fiber *f, uint64_t sp)
{
	return f && sp > f->low && sp <= f->high;
}

/* Whose context this is; NULL: the thread's own. A context that getcontext
 * filled need not say which stack it is on, so the running fiber is tried as
 * well. */
static struct fiber *fiber_of(const ucontext_t *u)
{
	const uint64_t sp = (uint64_t)ARCH_CONTEXT_SP(u);
	struct fiber *const f = fiber_find_at((uint64_t)u->uc_stack.ss_sp);

	if (lies_in(f, sp))
		return f;
	return lies_in(fiber_now, sp) ? fiber_now : NULL;
}

/* u: the context to go to; NULL, after the last function: the thread ends. */
static void go_to(const ucontext_t *u, bool ends, uint64_t sp)
{
	if (mapped_pool && u && fiber_counts(FIBER_BY_CONTEXT))
		fiber_switch(fiber_of(u), ends, sp);
}

/* Runs on the stack first and last, around the function that makecontext was
 * given: so the end of a context is seen, which needs no call of the program.
 * The fiber comes in two halves, as arguments are said to be ints. start is
 * copied, because the function may use its own context anew. */
static void run(unsigned low, unsigned high)
{
	struct fiber *const f = (struct fiber *)((uint64_t)high << 32 | low);
	const struct fiber_start start = *f->start;
	const arg *const a = start.args;

#define A(i) a[i]
	start.body(MANY(A));
#undef A
	go_to(start.link, true, HERE);
}

/* The fiber of a new context, with what run needs; NULL: no memory, and the
 * context is not recorded. A running fiber that makes its own context anew
 * stays what it is. */
static struct fiber *note_made(const ucontext_t *u, body_fn *body, int argc,
			       const arg *args)
{
	struct fiber *const f = fiber_at((uint64_t)u->uc_stack.ss_sp);
	struct fiber_start *start;

	if (!f)
		return NULL;
	if (!f->start)
		f->start = memory_get(sizeof(*f->start));
	start = (struct fiber_start *)f->start;
	if (!start)
		return NULL;
	if (f != fiber_now)
		fiber_renew(f);
	f->high = f->low + u->uc_stack.ss_size;
	start->body = body;
	start->link = u->uc_link;
	for (int i = 0; i < argc; i++)
		start->args[i] = args[i];
	return f;
}

/* With more arguments than run can pass on, it is left to libc. */
static void our_makecontext(ucontext_t *u, void (*body)(void), int argc, ...)
{
	struct fiber *f = NULL;
	arg a[ARGS] = { 0 };
	va_list ap;

	va_start(ap, argc);
	for (int i = 0; i < argc && i < ARGS; i++)
		a[i] = va_arg(ap, arg);
	va_end(ap);
	if (process_ready() && argc >= 0 && argc <= ARGS)
		f = note_made(u, (body_fn *)body, argc, a);
#define A(i) a[i]
	if (!f)
		((make_fn *)real_make)(u, body, argc, MANY(A));
	else
		((make_fn *)real_make)(u, (void (*)(void))run, 2,
				       (unsigned)(uint64_t)f,
				       (unsigned)((uint64_t)f >> 32));
#undef A
}

static int our_swapcontext(ucontext_t *restrict from,
			   const ucontext_t *restrict to)
{
	const struct fiber *const f = fiber_now;

	/* So that fiber_of knows it again, wherever the program keeps it. */
	if (f && f->high != 0) {
		from->uc_stack.ss_sp = (void *)f->low;
		from->uc_stack.ss_size = f->high - f->low;
	}
	go_to(to, false, HERE);
	return ((swap_fn *)real_swap)(from, to);
}

/* The context that is left may still be used: whoever saved it may come
 * back. */
static int our_setcontext(const ucontext_t *to)
{
	go_to(to, false, HERE);
	return ((set_fn *)real_set)(to);
}

__attribute__((constructor(102))) static void begin(void)
{
	static const struct stand_in ours[] = {
		{ "makecontext", (void *)our_makecontext, &real_make },
		{ "swapcontext", (void *)our_swapcontext, &real_swap },
		{ "setcontext", (void *)our_setcontext, &real_set },
	};

	stand_in_add(ours, sizeof(ours) / sizeof(ours[0]));
}
#endif
