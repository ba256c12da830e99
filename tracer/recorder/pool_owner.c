/* pool_owner.c - makes the pool: the file, its layout, its mutexes, its pages.
 * Knows nothing of what is done with the buffers.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/message.h"
#include "tracer/recorder/pool_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE = 4096,
	SMALL_BYTES = POOL_SMALL_WORDS * 8,
	BIG_BYTES = POOL_BIG_WORDS * 8,
	MAX_SMALL = 1024,
	MAX_THREADS = 8192,
	MAX_PROCESSES = 1024,
	DEFAULT_BYTES = 64 << 20,
	SMALLEST_BYTES = 1 << 20,
	SLICE = 16,                 /* big buffers populated at once */
};

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint32_t within(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

int arena_layout(struct pool *p, uint64_t bytes)
{
	/* 1,000 idle threads cost 8 of 64 MiB. */
	const uint32_t small = within(bytes / 8 / SMALL_BYTES, 8, MAX_SMALL);
	uint64_t at = whole_pages(sizeof(*p));

	if (bytes < SMALLEST_BYTES)
		return -1;
	p->thread_slots = within(bytes / SMALL_BYTES, 64, MAX_THREADS);
	p->process_slots = within(bytes / 65536, 16, MAX_PROCESSES);
	p->process_offset = at;
	at += whole_pages(p->process_slots * sizeof(struct pool_process));
	p->thread_offset = at;
	at += whole_pages(p->thread_slots * sizeof(struct pool_thread));
	p->state_offset = at;
	/* As many states as big buffers could ever fit. */
	at += whole_pages((small + bytes / BIG_BYTES) * 8);
	p->small_offset = at;
	p->small_buffers = small;
	at += (uint64_t)small * SMALL_BYTES;
	p->big_offset = at;
	if (at + 2 * BIG_BYTES > bytes)
		return -1;
	p->big_buffers = (uint32_t)((bytes - at) / BIG_BYTES);
	p->size = at + (uint64_t)p->big_buffers * BIG_BYTES;
	return 0;
}

void arena_remake_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	memset(mutex, 0, sizeof(*mutex));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* In every libc on Linux the futex is the mutex' first word (glibc), which the
 * kernel's robust list makes part of the ABI. */
static uint32_t futex_word(const pthread_mutex_t *mutex)
{
	return __atomic_load_n((const uint32_t *)(const void *)mutex,
			       __ATOMIC_ACQUIRE);
}

bool arena_owner_died(const pthread_mutex_t *mutex)
{
	return (futex_word(mutex) & FUTEX_OWNER_DIED) != 0;
}

bool arena_owner_lives(const pthread_mutex_t *mutex)
{
	const uint32_t word = futex_word(mutex);

	return (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
}

static uint64_t free_bytes(void)
{
	struct statvfs fs;

	if (statvfs(ARENA_FOLDER, &fs) != 0)
		return 0;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static uint64_t choose_bytes(uint64_t wish)
{
	const uint64_t third = free_bytes() / 3;

	if (wish > 0)
		return wish;
	return third < DEFAULT_BYTES ? third : DEFAULT_BYTES;
}

/* Give m->fd and m->path. The size stays 0 until the lock is held: whoever
 * removes stale pools leaves empty ones alone. */
static int open_file(struct arena *m)
{
	uint64_t random;

	for (int tries = 0; tries < 8; tries++) {
		if (getrandom(&random, sizeof(random), 0) !=
		    (ssize_t)sizeof(random))
			return -1;
		snprintf(m->path, sizeof(m->path),
			 ARENA_FOLDER "/weft-%u-%016" PRIx64,
			 (unsigned)getuid(), random);
		m->fd = open(m->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
			     O_CLOEXEC, 0600);
		if (m->fd >= 0 || errno != EEXIST)
			break;
	}
	if (m->fd < 0)
		return -1;
	return flock(m->fd, LOCK_EX | LOCK_NB);
}

/* Private copies of the geometry, taken while nobody else can write it. */
static void keep_geometry(struct arena *m)
{
	struct pool *const p = m->pool;

	m->processes = pool_process(p, 0);
	m->threads = pool_thread(p, 0);
	m->states = pool_state(p, 0);
	m->process_slots = p->process_slots;
	m->thread_slots = p->thread_slots;
	m->small = p->small_buffers;
	m->big = p->big_buffers;
	m->small_base = pool_buffer(p, 0);
	m->big_base = pool_buffer(p, m->small);
	m->recording = p->recording;
}

static void fill_pool(struct arena *m, const struct arena_wish *wish)
{
	struct pool *const p = m->pool;

	p->version = POOL_VERSION;
	p->on_full = (uint32_t)wish->on_full;
	p->use_tsc = wish->tsc;
	p->lua = wish->lua;
	p->native = wish->native;
	while (p->recording == 0)
		if (getrandom(&p->recording, 8, 0) != 8)
			p->recording = (uint64_t)m->inode << 20 ^
				       (uint64_t)getpid();
	atomic_store(&p->generation, POOL_GENERATION_STEP |
		     (wish->paused ? 0u : (unsigned)POOL_ON));
	atomic_store(&p->next_process, 1);
	atomic_store(&p->next_thread, 1);
	atomic_store(&p->next_vm, 1);
	atomic_store(&p->next_coroutine, 1);
	keep_geometry(m);
	for (uint32_t i = 0; i < m->process_slots; i++)
		arena_remake_mutex(&m->processes[i].alive);
	for (uint32_t i = 0; i < m->thread_slots; i++)
		arena_remake_mutex(&m->threads[i].alive);
	for (uint32_t i = 0; i < arena_buffers(m); i++)
		atomic_store(&m->states[i], buffer_word(BUFFER_CLOSED, 0, 0));
	arena_remake_mutex(&p->recorder);
	pthread_mutex_lock(&p->recorder);
	atomic_thread_fence(memory_order_release);
	p->magic = POOL_MAGIC;
}

/* Pages for that range, or an error instead of a later SIGBUS. */
static int give_pages(struct arena *m, const void *start, size_t bytes)
{
	const uintptr_t from = (uintptr_t)start & ~(uintptr_t)(PAGE - 1);
	const size_t whole = (uintptr_t)start + bytes - from;

	if (madvise((void *)from, whole, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* Before Linux 5.14: pages in the file are as good. */
	return posix_fallocate(m->fd, (off_t)(from - (uintptr_t)m->pool),
			       (off_t)whole) == 0 ? 0 : -1;
}

static int map_file(struct arena *m, const struct pool *shape)
{
	struct stat st;

	if (ftruncate(m->fd, (off_t)shape->size) != 0 ||
	    fstat(m->fd, &st) != 0)
		return -1;
	m->size = shape->size;
	m->device = st.st_dev;
	m->inode = st.st_ino;
	m->pool = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       m->fd, 0);
	if (m->pool == MAP_FAILED)
		return -1;
	/* Whoever maps the pool is taken for a recorded process. */
	madvise(m->pool, m->size, MADV_DONTFORK);
	if (give_pages(m, m->pool, shape->small_offset) != 0) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(m->pool, shape, sizeof(*shape));
	return 0;
}

int arena_create(struct arena *m, const struct arena_wish *wish)
{
	struct pool shape = { 0 };
	const uint64_t bytes = choose_bytes(wish->bytes);

	memset(m, 0, sizeof(*m));
	m->fd = -1;
	stale_remove();
	if (arena_layout(&shape, bytes) != 0) {
		say("a pool of %" PRIu64 " KiB is too small: at least %d KiB "
		    "are needed%s", bytes / 1024, SMALLEST_BYTES / 1024,
		    wish->bytes > 0 ? "" :
		    "; " ARENA_FOLDER " has no more free");
		return -1;
	}
	if (open_file(m) != 0 || map_file(m, &shape) != 0) {
		say("cannot make the buffer pool \"%s\": %s", m->path,
		    strerror(errno));
		if (m->fd >= 0)
			unlink(m->path);
		return -1;
	}
	fill_pool(m, wish);
	return 0;
}

static void open_buffers(struct arena *m, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++)
		atomic_store_explicit(&m->states[i],
				      buffer_word(BUFFER_FREE, 0, 0),
				      memory_order_release);
}

uint32_t arena_populate(struct arena *m)
{
	uint32_t big = 0;

	if (give_pages(m, m->small_base, (size_t)m->small * SMALL_BYTES) == 0) {
		open_buffers(m, 0, m->small);
		atomic_store(&m->pool->small_ready, m->small);
	}
	while (big < m->big) {
		const uint32_t left = m->big - big;
		const uint32_t n = left < SLICE ? left : SLICE;

		if (give_pages(m, arena_buffer(m, m->small + big),
			       (size_t)n * BIG_BYTES) != 0)
			break;
		open_buffers(m, m->small + big, n);
		big += n;
		atomic_store(&m->pool->big_ready, big);
	}
	if (big < m->big)
		say(ARENA_FOLDER " is full: %u of %u big buffers of the pool "
		    "can be used", big, m->big);
	return big;
}

void arena_remove(struct arena *m)
{
	if (m->fd >= 0)
		unlink(m->path);
}
