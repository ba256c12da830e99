/* kernel.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool kernel_confined;

/* ---- memory ---- */

enum { ASIDE = 64 << 20, ASIDE_LEAST = 1 << 20, PAGE = 4096 };

static uint64_t aside_end;
static _Atomic uint64_t aside;

static void *map(size_t size)
{
	void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);

	return p == MAP_FAILED ? NULL : p;
}

void kernel_confine(void)
{
	const int saved = errno;
	size_t size = ASIDE;
	void *p = NULL;

	if (kernel_confined)
		return;
	while (size >= ASIDE_LEAST && !(p = map(size)))
		size /= 2;
	if (p) {
		aside_end = (uint64_t)p + size;
		atomic_store(&aside, (uint64_t)p);
	}
	kernel_confined = true;
	errno = saved;
}

/* The first look keeps the sum from growing without end. */
static void *take_aside(size_t size)
{
	uint64_t at = atomic_load(&aside);

	size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	do {
		if (at == 0 || size > aside_end - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&aside, &at, at + size));
	return (void *)at;
}

void *kernel_map(size_t size)
{
	return kernel_confined ? take_aside(size) : map(size);
}

void kernel_unmap(void *at, size_t size)
{
	if (!kernel_confined)
		munmap(at, size);
}

/* ---- threads ---- */

/* libc knows the number, and writes it into a mutex that it locks. */
uint32_t kernel_tid(void)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	if (!kernel_confined)
		return (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&m);
	return (uint32_t)m.__data.__owner;
}

/* ---- signals ---- */

/* libc's functions would leave out the signals that it uses itself. */
static uint64_t set_mask(uint64_t mask)
{
	const int saved = errno;
	uint64_t before = mask;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before,
		sizeof(mask));
	errno = saved;
	return before;
}

static uint64_t bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

struct kernel_signals kernel_hold_signals(void)
{
	const uint64_t raised = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) |
				bit(SIGFPE) | bit(SIGTRAP);
	struct kernel_signals before = { .is_held = !kernel_confined };

	if (before.is_held)
		before.blocked = set_mask(~raised);
	return before;
}

void kernel_let_signals(struct kernel_signals before)
{
	if (before.is_held)
		set_mask(before.blocked);
}
