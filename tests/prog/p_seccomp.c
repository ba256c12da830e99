/* p_seccomp.c - calls before and after the program gave up system calls: all
 * but four ("strict"), those a hook might make and the program does not
 * ("filter"), or one that weft makes for threads ("threads"): then threads come
 * and go, and one of them forks; or one that weft makes at the start ("start"):
 * then the program starts anew; so it does without the call by which a thread
 * waits for the recorder ("futex"), and says how often that was refused.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

int leaf(int x);
int deep(int n);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int deep(int n)
{
	return n == 0 ? 0 : leaf(deep(n - 1));
}

static int confine(const struct sock_filter *code, size_t size)
{
	const struct sock_fprog program = {
		.len = (unsigned short)(size / sizeof(*code)),
		.filter = (struct sock_filter *)code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int filter(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return confine(code, sizeof(code));
}

/* What libc does for threads. */
static int libc_only(void)
{
	static const unsigned allowed[] = {
		SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap,
		SYS_munmap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_clone,
		SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask,
		SYS_rt_sigaction, SYS_getrandom,
	};
	enum { N = sizeof(allowed) / sizeof(allowed[0]) };
	struct sock_filter code[N + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		[N + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		[N + 2] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	for (int i = 0; i < N; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
			(unsigned char)(N - i), 0);
	return confine(code, sizeof(code));
}

/* No page may be made one that a child finds wiped. */
static int no_wipe(unsigned how)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, how),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return confine(code, sizeof(code));
}

static void call(int times)
{
	for (int i = 0; i < times; i++)
		leaf(i);
}

static void *thread(void *forks)
{
	pid_t child;

	call(100);
	if (!forks)
		return NULL;
	child = fork();
	call(child == 0 ? 1000 : 100);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return NULL;
}

static int threads(void)
{
	if (no_wipe(SECCOMP_RET_KILL_PROCESS) != 0)
		return 77;
	for (int i = 0; i < 10; i++) {
		pthread_t two[2];

		for (int k = 0; k < 2; k++) {
			if (pthread_create(&two[k], NULL, thread,
					   i == 5 && k == 1 ? two : NULL) != 0)
				return 1;
		}
		for (int k = 0; k < 2; k++)
			pthread_join(two[k], NULL);
	}
	return write(1, "alive\n", 6) != 6;
}

static int crowd(void)
{
	if (libc_only() != 0)
		return 77;
	for (int i = 0; i < 20; i++) {
		pthread_t one;

		if (pthread_create(&one, NULL, thread, NULL) != 0)
			return 1;
		pthread_join(one, NULL);
	}
	return write(1, "alive\n", 6) != 6;
}

static volatile sig_atomic_t refused;

__attribute__((no_instrument_function))
static void on_refused(int s, siginfo_t *info, void *context)
{
	ucontext_t *const c = context;

	(void)s;
	(void)info;
	refused++;
#ifdef __x86_64__
	c->uc_mcontext.gregs[REG_RAX] = -EPERM;
#else
	c->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#endif
}

/* Its libc waits otherwise. */
static int no_futex(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAIT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return confine(code, sizeof(code));
}

static int without_futex(void)
{
	const struct sigaction a = { .sa_sigaction = on_refused,
				     .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &a, NULL);
	for (int i = 0; i < 2000000; i++)
		leaf(i);
	return printf("refused %d\n", (int)refused) < 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "futex") == 0)
		return no_futex() != 0 ? 77 :
		       execl("/proc/self/exe", argv[0], "without", NULL);
	if (argc > 1 && strcmp(argv[1], "without") == 0)
		return without_futex();
	const int strict = argc > 1 && strcmp(argv[1], "strict") == 0;

	call(1000);
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		return threads();
	if (argc > 1 && strcmp(argv[1], "crowd") == 0)
		_exit(crowd());
	if (argc > 1 && strcmp(argv[1], "start") == 0)
		return no_wipe(SECCOMP_RET_ERRNO | EINVAL) != 0 ? 77 :
		       execl("/proc/self/exe", argv[0], "filter", NULL);
	if ((strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) :
	     filter()) != 0)
		return 77;
	errno = 5;
	for (int i = 0; i < 100000; i++)
		leaf(i);
	if (argc > 1 && strcmp(argv[1], "deep") == 0 && deep(50000) != 50000)
		return 1;
	if (errno != 5 || write(1, "alive\n", 6) != 6)
		return 1;
	syscall(strict ? SYS_exit : SYS_exit_group, 0);
	return 1;
}
