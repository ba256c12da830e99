/* p_prefork.c - "p_prefork N": N workers with three threads each; every thread
 * forks five children, one after the other, and these one each. All call flat
 * out while others begin and end. Prints the calls of all of them.
 * flags: -O1 -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

enum { THREADS = 3, CHILDREN = 5, MANY = 20000, FEW = 1000 };

static atomic_long *all; /* shared by all processes */

__attribute__((noinline)) static void work(long i)
{
	__asm__ volatile("" ::"r"(i));
}

PLAIN static void call(long n)
{
	for (long i = 0; i < n; i++)
		work(i);
	atomic_fetch_add(all, n);
}

PLAIN static void be_child(void)
{
	call(FEW);
	const pid_t pid = fork();

	if (pid == 0) {
		call(FEW);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

PLAIN static void *serve(void *unused)
{
	call(MANY);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t pid = fork();

		if (pid == 0)
			be_child();
		waitpid(pid, NULL, 0);
	}
	call(MANY);
	return unused;
}

PLAIN static void be_worker(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

PLAIN int main(int argc, char **argv)
{
	const int workers = argc > 1 ? atoi(argv[1]) : 1;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < workers; i++)
		if (fork() == 0)
			be_worker();
	while (wait(NULL) > 0)
		;
	printf("calls %ld work\n", atomic_load(all));
	return 0;
}
