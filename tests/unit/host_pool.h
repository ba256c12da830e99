/* host_pool.h - a pool of its own for tests that drive the tracer's hooks
 * inside the test program, and a reader that tallies what lies in it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"
#include "tracepoints/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct host_pool_tally {
	uint64_t kind[16];
	uint64_t calls, chunks, bad;
	uint64_t uneven, ahead; /* gaps do not add up; are more than there is */
};

static inline uint64_t host_pool_page(uint64_t n)
{
	return (n + 4095) & ~UINT64_C(4095);
}

static inline void host_pool_mutex(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &a);
}

static inline struct pool host_pool_layout(uint32_t small, uint32_t big)
{
	struct pool head = {
		.magic = POOL_MAGIC, .version = POOL_VERSION, .recording = 7,
		.process_slots = 8, .thread_slots = 256,
		.small_buffers = small, .big_buffers = big, .use_tsc = 1,
		.lua = 1, .native = 1,
	};
	uint64_t at = host_pool_page(sizeof(head));

	head.process_offset = at;
	at += host_pool_page(head.process_slots * sizeof(struct pool_process));
	head.thread_offset = at;
	at += host_pool_page(head.thread_slots * sizeof(struct pool_thread));
	head.state_offset = at;
	at += host_pool_page((uint64_t)(small + big) * 8);
	head.small_offset = at;
	at += (uint64_t)small * POOL_SMALL_WORDS * 8;
	head.big_offset = at;
	at += (uint64_t)big * POOL_BIG_WORDS * 8;
	head.size = at;
	return head;
}

static inline void host_pool_name(int fd)
{
	struct stat st;
	char text[128];

	fstat(fd, &st);
	snprintf(text, sizeof(text), "%d:%llu:%llu:/nonexistent", fd,
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv(POOL_ENV, text, 1);
}

/* Makes a pool and names it in the environment. Before the first hook. */
static inline struct pool *host_pool_make(uint32_t small, uint32_t big,
					  int is_on)
{
	const struct pool head = host_pool_layout(small, big);
	const int fd = memfd_create("weft-test", 0);
	struct pool *p;

	if (fd < 0 || ftruncate(fd, (off_t)head.size) != 0)
		abort();
	p = mmap(NULL, head.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		abort();
	memcpy(p, &head, sizeof(head));
	atomic_store(&p->generation, POOL_GENERATION_STEP |
		     (is_on ? (uint32_t)POOL_ON : 0));
	atomic_store(&p->next_process, 1);
	atomic_store(&p->next_thread, 1);
	atomic_store(&p->next_vm, 1);
	atomic_store(&p->next_coroutine, 1);
	atomic_store(&p->tick_hz, 1000000000);
	for (uint32_t i = 0; i < head.process_slots; i++)
		host_pool_mutex(&pool_process(p, i)->alive);
	for (uint32_t i = 0; i < head.thread_slots; i++)
		host_pool_mutex(&pool_thread(p, i)->alive);
	host_pool_mutex(&p->recorder);
	pthread_mutex_lock(&p->recorder);
	host_pool_name(fd);
	return p;
}

static inline void host_pool_tally_chunk(const uint64_t *words,
					 struct host_pool_tally *t)
{
	const struct chunk_header *const h = (const void *)words;
	const uint64_t *const r = words + CHUNK_HEADER_WORDS;
	uint64_t at = h->tick_begin;

	t->chunks++;
	t->bad += h->magic != CHUNK_MAGIC;
	for (uint32_t i = 0; i < h->records; i++) {
		const enum rec_kind k = rec_kind(r[i]);

		t->kind[k]++;
		t->calls += k == REC_ENTER || k == REC_LEAF;
		if ((k == REC_ENTER || k == REC_LEAVE || k == REC_LEAF) &&
		    rec_func(r[i]) >= h->funcs)
			t->bad++;
		if (k == REC_LEAF)
			at += rec_leaf_gap(r[i]) + rec_leaf_duration(r[i]);
		else if (k == REC_TIME)
			at += rec_value(r[i]);
		else if (k != REC_OPERAND)
			at += rec_gap(r[i]);
	}
	/* A chunk that is still filling has no end yet. */
	t->uneven += h->tick_end != 0 && at != h->tick_end;
	t->ahead += h->tick_end != 0 && (int64_t)(at - h->tick_end) > 0;
}

/* Take every full buffer; with filling, those that are being filled, too: their
 * threads must be still. */
static inline void host_pool_drain(struct pool *p, struct host_pool_tally *t,
				   int filling)
{
	const uint32_t all = p->small_buffers + p->big_buffers;

	for (uint32_t b = 0; b < all; b++) {
		_Atomic uint64_t *const at = pool_state(p, b);
		uint64_t word = atomic_load_explicit(at, memory_order_acquire);
		struct chunk_header *const h = (void *)pool_buffer(p, b);

		if (buffer_state(word) != BUFFER_FULL &&
		    !(filling && buffer_state(word) == BUFFER_FILLING))
			continue;
		host_pool_tally_chunk(pool_buffer(p, b), t);
		if (buffer_state(word) != BUFFER_FULL)
			continue;
		h->records = h->items = h->funcs = 0;
		h->tick_end = 0;
		atomic_store_explicit(at, buffer_word(BUFFER_FREE, 0,
					buffer_generation(word) + 1),
				      memory_order_release);
	}
}
