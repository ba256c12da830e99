/* libc.c - stands in for functions of libc, and for one of libgcc: those that
 * end stack frames, move code or the signal stack, or forbid system calls. Each
 * does what the library's does, and tells the thread or the process about it
 * before or after. Must not fail where the library's would not.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/module.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>

/* Of hook.c. */
HIDDEN void hook_enter(void *fn, void *site);
HIDDEN void hook_exit(void *fn, void *site);

typedef void jump_fn(struct __jmp_buf_tag *, int);

/* What ours go on to. */
#ifndef __SANITIZE_THREAD__
static void *real_longjmp, *real__longjmp, *real_siglongjmp, *real_chk;
static void *real_sigaltstack, *real_set_ip;
#endif
static void *real_dlclose, *real_prctl;

/* Can this libc's jump buffers be read? Found out at the start. */
static bool readable;
/* What libc has mixed into their words. */
static uint64_t guard;

static uint64_t word_of(const struct __jmp_buf_tag *env, int i)
{
	return arch_jump_word((uint64_t)env->__jmpbuf[i]) ^ guard;
}

/* The stack pointer a jump will set. */
static uint64_t target_of(const struct __jmp_buf_tag *env)
{
	return word_of(env, ARCH_JUMP_SP);
}

/* A jump buffer made here has this stack pointer, which tells the guard, and
 * then leads back to here; where it does not, libc keeps it in another way, and
 * jumps are found by later events. */
static void try_jump_buffer(void)
{
	const void *const here = (const void *)(uintptr_t)try_jump_buffer;
	jmp_buf env;
	uint64_t sp;

	if (setjmp(env) == 0) {
		ARCH_SP(sp);
		guard = target_of(env) ^ sp;
		readable = dynamic_module_at(here) &&
			   dynamic_module_at(here) == dynamic_module_at(
				(const void *)word_of(env, ARCH_JUMP_PC));
	}
}

/* ------------------------------------------------------------------ jumps */

/* The thread sanitizer's runtime wraps these itself and calls them before it is
 * ready for code it watches: builds with it go without. */
#ifndef __SANITIZE_THREAD__
static SLOW void record_jump(uint64_t target)
{
	const int saved = errno;
	struct thread_state *s;

	link_jumped(target);
	thread_jumped(target);
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		/* Levels above the one that goes on have nothing alive. */
		unwind_jump(s, target, chunk_clock(s));
		thread_release(s);
	}
	errno = saved;
}

/* The usual jump of a program that has Lua. */
static bool is_yield(struct thread_state *s, uint64_t target)
{
	bool is;

	if (s->busy != 0 || s->generation !=
	    atomic_load_explicit(&mapped_pool->generation,
				 memory_order_relaxed))
		return false;
	s->busy = HERE;
	barrier();
	is = unwind_is_yield(s, target);
	thread_release_hot(s);
	return is;
}

static void tell_jump(uint64_t target)
{
	struct thread_state *const s = thread_self;

	if (s && target != 0 && !is_yield(s, target))
		record_jump(target);
}

/* A stand-in for one of the functions that jump. */
#define WRAP(name, real)                                                       \
	static __attribute__((noreturn)) void our_##name(                      \
		struct __jmp_buf_tag env[1], int value)                        \
	{                                                                      \
		tell_jump(readable ? target_of(env) : 0);                      \
		((jump_fn *)real)(env, value);                                 \
		__builtin_unreachable();                                       \
	}

WRAP(longjmp, real_longjmp)
WRAP(_longjmp, real__longjmp)
WRAP(siglongjmp, real_siglongjmp)
WRAP(__longjmp_chk, real_chk)

/* The function of the unwinder's own library with that name. */
static void *of_unwinder(const char *name)
{
	const struct link_map *const map = dynamic_module_at(real_set_ip);
	struct dynamic d;

	return map && dynamic_read(&d, map) ? dynamic_find(&d, name) : NULL;
}

/* Exceptions jump, too: whoever says that one is caught, or that a destructor
 * runs, sets the address where the code goes on. The frames below have ended,
 * which clang's code does not tell. "CFA" is the stack pointer there. */
