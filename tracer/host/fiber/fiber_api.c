/* fiber_api.c - switches of native coroutines that the program tells of: by
 * weft.h, or by the calls it makes for the sanitizers, where none is loaded.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/api/weft.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

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

static void go(struct fiber *f, enum fiber_by who, uint64_t sp)
{
	if (f && f->magic != FIBER_MAGIC)
		f = NULL;
	if (process_pool && fiber_counts(who))
		fiber_switch(f, 0, sp);
}

static void drop(struct fiber *f, uint64_t sp)
{
	if (!f || f->magic != FIBER_MAGIC)
		return;
	if (f == fiber_now)
		fiber_switch(NULL, 1, sp);
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

/* ------------------------------------------------------------- sanitizers */

/* In a build with a sanitizer these are its own. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void *__tsan_get_current_fiber(void);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __sanitizer_start_switch_fiber(void **save, const void *bottom,
				    size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom,
				     size_t *size);

/* A runtime that is loaded has them too: it is passed everything on, and its
 * calls say nothing to us. */
static struct {
	void *(*create)(unsigned);
	void (*destroy)(void *);
	void (*switch_to)(void *, unsigned);
	void *(*current)(void);
	void (*set_name)(void *, const char *);
	void (*start)(void **, const void *, size_t);
	void (*finish)(void *, const void **, size_t *);
} real;

__attribute__((constructor(101))) static void begin(void)
{
	*(void **)&real.create = dlsym(RTLD_NEXT, "__tsan_create_fiber");
	*(void **)&real.destroy = dlsym(RTLD_NEXT, "__tsan_destroy_fiber");
	*(void **)&real.switch_to = dlsym(RTLD_NEXT,
					  "__tsan_switch_to_fiber");
	*(void **)&real.current = dlsym(RTLD_NEXT,
					"__tsan_get_current_fiber");
	*(void **)&real.set_name = dlsym(RTLD_NEXT, "__tsan_set_fiber_name");
	*(void **)&real.start = dlsym(RTLD_NEXT,
				      "__sanitizer_start_switch_fiber");
	*(void **)&real.finish = dlsym(RTLD_NEXT,
				       "__sanitizer_finish_switch_fiber");
}

EXPORT void *__tsan_create_fiber(unsigned flags)
{
	return real.create != NULL ? real.create(flags) :
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

/* What stands for the thread's own stack where a program asks for it. */
static __thread struct fiber own = { .magic = FIBER_OWN };

EXPORT void *__tsan_get_current_fiber(void)
{
	if (real.current)
		return real.current();
	return fiber_now != NULL ? fiber_now : &own;
}

EXPORT void __tsan_set_fiber_name(void *fiber, const char *name)
{
	if (real.set_name)
		real.set_name(fiber, name);
}

/* The stack a thread was born with, as far as it matters to whom it is told:
 * they give it back to say that they switch to it. */
enum { OWN_SIZE = 8 << 20 };

static uint64_t own_high(void)
{
	extern void *__libc_stack_end;
	static __thread uint64_t high;

	if (high == 0)
		high = getpid() == gettid() ?
		       (uint64_t)__libc_stack_end : (uint64_t)pthread_self();
	return high;
}

/* The stack that the thread is on. */
static __thread const void *came_from;
static __thread size_t came_from_size;

static void note_left(void)
{
	const struct fiber *const f = fiber_now;
	const uint64_t high = own_high();

	came_from = (const void *)(f && f->high != 0 ? f->low :
				   high - OWN_SIZE);
	came_from_size = f && f->high != 0 ? f->high - f->low :
			 OWN_SIZE + 1;
}

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
	if (!process_pool || !fiber_counts(FIBER_BY_ASAN))
		return;
	if (high < low || high - low > size) {
		f = fiber_at(low);
		if (f)
			f->high = low + size;
	}
	fiber_switch(f, !save, HERE);
}

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
#endif
