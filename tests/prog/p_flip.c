/* p_flip.c - changes verdicts while a program is recorded: "p_flip POOL SEED";
 * POOL is as WEFT_POOL has it. Each function that has a verdict gets it at
 * random moments, and is recorded at others. Ends when it is killed.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EVERY_US = 500, KNOWN = 1024 };

/* The functions that have a verdict, at the places where they are found. */
static struct { uint32_t at; uint64_t word; } known[KNOWN];
static unsigned count;

static void look(const _Atomic uint64_t *table, uint32_t slots)
{
	for (uint32_t i = 0; i < slots && count < KNOWN; i++) {
		unsigned k = 0;

		while (k < count && known[k].at != i)
			k++;
		if (k == count && (table[i] & VERDICT_BITS) != 0) {
			known[count].at = i;
			known[count++].word = table[i];
		}
	}
}

int main(int argc, char **argv)
{
	const char *const path = argc < 3 ? NULL : strchr(argv[1], '/');
	const int fd = !path ? -1 : open(path, O_RDWR);
	const struct pool *head = fd < 0 ? MAP_FAILED :
		mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, fd, 0);
	struct pool *pool = head == MAP_FAILED ? MAP_FAILED :
		mmap(NULL, head->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     0);
	_Atomic uint64_t *table;

	if (pool == MAP_FAILED || pool->verdict_slots == 0) {
		fprintf(stderr, "flip: no pool with verdicts: %s\n", argv[1]);
		return 1;
	}
	table = (void *)((char *)pool + pool->verdict_offset);
	srand((unsigned)atoi(argv[2]));
	for (;;) {
		look(table, pool->verdict_slots);
		for (unsigned i = 0; i < count; i++)
			table[known[i].at] = rand() % 2 ? known[i].word :
				known[i].word & ~(uint64_t)VERDICT_BITS;
		pool->cut_before = INT64_MAX;
		pool->generation += POOL_GENERATION_STEP;
		usleep(EVERY_US);
	}
}
