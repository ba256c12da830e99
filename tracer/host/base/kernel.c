/* kernel.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool kernel_confined, kernel_loads;

/* ---- ticks ---- */

/* Numbers of timers, and 1 more; 0: free. */
enum { TICKING = 1024 };
static _Atomic int ticking[TICKING];

static bool enter_timer(int from, int to)
{
	for (int i = 0; i < TICKING; i++) {
		int old = from;

		if (atomic_compare_exchange_strong(&ticking[i], &old, to))
			return true;
	}
	return false;
}

int kernel_tick_begin(int signal, uint64_t ns, const void *cookie)
{
	const struct timespec each = { (time_t)(ns / 1000000000),
				       (long)(ns % 1000000000) };
	const struct itimerspec when = { each, each };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = signal };
	sigset_t blocked;
	int timer;

	event.sigev_value.sival_ptr = (void *)(uintptr_t)cookie;
	event._sigev_un._tid = (int)kernel_tid();
	if (kernel_confined || sigprocmask(SIG_BLOCK, NULL, &blocked) != 0 ||
	    sigismember(&blocked, signal) ||
	    syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event,
		    &timer) != 0)
		return -1;
	if (enter_timer(0, timer + 1) &&
	    syscall(SYS_timer_settime, timer, 0, &when, NULL) == 0)
		return timer;
	kernel_tick_end(timer);
	return -1;
}

void kernel_tick_end(int timer)
{
	if (!kernel_confined)
		syscall(SYS_timer_delete, timer);
	enter_timer(timer + 1, 0);
}

void kernel_ticks_forget(void)
{
	for (int i = 0; i < TICKING; i++)
		atomic_store(&ticking[i], 0);
}

void kernel_ticks_end(void)
{
	for (int i = 0; i < TICKING; i++) {
		const int timer = atomic_exchange(&ticking[i], 0) - 1;

		if (timer >= 0)
			syscall(SYS_timer_delete, timer);
	}
}

