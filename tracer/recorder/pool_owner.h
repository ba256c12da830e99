/* pool_owner.h - the pool as its maker sees it: the mapping, and private copies of
 * every number that tells where something lies, because what stands in the
 * pool itself can be overwritten by any recorded process.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_POOL_OWNER_H
#define WEFT_TRACER_RECORDER_POOL_OWNER_H

#include "tracepoints/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARENA_FOLDER "/dev/shm"

struct arena_wish {
	uint64_t bytes;            /* 0: 64 MiB or a third of what is free */
	enum pool_on_full on_full;
	bool paused, lua, native, tsc;
};

struct arena {
	struct pool *pool;
	struct pool_process *processes;
	struct pool_thread *threads;
	_Atomic uint64_t *states;
	uint64_t *small_base, *big_base;
	uint32_t process_slots, thread_slots, small, big;
	uint64_t recording;        /* the pool's random number */
	uint64_t size;
	int fd;                    /* locked by flock while we live */
	dev_t device;
	ino_t inode;
	char path[64];
};

/* Make and map the pool; every buffer is closed. 0; negative: says why. */
int arena_create(struct arena *m, const struct arena_wish *wish);

/* Give the buffers pages and open them, as far as there is room. How many of
 * the big ones are open. */
uint32_t arena_populate(struct arena *m);

/* Take the name away; recorded programs keep their mapping. */
void arena_remove(struct arena *m);

/* A new robust, process-shared mutex at that place. */
void arena_remake_mutex(pthread_mutex_t *mutex);

/* Is its owner dead? Looks at the futex word only: nothing of a mutex that a
 * recorded process can overwrite is followed. */
bool arena_owner_died(const pthread_mutex_t *mutex);
/* Is it held by somebody who lives? */
bool arena_owner_lives(const pthread_mutex_t *mutex);

/* Where everything lies in a pool of that many bytes: fills the geometry of
 * p. Negative: too small. */
int arena_layout(struct pool *p, uint64_t bytes);

static inline uint64_t *arena_buffer(const struct arena *m, uint32_t i)
{
	if (i < m->small)
		return m->small_base + (size_t)i * POOL_SMALL_WORDS;
	return m->big_base + (size_t)(i - m->small) * POOL_BIG_WORDS;
}

static inline uint32_t arena_buffer_words(const struct arena *m, uint32_t i)
{
	return i < m->small ? POOL_SMALL_WORDS : POOL_BIG_WORDS;
}

static inline uint32_t arena_buffers(const struct arena *m)
{
	return m->small + m->big;
}

#endif
