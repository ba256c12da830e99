/* p_kill.c - four threads call without end and say in a shared file how often;
 * somebody kills the process. "p_kill [PAUSE] FILE": with so many us between
 * every 1,000 calls.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
static _Atomic uint64_t *counts;

/* Each counts itself before it ends: at most one call is begun and not yet
 * counted. */
#define WORK(i) PLAIN void work_##i(void) { counts[i * 8]++; }
void work_0(void), work_1(void), work_2(void), work_3(void);
WORK(0)
WORK(1)
WORK(2)
WORK(3)

static useconds_t pause_us;

static void *run(void *arg)
{
	static void (*const works[4])(void) = { work_0, work_1, work_2,
						work_3 };
	void (*work)(void) = works[(intptr_t)arg];

	for (;;) {
		for (int i = 0; i < (pause_us ? 1000 : 100000); i++)
			work();
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	const int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);

	pause_us = argc > 2 ? (useconds_t)atoi(argv[1]) : 0;
	if (ftruncate(fd, 4096))
		return 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	pthread_join(threads[0], NULL);
	return 0;
}
