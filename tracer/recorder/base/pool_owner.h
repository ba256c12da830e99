/* pool_owner.h - the buffer pool as its maker sees it: the mapping, and private
 * copies of all numbers that say where something lies, because any recorded
 * process can overwrite what is in the pool itself.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"

#include <sys/types.h>

#define POOL_FOLDER "/dev/shm"

/* What the pool shall be; written into it before any program starts. */
struct pool_wish {
	uint64_t bytes;            /* 0: 64 MiB, or less, as there is room */
	enum pool_on_full on_full;
	bool paused, native, waits, counts, tsc;
	uint32_t heap;             /* as in the pool */
	enum pool_lua lua;
	bool awaits;               /* recording begins with a function */
	bool verdicts;             /* functions may be left out */
	bool attached;             /* programs join that run already */
};

/* All but the contents of the mapping, is_cut, and how far it has grown is
 * fixed once the pool is made. */
struct pool_owner {
	struct pool *pool;
	struct pool_process *processes;
	struct pool_thread *threads;
	_Atomic uint64_t *states;  /* one a buffer, the small ones first */
	_Atomic uint64_t *verdicts;
	uint64_t *small_base, *big_base;
	uint32_t process_slots, thread_slots, small, big;
	uint32_t small_open;       /* so many of the small ones have pages */
	uint32_t verdict_slots;
	uint64_t recording;        /* the pool's random number */
	uint64_t size;             /* bytes */
	bool looks;                /* for ends that the kernel does not tell */
	int fd;                    /* locked by flock while we live */
	dev_t device;
	ino_t inode;
	char path[64];
	bool cannot_grow;          /* there was no room for more buffers */
	_Atomic bool is_cut;       /* a program has taken pages of the file */
};

/* Remove this user's pools whose recorder died without doing so; they stay for
 * an hour, for weft recover, where there is room. Then make and map the pool,
 * and lock its file and its recorder mutex; every buffer is closed. Prints why
 * and returns negative if it cannot. The mapping lives as long as the
 * recorder. */
int pool_owner_create(struct pool_owner *o, const struct pool_wish *wish);

/* Give the buffers pages and open them, as far as there is room. Returns how
 * many of the big ones are open; prints a line if not all are. */
uint32_t pool_owner_populate(struct pool_owner *o);

/* Open more of the small buffers, where that leaves others enough of
 * POOL_FOLDER. Returns how many; prints a line, once, if there is no room. */
uint32_t pool_owner_grow(struct pool_owner *o);

/* Of the buffers that can be used, those that are not free: percent. */
uint32_t pool_owner_fill(const struct pool_owner *o);

/* Remove the pool's name. Recorded programs keep their mapping. */
void pool_owner_remove(struct pool_owner *o);

/* Compute where everything lies in a pool of that many bytes, into p, whose
 * verdict_slots are lowered if they would take much of it. It has a small
 * buffer for each thread, of which the bytes have room for some: the rest needs
 * pages only when it is opened. most: bytes that the file may have. Returns
 * negative if that is too small. */
int pool_owner_layout(struct pool *p, uint64_t bytes, uint64_t most);

/* Whether the private copies describe parts that lie in the mapping, in order
 * and without overlap. */
bool pool_owner_valid(const struct pool_owner *o);

/* How many bytes may be taken of POOL_FOLDER: what is free, and a quarter of
 * what the control group may have, which pool, rings and program share. 0, too,
 * if the first cannot be found out. */
uint64_t pool_folder_free(void);

/* The robust mutexes of the slots. Only the futex word is read: a recorded
 * process can overwrite the rest, so none of it may be followed. Renewing is
 * for a mutex that no living thread holds. */
void pool_mutex_renew(pthread_mutex_t *mutex);
/* Whether the thread that held it has died. Stays so until it is renewed. */
bool pool_mutex_died(const pthread_mutex_t *mutex);
/* Whether a living thread holds it. */
bool pool_mutex_held(const pthread_mutex_t *mutex);
/* Where the kernel does not tell of the holder's end (pool.h): look for it, and
 * tell. */
void pool_mutex_look(pthread_mutex_t *mutex);

/* Where buffer i begins, i < pool_owner_buffers. The small buffers come first.
 * Uses the private copies, as all that the recorder does with the pool must. */
static inline uint64_t *pool_owner_buffer(const struct pool_owner *o,
					  uint32_t i)
{
	if (i < o->small)
		return o->small_base + (size_t)i * POOL_SMALL_WORDS;
	return o->big_base + (size_t)(i - o->small) * POOL_BIG_WORDS;
}

/* The size of buffer i in words, its header included. */
static inline uint32_t pool_owner_buffer_words(const struct pool_owner *o,
					       uint32_t i)
{
	return i < o->small ? POOL_SMALL_WORDS : POOL_BIG_WORDS;
}

static inline uint32_t pool_owner_buffers(const struct pool_owner *o)
{
	return o->small + o->big;
}

/* The buffer after i, without the small ones that are closed. */
static inline uint32_t pool_owner_next(const struct pool_owner *o, uint32_t i)
{
	return i + 1 == o->small_open ? o->small : i + 1;
}
