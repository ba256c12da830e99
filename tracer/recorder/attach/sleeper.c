/* sleeper.c - what the kernel says of a thread's call, and the loader's locks.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/sleeper.h"
#include "tracer/recorder/base/arch.h"
#include "tracer/recorder/base/proc.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if ARCH_LOADS

/* Of a stack, for a handler's frame: at a time, and at all. */
enum { LOOK_BYTES = 64 << 10, LOOK_MOST = 16 << 20 };

bool sleeper_find_libc(const struct remote *r, struct sleeper_libc *libc)
{
	/* mov $SYS_rt_sigreturn, %rax; syscall */
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0,
					    0x0f, 0x05 };
	struct remote_module m;
	uint64_t size;

	if (!remote_find(r, "ld-linux", &m))
		return false;
	libc->globals = remote_object(r, &m, "_rtld_global", &size);
	libc->globals_end = libc->globals + size;
	if (libc->globals == 0 || size > 1 << 16 ||
	    !remote_find(r, "libc.so.6", &m))
		return false;
	const size_t n = (size_t)(m.code_end - m.code);
	uint8_t *const code = n < 1 << 26 ? malloc(n) : NULL;
	const uint8_t *const at = code && remote_read(r, m.code, code, n) ?
		memmem(code, n, restorer, sizeof(restorer)) : NULL;

	libc->restorer = at ? m.code + (uint64_t)(at - code) : 0;
	free(code);
	return at != NULL;
}

static bool read_call(pid_t pid, pid_t tid, struct sleeper *c)
{
	char line[256];

	proc_line(line, sizeof(line), "/proc/%d/task/%d/syscall", (int)pid,
		   (int)tid);
	return sscanf(line, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
		      &c->number, &c->a[0], &c->a[1], &c->a[2], &c->a[3],
		      &c->a[4], &c->a[5], &c->sp, &c->pc) == 9;
}

/* Not where only the call's own end wakes it: nor would a stop. */
static bool is_wakeable(pid_t pid, pid_t tid)
{
	struct proc_stat s;

	return proc_stat(pid, tid, &s) && s.state == 'S';
}

/* Can it be begun again as if it had not been stopped? A call that has written
 * or read a part would return that part. libc's malloc makes none of them, but
 * for the wait for a lock: with that value, a mutex. With a limit, libweft.so
 * makes it, whose caller may hold any lock. */
static bool can_begin_again(const struct sleeper *c)
{
	const int wait = (int)c->a[1] & FUTEX_CMD_MASK;

	switch (c->number) {
	case SYS_futex:
		return wait == FUTEX_WAIT_BITSET ||
		       (wait == FUTEX_WAIT && (uint32_t)c->a[2] != 2 &&
			c->a[3] == 0);
	case SYS_recvfrom:
		return (c->a[3] & 0x100) == 0; /* MSG_WAITALL */
	case SYS_read: case SYS_nanosleep: case SYS_clock_nanosleep:
	case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6:
	case SYS_epoll_wait: case SYS_epoll_pwait: case 441: /* epoll_pwait2 */
	case SYS_accept: case SYS_accept4: case SYS_wait4: case SYS_waitid:
	case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
	case SYS_restart_syscall: /* one of these, stopped before */
		return true;
	default:
		return false;
	}
}

/* Would it then wait for the whole of its time once more? */
static bool waits_anew(const struct sleeper *c)
{
	switch (c->number) {
	case SYS_epoll_wait: case SYS_epoll_pwait:
		return (int)c->a[3] >= 0;
	case 441: /* epoll_pwait2 */
		return c->a[3] != 0;
	case SYS_rt_sigtimedwait:
		return c->a[2] != 0;
	default:
		return false;
	}
}

static bool has_word(const struct remote *r, uint64_t at, uint64_t end,
		     uint64_t wanted)
{
	static uint64_t words[LOOK_BYTES / 8];
	const size_t n = end - at < sizeof(words) ? end - at : sizeof(words);

	if (!remote_read(r, at, words, n))
		return true;
	for (size_t i = 0; i < n / 8; i++)
		if (words[i] == wanted)
			return true;
	return false;
}

/* A handler may have interrupted malloc. Its frame may lie anywhere on the
 * stack, whose end shows by that of the memory: where that is far, as in a
 * heap, it cannot be told. */
static bool may_be_in_handler(const struct remote *r, uint64_t sp,
			      uint64_t restorer)
{
	const uint64_t end = remote_end_at(r, sp);
	bool may = end == 0 || end - sp > LOOK_MOST;

	for (uint64_t at = sp & ~UINT64_C(7); !may && at < end;
	     at += LOOK_BYTES)
		may = has_word(r, at, end, restorer);
	return may;
}

bool sleeper_read(const struct remote *r, pid_t tid,
		  const struct sleeper_libc *libc, struct sleeper *c)
{
	if (tid <= 0 || !read_call(r->pid, tid, c) || !can_begin_again(c) ||
	    !is_wakeable(r->pid, tid) ||
	    may_be_in_handler(r, c->sp, libc->restorer))
		return false;
	c->waits_anew = waits_anew(c);
	return true;
}

/* They are recursive mutexes, and no other words of its variables look so. */
pid_t sleeper_loader_holder(const struct remote *r,
			    const struct sleeper_libc *l, pid_t tid)
{
	static int32_t words[(1 << 16) / 4];
	const size_t n = (size_t)(l->globals_end - l->globals);

	if (!remote_read(r, l->globals, words, n))
		return -1;
	for (size_t i = 0; (i + 10) * 4 <= n; i += 2) {
		const struct __pthread_mutex_s *const m = (void *)&words[i];

		if ((m->__lock == 1 || m->__lock == 2) && m->__count > 0 &&
		    m->__nusers == 1 && m->__kind == PTHREAD_MUTEX_RECURSIVE &&
		    (tid ? m->__owner == tid :
		     proc_has_thread(r->pid, m->__owner)))
			return m->__owner;
	}
	return 0;
}

bool sleeper_is_loaders(const struct sleeper_libc *l, uint64_t at)
{
	return at - l->globals < l->globals_end - l->globals;
}

#else

bool sleeper_find_libc(const struct remote *r, struct sleeper_libc *libc)
{
	(void)r;
	(void)libc;
	return false;
}

#endif
