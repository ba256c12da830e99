/* p_seccomp.c - calls before and after the program gave up system calls: all
 * but four ("strict"), or those a hook might make and the program does not.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int leaf(int x);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
	const int strict = argc > 1 && strcmp(argv[1], "strict") == 0;

	for (int i = 0; i < 1000; i++)
		leaf(i);
	if ((strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) :
	     filter()) != 0)
		return 77;
	errno = 5;
	for (int i = 0; i < 100000; i++)
		leaf(i);
	if (errno != 5 || write(1, "alive\n", 6) != 6)
		return 1;
	syscall(strict ? SYS_exit : SYS_exit_group, 0);
	return 1;
}
