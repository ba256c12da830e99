/* fiber_context.c - makecontext, swapcontext and setcontext, wrapped: contexts
 * with a stack of their own are native coroutines. A context is known by where
 * its stack pointer lies. SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/pool/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <ucontext.h>

/* makecontext takes ints; programs pass whole registers. */
enum { ARGS = 16 };

typedef uint64_t arg;
#define MANY(x) x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9),    \
		x(10), x(11), x(12), x(13), x(14), x(15)

typedef void body_fn(arg, arg, arg, arg, arg, arg, arg, arg, arg, arg, arg,
		     arg, arg, arg, arg, arg);

/* What makecontext was told. */
struct fiber_start {
	body_fn *body;
	const ucontext_t *link;
	arg args[ARGS];
};

/* Builds with a sanitizer go without: its runtime wraps these itself. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) &&         \
	(defined(__x86_64__) || defined(__aarch64__))

typedef void make_fn(ucontext_t *, void (*)(void), int, ...);
static make_fn *real_make;
static int (*real_swap)(ucontext_t *, const ucontext_t *);
static int (*real_set)(const ucontext_t *);

__attribute__((constructor(101))) static void begin(void)
{
	*(void **)&real_make = dlsym(RTLD_NEXT, "makecontext");
	*(void **)&real_swap = dlsym(RTLD_NEXT, "swapcontext");
	*(void **)&real_set = dlsym(RTLD_NEXT, "setcontext");
}

/* Other libraries' constructors may come before ours. */
INLINE void look(const void *known)
{
	if (unlikely(!known))
		begin();
}

static uint64_t sp_of(const ucontext_t *u)
{
#if defined(__x86_64__)
	return (uint64_t)u->uc_mcontext.gregs[REG_RSP];
#else
	return (uint64_t)u->uc_mcontext.sp;
#endif
}

static int lies_in(const struct fiber *f, uint64_t sp)
{
	return f && sp > f->low && sp <= f->high;
}

/* Whose context this is; NULL: the thread's own. */
static struct fiber *fiber_of(const ucontext_t *u)
{
	const uint64_t sp = sp_of(u);
	struct fiber *const f = fiber_find_at((uint64_t)u->uc_stack.ss_sp);

	if (lies_in(f, sp))
		return f;
	return lies_in(fiber_now, sp) ? fiber_now : NULL;
}

static void go_to(const ucontext_t *u, int ends, uint64_t sp)
{
	if (process_pool && u && fiber_counts(FIBER_BY_CONTEXT))
		fiber_switch(fiber_of(u), ends, sp);
}

/* The first thing that runs on the stack, and the last. */
static void run(unsigned low, unsigned high)
{
	struct fiber *const f = (struct fiber *)((uint64_t)high << 32 | low);
	const struct fiber_start start = *f->start;
	const arg *const a = start.args;

#define A(i) a[i]
	start.body(MANY(A));
#undef A
	go_to(start.link, 1, HERE);
}

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

EXPORT void makecontext(ucontext_t *u, void (*body)(void), int argc, ...)
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
	look((void *)real_make);
	if (!f)
		real_make(u, body, argc, MANY(A));
	else
		real_make(u, (void (*)(void))run, 2,
			  (unsigned)(uint64_t)f,
			  (unsigned)((uint64_t)f >> 32));
#undef A
}

EXPORT int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
	const struct fiber *const f = fiber_now;

	/* So that it is known again, wherever the program keeps it. */
	if (f && f->high != 0) {
		from->uc_stack.ss_sp = (void *)f->low;
		from->uc_stack.ss_size = f->high - f->low;
	}
	look((void *)real_swap);
	go_to(to, 0, HERE);
	return real_swap(from, to);
}

EXPORT int setcontext(const ucontext_t *to)
{
	look((void *)real_set);
	go_to(to, 0, HERE);
	return real_set(to);
}
#endif
