/* test_litmus.c - what a recorder may see of a thread that goes on to record:
 * whole records, each with its function, and no time twice. As many threads
 * record as there are processors, while all of their buffers are copied again
 * and again. An order of stores that a processor may change shows on that
 * processor alone. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"

/* The thread sanitizer knows no fences, and takes all this for a race. */
#ifndef __SANITIZE_THREAD__
#include "tests/unit/host_pool.h"
#include "tracepoints/buffer.h"
#include "tracer/host/thread/thread.h"

#include <pthread.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

enum { SMALL = 32, BIG = 64, FUNCTIONS = 64, CALLS = 5000000, MOST = 16 };
static struct pool *shared_pool;
static char functions[FUNCTIONS];
static _Atomic int recording;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(SMALL, BIG, 1);
}

/* Leaves and calls, each by a function that the chunk may not have named. */
static void *record(void *seed)
{
	uint32_t n = *(const uint32_t *)seed;
	char *const site = functions;

	for (int i = 0; i < CALLS; i++) {
		void *const f = &functions[(n = n * 69069 + 1) >> 26];

		__cyg_profile_func_enter(f, site);
		if (n & 1 << 20) {
			__cyg_profile_func_enter(&functions[0], site);
			__cyg_profile_func_exit(&functions[0], site);
		}
		__cyg_profile_func_exit(f, site);
	}
	atomic_fetch_sub(&recording, 1);
	return NULL;
}

struct seen {
	uint64_t copies, records, wrong;
};

static bool is_right(uint64_t word, uint32_t funcs)
{
	const enum rec_kind kind = rec_kind(word);

	return word != 0 && word != UINT64_MAX &&
	       ((kind != REC_ENTER && kind != REC_LEAVE && kind != REC_LEAF) ||
		rec_func(word) < funcs);
}

static bool is_right_chunk(const uint64_t *chunk, uint64_t until)
{
	const struct chunk_header *const h = (const void *)chunk;
	const uint64_t *const record = chunk + CHUNK_HEADER_WORDS;
	uint32_t whole;
	const uint64_t ticks = chunk_walk(record, h->records, &whole);

	for (uint32_t i = 0; i < h->records; i++) {
		if (!is_right(record[i], h->funcs))
			return false;
	}
	return whole == h->records && h->tick_begin + ticks <= until;
}

/* As the recorder copies it. */
static bool copy(struct seen *seen, const struct buffer *b)
{
	static uint64_t chunk[2 * CHUNK_MAX_WORDS];
	uint64_t end, *at;

	if (buffer_open(chunk, b) <= 0)
		return true;
	at = buffer_body(chunk, b, &end);
	buffer_end((struct chunk_header *)(void *)chunk, b, at);
	seen->copies++;
	return is_right_chunk(chunk, clock_now());
}

/* The last record alone, as soon as it is counted: what is counted too early is
 * there a moment later. */
static bool look_at_last(struct seen *seen, const struct buffer *b)
{
	const struct chunk_header *const h = (const void *)b->at;
	const uint32_t n = buffer_count(&h->records);
	uint64_t word;

	if (n == 0)
		return true;
	word = __atomic_load_n(&b->at[CHUNK_HEADER_WORDS + n - 1],
			       __ATOMIC_RELAXED);
	seen->records++;
	return is_right(word, buffer_count(&h->funcs));
}

/* Of a buffer that is given back meanwhile, what was seen does not count: it
 * may be of two chunks. */
static void look(struct seen *seen, uint32_t i)
{
	const struct buffer b = { pool_buffer(shared_pool, i),
		i < SMALL ? POOL_SMALL_WORDS : POOL_BIG_WORDS,
		shared_pool->recording, CHUNK_PARTIAL };
	_Atomic uint64_t *const state = pool_state(shared_pool, i);
	const uint64_t word = atomic_load(state);
	uint64_t wrong = 0;

	if (buffer_state(word) != BUFFER_FILLING)
		return;
	for (int k = 0; k < 1000; k++)
		wrong += !look_at_last(seen, &b);
	wrong += !copy(seen, &b);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load(state) == word)
		seen->wrong += wrong;
}

/* Takes full buffers, and leaves nothing in them that looks like a record. */
static void take_full(struct host_pool_tally *t)
{
	for (uint32_t i = 0; i < SMALL + BIG; i++) {
		_Atomic uint64_t *const state = pool_state(shared_pool, i);
		const uint64_t word = atomic_load(state);
		uint64_t *const chunk = pool_buffer(shared_pool, i);

		if (buffer_state(word) != BUFFER_FULL)
			continue;
		host_pool_tally_chunk(chunk, t);
		memset(chunk, 0, CHUNK_HEADER_WORDS * 8);
		memset(chunk + CHUNK_HEADER_WORDS, 0xff,
		       ((i < SMALL ? POOL_SMALL_WORDS : POOL_BIG_WORDS) -
			CHUNK_HEADER_WORDS) * 8);
		atomic_store(state, buffer_word(BUFFER_FREE, 0,
						buffer_generation(word) + 1));
	}
}

void test_litmus_what_is_counted_is_there(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const int n = processors > MOST ? MOST : (int)processors;
	uint32_t seed[MOST];
	pthread_t thread[MOST];
	struct host_pool_tally t = { .chunks = 0 };
	struct seen seen = { 0, 0, 0 };

	atomic_store(&recording, n);
	for (int i = 0; i < n; i++) {
		seed[i] = (uint32_t)i + 1;
		REQUIRE(pthread_create(&thread[i], NULL, record, &seed[i]) ==
			0);
	}
	while (atomic_load(&recording) > 0) {
		for (uint32_t i = 0; i < SMALL + BIG; i++)
			look(&seen, i);
		take_full(&t);
	}
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	CHECK(seen.copies > 0 && seen.records > 0);
	CHECK_EQ(seen.wrong, 0);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.uneven, 0);
}
#endif
