/* p_phantom.c - writes to the pool that a process lives which there is not: the
 * mutex of the next free slot becomes "held by thread 1", its state "used".
 * With an argument it overwrites counts instead.
 * flags: -I.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	(void)argv;
	const char *const name = getenv(POOL_ENV);
	const char *const path = name ? strchr(name, '/') : NULL;
	const int fd = path ? open(path, O_RDWR) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return 3;
	struct pool *const p = mmap(NULL, (size_t)st.st_size,
				    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return 4;
	if (argc > 1) {
		atomic_store(&p->next_coroutine, 0);
		atomic_store(&p->unrecorded, UINT64_MAX);
		atomic_store(&p->unslotted_threads, UINT64_MAX / 2);
		return 0;
	}
	const uint32_t next = atomic_fetch_add(&p->next_process, 1);
	struct pool_process *const phantom = pool_process(p, next);

	*(uint32_t *)(void *)&phantom->alive = 1;
	atomic_store(&phantom->state, SLOT_USED);
	printf("slot %u lives\n", next);
	return 0;
}
