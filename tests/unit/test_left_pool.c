/* test_left_pool.c - chunks out of a pool: as they were, and with bytes of any
 * value anywhere.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/recover/left_pool.h"
#include "tests/test.h"
#include "tracepoints/pool.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFERS = 5, ROUNDS = 4000,
       BYTES = 4 * PAGE + BUFFERS * POOL_SMALL_WORDS * 8 };

static _Alignas(PAGE) unsigned char file[BYTES];
static struct pool *const pool = (struct pool *)file;

static void make_buffer(uint32_t i, enum buffer_state state, uint64_t end)
{
	uint64_t *const at = pool_buffer(pool, i);
	struct chunk_header *const h = (void *)at;
	uint64_t word = buffer_word(state, 1, 7);

	memcpy(pool_state(pool, i), &word, sizeof(word));
	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	h->recording = pool->recording;
	h->process = h->thread = h->pid = h->tid = 1;
	h->number = i;
	h->records = 3;
	h->funcs = 2;
	h->tick_begin = 1000;
	h->tick_end = end;
	h->pair_tick = h->pair_mono = h->pair_real = 1;
	at[CHUNK_HEADER_WORDS] = rec_put(REC_ENTER, 0, 10);
	at[CHUNK_HEADER_WORDS + 1] =
		rec_enter_to_leaf(rec_put(REC_ENTER, 1, 20), 5);
	at[CHUNK_HEADER_WORDS + 2] = rec_put(REC_LEAVE, 0, 30);
	at[POOL_SMALL_WORDS - 1] = dict_put_code(100);
	at[POOL_SMALL_WORDS - 2] = dict_put_code(101);
}

/* Free; filled by a dead thread; full; taken; taken and emptied. */
static void make(void)
{
	struct pool_thread *t;

	memset(file, 0, sizeof(file));
	pool->magic = POOL_MAGIC;
	pool->version = POOL_VERSION;
	pool->size = BYTES;
	pool->recording = 77;
	pool->process_offset = PAGE;
	pool->thread_offset = 2 * PAGE;
	pool->thread_slots = 2;
	pool->verdict_offset = pool->state_offset = 3 * PAGE;
	pool->small_offset = 4 * PAGE;
	pool->big_offset = BYTES;
	pool->small_buffers = BUFFERS;
	pool->tick_hz = 1000000000;
	t = pool_thread(pool, 1);
	t->state = SLOT_USED;
	t->lost[LOST_FULL] = 40;
	t->scrap = 2;
	make_buffer(1, BUFFER_FILLING, 0);
	make_buffer(2, BUFFER_FULL, 9000);
	make_buffer(3, BUFFER_TAKEN, 9000);
	make_buffer(4, BUFFER_TAKEN, 9000);
	memset(pool_buffer(pool, 4), 0, CHUNK_HEADER_WORDS * 8);
}

/* The path of a file with these bytes; one for all. */
static const char *write_file(const void *bytes, size_t n)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("pool", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CHECK(ftruncate(fd, 0) == 0);
	CHECK(pwrite(fd, bytes, n, 0) == (ssize_t)n);
	return path;
}

static struct left_pool left;
static uint64_t numbers, ends, flags;

static int take(void *ctx, const struct chunk *chunk)
{
	(void)ctx;
	numbers |= 1u << (chunk->header.number & 31);
	ends += chunk->header.tick_end;
	flags |= chunk->header.flags;
	return 0;
}

/* How many buffers held chunks; -1: it cannot be opened. */
static int read_pool(const void *bytes, size_t n)
{
	uint64_t lost[LOST_REASONS];

	numbers = ends = flags = 0;
	if (left_pool_open(&left, write_file(bytes, n)) != 0) {
		err_clear();
		return -1;
	}
	left_pool_lost(&left, lost);
	CHECK_EQ(left_pool_each(&left, take, NULL), 0);
	left_pool_close(&left);
	return __builtin_popcountll(numbers);
}

void test_left_pool_gives_what_was_not_taken(void)
{
	uint64_t lost[LOST_REASONS];

	make();
	CHECK_EQ(read_pool(pool, BYTES), 3);
	CHECK_EQ(numbers, 1 << 1 | 1 << 2 | 1 << 3);
	CHECK_EQ(ends, 1000 + 10 + 20 + 5 + 30 + 9000 + 9000);
	CHECK_EQ(flags, CHUNK_TAKEN);
	CHECK_EQ(left.damaged, 0);
	REQUIRE(left_pool_open(&left, write_file(pool, BYTES)) == 0);
	left_pool_lost(&left, lost);
	CHECK_EQ(lost[LOST_FULL], 42);
	CHECK(!left.is_alive);
	left_pool_close(&left);
	CHECK_EQ(read_pool(pool, BYTES - 1), -1);
	pool->version = POOL_VERSION - 1;
	CHECK_EQ(read_pool(pool, BYTES), -1);
}

/* Its buffer may still grow. */
void test_left_pool_knows_threads_that_live(void)
{
	make();
	*(uint32_t *)(void *)&pool_thread(pool, 1)->alive = 1234;
	CHECK_EQ(read_pool(pool, BYTES), 3);
	CHECK_EQ(flags, CHUNK_PARTIAL);
	CHECK(left.is_alive);
	*(uint32_t *)(void *)&pool_thread(pool, 1)->alive |= FUTEX_OWNER_DIED;
	read_pool(pool, BYTES);
	CHECK_EQ(flags, CHUNK_TAKEN);
	CHECK(!left.is_alive);
}

/* Nothing but a checked chunk comes out, whatever goes in. The parts that steer
 * are hit more often than buffers. */
void test_left_pool_survives_any_bytes(void)
{
	static unsigned char whole[BYTES];
	int opened = 0;

	srand(1);
	make();
	memcpy(whole, file, BYTES);
	for (int i = 0; i < ROUNDS; i++) {
		const size_t n = rand() % 8 ? BYTES :
				 (size_t)rand() % BYTES;

		memcpy(file, whole, BYTES);
		for (int k = rand() % 6; k >= 0; k--) {
			const size_t span = rand() % 3 ? 400 : BYTES - 8;
			const uint64_t any = rand() % 2 ? (uint64_t)rand() :
				UINT64_MAX >> rand() % 64;

			memcpy(file + (size_t)rand() % span, &any,
			       (size_t)rand() % 8 + 1);
		}
		opened += read_pool(file, n) >= 0;
	}
	CHECK(opened > ROUNDS / 10);
}
