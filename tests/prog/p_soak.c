/* p_soak.c - "p_soak SECONDS": a server for so long. Two threads call busy()
 * again and again; the main thread starts a short thread and a child, waits for
 * both, and begins anew. Prints how many there were.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_over;

void busy(void)
{
	__asm__ volatile("");
}

void request(void)
{
	for (int i = 0; i < 1000; i++)
		busy();
}

static void *serve(void *unused)
{
	while (!is_over) {
		request();
		usleep(1000);
	}
	return unused;
}

static void *once(void *unused)
{
	request();
	return unused;
}

static void short_lived(void)
{
	const pid_t child = fork();
	pthread_t thread;

	if (child == 0) {
		request();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child ||
	    pthread_create(&thread, NULL, once, NULL) != 0)
		exit(1);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	pthread_t threads[2];
	unsigned children = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (; time(NULL) < end; children++) {
		short_lived();
		usleep(10000);
	}
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("children %u\n", children);
	return 0;
}
