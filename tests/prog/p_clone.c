/* p_clone.c - children made by fork, and by clone without libc's help, while
 * other threads make calls. Prints how many calls each function had.
 * flags: -finstrument-functions -pthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 30, CALLS = 20000 };

static volatile int stop;

int in_child(int x);
int in_thread(int x);

__attribute__((noinline)) int in_child(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int in_thread(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void *body(void *arg)
{
	long n = 0;

	for (; !stop; n++)
		in_thread(1);
	*(long *)arg = n;
	return NULL;
}

int main(void)
{
	pthread_t t[2];
	long n[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, body, &n[i]);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t pid = i % 2 == 0 ? fork() :
			(pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		int status;

		if (pid == 0) {
			for (int k = 0; k < CALLS; k++)
				in_child(k);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld %d\n", n[0] + n[1], CHILDREN * CALLS);
	return 0;
}
