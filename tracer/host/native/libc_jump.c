/* libc_jump.c - functions of libc that change which stack frames are alive, or where
 * code lies, wrapped: longjmp and its kin, sigaltstack, dlclose.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/thread/shadow_stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void jump_fn(struct __jmp_buf_tag *, int);

static jump_fn *real_longjmp, *real__longjmp, *real_siglongjmp, *real_chk;
static int (*real_dlclose)(void *);

/* Can this libc's jump buffers be read? Found out at the start. */
static int readable;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* The stack pointer a jump will set. glibc on x86-64 keeps it in word 6, rotated
 * and xored with the thread's pointer guard (sysdeps/x86_64/setjmp.S). */
static uint64_t target_of(const struct __jmp_buf_tag *env)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	uint64_t guard, word = (uint64_t)env->__jmpbuf[6];

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	word = word >> 17 | word << 47;
	return word ^ guard;
#else
	(void)env;
	return 0;
#endif
}

__attribute__((constructor(101))) static void begin(void)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);
	jmp_buf env;

	if (setjmp(env) == 0) {
		const uint64_t there = target_of(env);

		readable = there <= here && here - there < 65536;
	}
	real_longjmp = (jump_fn *)next("longjmp");
	real__longjmp = (jump_fn *)next("_longjmp");
	real_siglongjmp = (jump_fn *)next("siglongjmp");
	real_chk = (jump_fn *)next("__longjmp_chk");
	real_dlclose = (int (*)(void *))next("dlclose");
}

__attribute__((unused)) static void note(const struct __jmp_buf_tag *env)
{
	const int saved = errno;
	const uint64_t target = readable ? target_of(env) : 0;
	struct thread_state *s;

	if (!thread_self || target == 0)
		return;
	thread_jumped(target);
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		/* Levels above the one that goes on have nothing alive. */
		const uint64_t now = thread_clock(s);

		shadow_jump(s, target, now);
		thread_release(s);
	}
	errno = saved;
}

/* The thread sanitizer's runtime wraps these itself and calls them before it is
 * ready for code it watches: builds with it go without. */
#ifndef __SANITIZE_THREAD__
#define WRAP(name, real)                                                       \
	EXPORT void name(struct __jmp_buf_tag env[1], int value)               \
		__attribute__((noreturn));                                     \
	EXPORT void name(struct __jmp_buf_tag env[1], int value)               \
	{                                                                      \
		if (!real)                                              \
			real = (jump_fn *)next(#name);                         \
		note(env);                                                     \
		real(env, value);                                              \
		__builtin_unreachable();                                       \
	}

void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
	__attribute__((noreturn));

WRAP(longjmp, real_longjmp)
WRAP(_longjmp, real__longjmp)
WRAP(siglongjmp, real_siglongjmp)
WRAP(__longjmp_chk, real_chk)

EXPORT int sigaltstack(const stack_t *restrict ss, stack_t *restrict old)
{
	const int r = (int)syscall(SYS_sigaltstack, ss, old);

	if (r == 0 && ss) {
		const uint64_t low = (uint64_t)ss->ss_sp;
		const int off = (ss->ss_flags & SS_DISABLE) != 0;

		thread_set_alt_stack(off ? 0 : low,
				     off ? 0 : low + ss->ss_size);
	}
	return r;
}
#endif

/* Another module may be mapped where this one was, by another thread, as soon
 * as it is gone: tell before and after. */
static void module_goes(void)
{
	atomic_fetch_add(&process_module_epoch, 1);
	if (process_pool)
		atomic_fetch_add(&process_pool->generation,
				 POOL_GENERATION_STEP);
}

EXPORT int dlclose(void *handle)
{
	int r;

	if (!real_dlclose)
		real_dlclose = (int (*)(void *))next("dlclose");
	module_goes();
	r = real_dlclose(handle);
	exclude_check();
	module_goes();
	return r;
}