bool kernel_handle(int signal, kernel_handler *handler)
{
	struct sigaction old, new = { .sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	if (kernel_confined || sigaction(signal, NULL, &old) != 0)
		return false;
	if ((old.sa_flags & SA_SIGINFO) && old.sa_sigaction == handler)
		return true;
	if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
		return false;
	sigfillset(&new.sa_mask);
	return sigaction(signal, &new, NULL) == 0;
}

bool kernel_unhandle(int signal, kernel_handler *handler)
{
	struct sigaction old, none = { .sa_handler = SIG_DFL };

	return !kernel_confined && sigaction(signal, NULL, &old) == 0 &&
	       (old.sa_flags & SA_SIGINFO) && old.sa_sigaction == handler &&
	       sigaction(signal, &none, NULL) == 0;
}

struct kernel_prof kernel_prof(void)
{
	struct kernel_prof p = { .is_known = !kernel_confined };

	if (p.is_known)
		p.is_known = sigaction(SIGPROF, NULL, &p.action) == 0 &&
			     getitimer(ITIMER_PROF, &p.timer) == 0;
	return p;
}

void kernel_prof_restore(const struct kernel_prof *p)
{
	if (!p->is_known || kernel_confined)
		return;
	sigaction(SIGPROF, &p->action, NULL);
	setitimer(ITIMER_PROF, &p->timer, NULL);
}

/* ---- memory ---- */

enum { ASIDE = 64 << 20, ASIDE_LEAST = 1 << 20, PAGE = 4096 };
enum { PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

static uint64_t aside_end;
static _Atomic uint64_t aside;

static void *map(void *at, size_t size, int flags, int file)
{
	void *const p = mmap(at, size, PROT_READ | PROT_WRITE, flags, file, 0);

	return p == MAP_FAILED ? NULL : p;
}

void kernel_confine(void)
{
	const int saved = errno;
	size_t size = ASIDE;
	void *p = NULL;

	if (kernel_confined)
		return;
	kernel_ticks_end();
	while (size >= ASIDE_LEAST && !(p = map(NULL, size, PRIVATE, -1)))
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
	return kernel_confined ? take_aside(size) :
	       map(NULL, size, PRIVATE, -1);
}

void kernel_unmap(void *at, size_t size)
{
	if (!kernel_confined)
		munmap(at, size);
}

void kernel_drop(void *at, size_t size)
{
	if (!kernel_confined)
		madvise(at, size, MADV_DONTNEED);
}

bool kernel_map_over(void *at, size_t size)
{
	return !kernel_confined && map(at, size, PRIVATE | MAP_FIXED, -1);
}

bool kernel_wipe_on_fork(void *at, size_t size)
{
	return !kernel_confined && madvise(at, size, MADV_WIPEONFORK) == 0;
}

bool kernel_protect(uint64_t from, uint64_t to, bool is_writable)
{
	return (!kernel_confined || kernel_loads) &&
	       mprotect((void *)from, to - from, PROT_READ |
			(is_writable ? PROT_WRITE : 0)) == 0;
}

/* The kernel reads a signal set before it looks at what to do with it, and 9 is
 * nothing it can do: the error is EINVAL if the set could be read, else EFAULT.
 * This takes a tenth of the time of process_vm_readv. */
bool kernel_can_read(const void *at)
{
	const int saved = errno;
	const bool is_there = !kernel_confined &&
		(uintptr_t)at >= 8 && /* 0: "no set" */
		syscall(SYS_rt_sigprocmask, 9, (uintptr_t)at & ~(uintptr_t)7,
			NULL, 8) != 0 && errno == EINVAL;

	errno = saved;
	return is_there;
}

/* ---- files ---- */

int kernel_open(const char *path, int flags)
{
	return kernel_confined ? -1 :
	       (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}

long kernel_read(int file, void *to, size_t size)
{
	return kernel_confined ? -1 : syscall(SYS_read, file, to, size);
}

void kernel_close(int file)
{
	if (!kernel_confined)
		syscall(SYS_close, file);
}

bool kernel_stat(int file, struct stat *about)
{
	return !kernel_confined && fstat(file, about) == 0;
}

void *kernel_map_file(int file, size_t size, void *place)
{
	return kernel_confined ? NULL :
	       map(place, size, MAP_SHARED | (place ? MAP_FIXED : 0), file);
}

/* ---- processes and threads ---- */

char kernel_program[512];
static uint32_t pid;

/* That all this is allowed is sure at the start alone. */
__attribute__((constructor(102))) static void begin(void)
{
	const int saved = errno;

	if (readlink("/proc/self/exe", kernel_program,
		     sizeof(kernel_program) - 1) < 0)
		kernel_program[0] = '\0';
	pid = (uint32_t)getpid();
	errno = saved;
}

/* libc knows the number, and writes it into a mutex that it locks. */
uint32_t kernel_tid(void)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	if (!kernel_confined)
		return (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&m);
	return (uint32_t)m.__data.__owner;
}

uint32_t kernel_pid(void)
{
	return kernel_confined ? pid : (uint32_t)getpid();
}

/* The thread that forked is the first of the child. */
void kernel_forked(void)
{
	pid = kernel_tid();
}

void kernel_thread_name(char name[16])
{
	if (!kernel_confined)
		syscall(SYS_prctl, PR_GET_NAME, name);
}

void kernel_signal_stack(uint64_t *low, uint64_t *high)
{
	stack_t alt;

	*low = *high = 0;
	if (!kernel_confined && syscall(SYS_sigaltstack, NULL, &alt) == 0 &&
	    !(alt.ss_flags & SS_DISABLE)) {
		*low = (uint64_t)alt.ss_sp;
		*high = *low + alt.ss_size;
	}
}

bool kernel_has_robust_list(void)
{
	struct robust_list_head *known;
	size_t size;

	return kernel_confined ||
	       syscall(SYS_get_robust_list, 0, &known, &size) != 0 || known;
}

bool kernel_set_robust_list(struct robust_list_head *list)
{
	return !kernel_confined &&
	       syscall(SYS_set_robust_list, list, sizeof(*list)) == 0;
}

uint64_t kernel_cpu(void)
{
	return kernel_confined ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Wrapped functions of libc would be places to be cancelled at. */
bool kernel_wait(const _Atomic uint32_t *word, uint32_t seen)
{
	const struct timespec most = { 0, 100000000 };

	if (!kernel_confined &&
	    (syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0) == 0 ||
	     errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR))
		return true;
	kernel_yield();
	return false;
}

void kernel_yield(void)
{
	if (!kernel_confined)
		sched_yield();
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
