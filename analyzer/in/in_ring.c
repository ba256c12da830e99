/* in_ring.c - chunks from a reading process to its parent, through memory both
 * share: one fills slots while the other works on those that are full. Knows
 * words; knows nothing of where they come from.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_ring.h"

#include "analyzer/base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct in_ring *in_ring_new(void)
{
	struct in_ring *const r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED) {
		err_add("no memory to share: %s", strerror(errno));
		return NULL;
	}
	sem_init(&r->filled, 1, 0);
	sem_init(&r->empty, 1, IN_RING_SLOTS);
	return r;
}

void in_ring_free(struct in_ring *r)
{
	if (!r)
		return;
	sem_destroy(&r->filled);
	sem_destroy(&r->empty);
	munmap(r, sizeof(*r));
}

uint64_t *in_ring_room(struct in_ring *r)
{
	while (sem_wait(&r->empty) && errno == EINTR)
		;
	return r->words[r->put % IN_RING_SLOTS];
}

void in_ring_put(struct in_ring *r, size_t n)
{
	r->n[r->put++ % IN_RING_SLOTS] = (uint32_t)n;
	sem_post(&r->filled);
}

static struct timespec after(int milliseconds)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += milliseconds / 1000;
	at.tv_nsec += milliseconds % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

int in_ring_get(struct in_ring *r, int milliseconds, const uint64_t **words,
		size_t *n)
{
	const uint32_t slot = r->got % IN_RING_SLOTS;

	if (sem_trywait(&r->filled)) {
		const struct timespec until = after(milliseconds);
		int rc;

		do
			rc = sem_clockwait(&r->filled, CLOCK_MONOTONIC, &until);
		while (rc && errno == EINTR);
		if (rc)
			return 0;
	}
	*n = r->n[slot];
	*words = r->words[slot];
	if (*n > CHUNK_MAX_WORDS)
		*n = CHUNK_MAX_WORDS;
	return *n ? 1 : -1;
}

void in_ring_done(struct in_ring *r)
{
	r->got++;
	sem_post(&r->empty);
}