static void our__Unwind_SetIP(void *context, uint64_t ip)
{
	void *const cfa = of_unwinder("_Unwind_GetCFA");

	tell_jump(cfa ? ((uint64_t (*)(void *))cfa)(context) : 0);
	((void (*)(void *, uint64_t))real_set_ip)(context, ip);
}

/* Hooks on the signal stack have stack pointers that cannot be compared with
 * those of the thread: it must be known where that stack lies. */
static int our_sigaltstack(const stack_t *restrict ss, stack_t *restrict old)
{
	const int r = ((int (*)(const stack_t *, stack_t *))real_sigaltstack)(
		ss, old);

	if (r == 0 && ss) {
		const uint64_t low = (uint64_t)ss->ss_sp;
		const bool off = (ss->ss_flags & SS_DISABLE) != 0;

		thread_set_alt_stack(off ? 0 : low,
				     off ? 0 : low + ss->ss_size);
	}
	return r;
}
#endif

/* ---------------------------------------------------------------- modules */

/* Another module may be mapped where this one was, by another thread, as soon
 * as it is gone: told before and after. */
static void say_module_goes(void)
{
	atomic_fetch_add(&module_epoch, 1);
	if (mapped_pool)
		atomic_fetch_add(&mapped_pool->generation,
				 POOL_GENERATION_STEP);
}

static int our_dlclose(void *handle)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);
	int r;

	link_close_begin(here);
	say_module_goes();
	r = ((int (*)(void *))real_dlclose)(handle);
	link_close_end(here);
	exclude_check();
	say_module_goes();
	return r;
}

/* ---------------------------------------------------------------- seccomp
 * Programs that give up system calls, or the clock: what weft does beyond their
 * own code must not be what they are killed for. */

/* libc's has a variable number of arguments, all in registers. */
static int our_prctl(int option, unsigned long a, unsigned long b,
		     unsigned long c, unsigned long d)
{
	typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long,
			     unsigned long);

	/* Before a filter of system calls is put in place the kernel mostly
	 * wants PR_SET_NO_NEW_PRIVS, which all libraries ask for here. */
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		kernel_confine();
	/* The kernel takes the time stamp counter from a thread in seccomp's
	 * strict mode, and every system call but four: it cannot be recorded
	 * any further. */
	if (thread_self &&
	    ((option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) ||
	     (option == PR_SET_TSC && a == PR_TSC_SIGSEGV))) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_CONFINED);
		thread_end(&mapped_pool->unrecorded);
	}
	return ((prctl_fn *)real_prctl)(option, a, b, c, d);
}

/* ------------------------------------------------------------ constructors */

/* Nobody knows what they called. */
static void miss_constructors(void)
{
	if (process_ready())
		atomic_fetch_or(&process_slot->dropped, TROUBLE_CONSTRUCTORS);
}

/* ---------------------------------------------------------------- the table */

__attribute__((constructor(102))) static void begin(void)
{
	static const struct stand_in ours[] = {
#ifndef __SANITIZE_THREAD__
		{ "longjmp", (void *)our_longjmp, &real_longjmp },
		{ "_longjmp", (void *)our__longjmp, &real__longjmp },
		{ "siglongjmp", (void *)our_siglongjmp, &real_siglongjmp },
		{ "__longjmp_chk", (void *)our___longjmp_chk, &real_chk },
		{ "_Unwind_SetIP", (void *)our__Unwind_SetIP, &real_set_ip },
		{ "sigaltstack", (void *)our_sigaltstack, &real_sigaltstack },
#endif
		{ "dlclose", (void *)our_dlclose, &real_dlclose },
		{ "prctl", (void *)our_prctl, &real_prctl },
		{ "__cyg_profile_func_enter", (void *)hook_enter, NULL },
		{ "__cyg_profile_func_exit", (void *)hook_exit, NULL },
	};

	try_jump_buffer();
	if (!link_is_late())
		link_late = miss_constructors;
	stand_in_add(ours, sizeof(ours) / sizeof(ours[0]));
}
