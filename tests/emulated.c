/* emulated.c - what qemu's emulation of a process lacks and tests need, in a
 * library that tests/in-debian.sh has loaded into every program of a Debian of
 * another architecture. clone with CLONE_PARENT: weft record makes the program
 * a child of its launcher by that, which then tells how it has ended. Here the
 * program is a child of the recorder, who learns the same when it asks. And
 * MADV_DONTFORK.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t program;

/* As launcher.h has it. */
struct news {
	int signal_number, status;
};

ssize_t recv(int socket, void *to, size_t size, int flags)
{
	struct news *const news = to;

	if (program > 0 && flags == MSG_DONTWAIT && size == sizeof(*news) &&
	    waitpid(program, &news->status, WNOHANG) == program) {
		news->signal_number = SIGCHLD;
		program = 0;
		return sizeof(*news);
	}
	return recvfrom(socket, to, size, flags, NULL, NULL);
}

/* What tells of the program is the first that is waited for. */
int poll(struct pollfd *in, nfds_t n, int ms)
{
	for (;;) {
		const int slice = program <= 0 || (ms >= 0 && ms < 10) ? ms :
				  10;
		const struct timespec most = { slice / 1000,
					       slice % 1000 * 1000000 };
		siginfo_t end = { .si_pid = 0 };
		const int r = ppoll(in, n, slice < 0 ? NULL : &most, NULL);

		if (program > 0 && n > 0 &&
		    waitid(P_PID, (id_t)program, &end, WEXITED | WNOHANG |
			   WNOWAIT) == 0 && end.si_pid == program) {
			in[0].revents |= POLLIN;
			return r > 0 ? r : 1;
		}
		if (r != 0 || slice == ms)
			return r;
		ms -= ms < 0 ? 0 : slice;
	}
}

/* MADV_DONTFORK, of one piece of memory: a child that maps the pool is taken
 * for a recorded process. */
static void *not_forked;
static size_t not_forked_size;

static void unmap(void)
{
	if (not_forked)
		munmap(not_forked, not_forked_size);
}

int madvise(void *at, size_t size, int advice)
{
	if (advice != MADV_DONTFORK)
		return (int)syscall(SYS_madvise, at, size, advice);
	if (!not_forked)
		pthread_atfork(NULL, NULL, unmap);
	not_forked = at;
	not_forked_size = size;
	return 0;
}

/* libc's, but for that. */
long syscall(long number, ...)
{
	register long r8 __asm__("x8") = number;
	register long r0 __asm__("x0"), r1 __asm__("x1"), r2 __asm__("x2"),
		r3 __asm__("x3"), r4 __asm__("x4"), r5 __asm__("x5");
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_clone && (a[0] & CLONE_PARENT) != 0)
		return program = fork();
	r0 = a[0];
	r1 = a[1];
	r2 = a[2];
	r3 = a[3];
	r4 = a[4];
	r5 = a[5];
	__asm__ volatile("svc 0" : "+r"(r0)
			 : "r"(r8), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
			 : "memory");
	if (r0 < 0 && r0 > -4096) {
		errno = (int)-r0;
		return -1;
	}
	return r0;
}
