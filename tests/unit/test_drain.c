/* test_drain.c - from pool to spill file: order, death, partial copies, cuts,
 * and a pool that somebody overwrote.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "analyzer/chunk/unpack.h"
#include "tracepoints/record.h"
#include "tracer/recorder/drain/chunk_copy.h"
#include "tracer/recorder/drain/drain.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_SEEN = 128 };

static struct pool_owner owner;
static struct rate rate;
static struct registry registry;
static struct sink sink;
static struct drain drain;
static uint64_t reserve[SPILL_RESERVE_WORDS];
static char folder[64];
static int folder_fd;

static bool set_up(void)
{
	const struct pool_wish wish = { .bytes = 4 << 20 };

	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	if (pool_owner_create(&owner, &wish) != 0 ||
	    pool_owner_populate(&owner) == 0 || !mkdtemp(folder))
		return false;
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	rate_start(&rate, false);
	return sink_init(&sink, 0) == 0 &&
	       registry_init(&registry, &owner, &rate) == 0 &&
	       drain_init(&drain, &owner, &registry, &sink, &rate) == 0 &&
	       spill_open(&sink.spill, folder_fd, reserve) == 0;
}

static void tear_down(void)
{
	spill_discard(&sink.spill);
	close(folder_fd);
	rmdir(folder);
	pool_owner_remove(&owner);
}

/* Open buffer b for a thread: n records, opened that many ns ago. */
static struct chunk_header *fill(uint32_t b, uint32_t slot, uint32_t thread,
				 uint64_t number, uint32_t n, uint64_t age)
{
	struct chunk_header *const h = (void *)pool_owner_buffer(&owner, b);
	const uint32_t generation =
		buffer_generation(atomic_load(&owner.states[b]));

	atomic_store(&owner.states[b],
		     buffer_word(BUFFER_FILLING, slot, generation));
	h->version = CHUNK_VERSION;
	h->recording = owner.recording;
	h->process = 1;
	h->thread = thread;
	h->number = number;
	h->tick_begin = rate_ticks(&rate) - age;
	h->pair_tick = h->pair_mono = h->tick_begin;
	for (uint32_t i = 0; i < n; i++)
		((uint64_t *)h)[CHUNK_HEADER_WORDS + i] =
			rec_put(REC_ENTER, 0, 1);
	h->records = n;
	h->magic = CHUNK_MAGIC;
	return h;
}

static void close_buffer(uint32_t b)
{
	struct chunk_header *const h = (void *)pool_owner_buffer(&owner, b);
	const uint64_t word = atomic_load(&owner.states[b]);

	h->tick_end = h->tick_begin + 1000;
	atomic_store(&owner.states[b], buffer_word(BUFFER_FULL,
			buffer_slot(word), buffer_generation(word)));
}

static enum buffer_state state(uint32_t b)
{
	return buffer_state(atomic_load(&owner.states[b]));
}

/* The chunks in the spill file, whole and sealed. */
static int read_back(struct chunk_header *seen)
{
	static uint64_t words[CHUNK_MAX_WORDS];
	static char packed[PACKED_MAX_WORDS * 8];
	off_t at = SPILL_RESERVE_WORDS * 8;
	struct packed_head head;
	int n = 0;

	while (n < MAX_SEEN && pread(sink.spill.fd, packed, sizeof(packed),
				     at) > PACKED_HEAD) {
		struct chunk_header *const h = (void *)words;

		if (!CHECK(unpack_chunk(words, packed, sizeof(packed),
					&head) > 0))
			break;
		const uint64_t sum = h->checksum;

		seen[n++] = *h;
		if (!CHECK(h->magic == CHUNK_MAGIC &&
			   h->total_words == head.words))
			break;
		chunk_seal(words);
		CHECK_EQ(h->checksum, sum);
		at += packed_size(&head) / 8 * 8 + 8;
	}
	return n;
}

void test_drain_delivers_in_order(void)
{
	struct chunk_header seen[MAX_SEEN];

	REQUIRE(set_up());
	/* Numbers 2, 1, 0 of thread 5 and 1, 0 of thread 4. */
	for (uint32_t i = 0; i < 3; i++) {
		fill(owner.small + i, 0, 5, 2 - i, 10 + i, 0);
		close_buffer(owner.small + i);
	}
	for (uint32_t i = 0; i < 2; i++) {
		fill(i, 1, 4, 1 - i, 1, 0);
		close_buffer(i);
	}
	CHECK_EQ(drain_poll(&drain), 5);
	REQUIRE(read_back(seen) == 5);
	for (uint64_t i = 0; i < 5; i++) {
		CHECK_EQ(seen[i].thread, i < 2 ? 4 : 5);
		CHECK_EQ(seen[i].number, i < 2 ? i : i - 2);
	}
	CHECK_EQ(drain.records, 2 + 10 + 11 + 12);
	CHECK_EQ(state(0), BUFFER_FREE);
	CHECK_EQ(buffer_generation(atomic_load(&owner.states[0])), 1);
	CHECK_EQ(*pool_owner_buffer(&owner, 0), 0);
	CHECK(registry_valid(&registry));
	CHECK_EQ(drain_poll(&drain), 0);
	tear_down();
}

void test_drain_takes_from_the_dead(void)
{
	struct chunk_header seen[MAX_SEEN];

	REQUIRE(set_up());
	/* What the kernel leaves behind. */
	atomic_store(&owner.threads[7].state, SLOT_USED);
	atomic_store(&owner.threads[7].lost[LOST_FULL], 3);
	atomic_store(&owner.threads[7].scrap, 4);
	*(uint32_t *)(void *)&owner.threads[7].alive = 0x40000000;
	atomic_fetch_add(&owner.pool->next_thread, 1);
	fill(owner.small, 7, 9, 1, 20, 0);
	fill(owner.small + 1, 7, 9, 0, 30, 0);
	close_buffer(owner.small + 1);
	/* Claimed, and killed before a word was written. */
	atomic_store(&owner.states[3], buffer_word(BUFFER_FILLING, 7, 0));
	/* Somebody else's, alive. */
	fill(4, 8, 10, 0, 5, 0);
	CHECK_EQ(drain_poll(&drain), 3);
	REQUIRE(read_back(seen) == 2);
	CHECK_EQ(seen[0].number, 0);
	CHECK_EQ(seen[0].flags, 0);
	CHECK_EQ(seen[1].number, 1);
	CHECK_EQ(seen[1].flags, CHUNK_TAKEN);
	CHECK_EQ(seen[1].tick_end - seen[1].tick_begin, 20);
	CHECK_EQ(state(3), BUFFER_FREE);
	CHECK_EQ(state(4), BUFFER_FILLING);
	CHECK_EQ(atomic_load(&owner.threads[7].state), SLOT_FREE);
	CHECK(!pool_mutex_died(&owner.threads[7].alive));
	CHECK_EQ(registry.lost[LOST_FULL], 7);
	tear_down();
}

void test_drain_copies_what_waits_long(void)
{
	struct chunk_header seen[MAX_SEEN];
	const uint64_t s = 1000000000;

	REQUIRE(set_up());
	fill(owner.small, 0, 1, 0, 10, 2 * s);
	fill(owner.small + 1, 1, 2, 0, 10, s / 2);
	drain_copy_older(&drain, 1000, false);
	drain_copy_older(&drain, 1000, false);
	REQUIRE(read_back(seen) == 1);
	CHECK_EQ(seen[0].flags, CHUNK_PARTIAL);
	CHECK_EQ(seen[0].thread, 1);
	CHECK_EQ(state(owner.small), BUFFER_FILLING);
	/* More came, and the thread closed it: counted once. */
	struct chunk_header *const h = (void *)pool_owner_buffer(&owner,
								 owner.small);

	h->records = 0;
	fill(owner.small, 0, 1, 0, 15, 2 * s);
	close_buffer(owner.small);
	drain_poll(&drain);
	REQUIRE(read_back(seen) == 2);
	CHECK_EQ(seen[1].flags, 0);
	CHECK_EQ(seen[1].records, 15);
	CHECK_EQ(drain.records, 15);
	tear_down();
}

/* A stream that begins in a piece is late in the next one only: if its first
 * chunk is damaged, that is a loss. */
void test_drain_marks_streams_that_began_before(void)
{
	struct chunk_header seen[MAX_SEEN];

	REQUIRE(set_up());
	drain.late_below = 7;
	for (uint32_t i = 0; i < 3; i++) {
		fill(owner.small + i, 0, 5 + i, 0, 10, 1000);
		close_buffer(owner.small + i);
	}
	drain_poll(&drain);
	drain_send_aside(&drain);
	REQUIRE(read_back(seen) == 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(seen[i].flags, seen[i].thread < 7 ?
			 CHUNK_FLIGHT : 0);
	tear_down();
}

/* For a snapshot, a copy that was sent before may be gone. */
void test_drain_copies_what_is_open_again(void)
{
	struct chunk_header seen[MAX_SEEN];
	const uint64_t s = 1000000000;

	REQUIRE(set_up());
	drain.late_below = 7;
	fill(owner.small, 0, 1, 0, 10, 2 * s);
	drain_copy_older(&drain, 1000, false);
	drain_copy_older(&drain, 0, true);
	REQUIRE(read_back(seen) == 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(seen[i].flags, CHUNK_PARTIAL | CHUNK_FLIGHT);
		CHECK_EQ(seen[i].records, 10);
	}
	CHECK_EQ(drain.records, 10);
	tear_down();
}

void test_drain_asks_to_cut(void)
{
	REQUIRE(set_up());
	const uint32_t before = atomic_load(&owner.pool->generation);

	fill(owner.small, 0, 1, 0, 0, 2000000000);
	drain_cut_older(&drain, 500);
	/* Nothing is in it: nobody is disturbed. */
	CHECK_EQ(atomic_load(&owner.pool->generation), before);
	fill(owner.small, 0, 1, 0, 3, 2000000000);
	drain_cut_older(&drain, 500);
	CHECK_EQ(atomic_load(&owner.pool->generation),
		 before + POOL_GENERATION_STEP);
	CHECK(atomic_load(&owner.pool->cut_before) > 0);
	drain_copy_older(&drain, 1000, false);
	drain_cut_older(&drain, 500);
	/* All of it has been sent: no need. */
	CHECK_EQ(atomic_load(&owner.pool->generation),
		 before + POOL_GENERATION_STEP);
	tear_down();
}

void test_drain_survives_an_overwritten_pool(void)
{
	uint32_t random = 7;

	REQUIRE(set_up());
	/* All but the recorder's own copies of the geometry is garbage. */
	for (int round = 0; round < 20; round++) {
		uint32_t *const from = (uint32_t *)(void *)owner.pool;

		for (size_t i = 0; i < owner.size / 4; i += 1 + random % 3) {
			random = random * 1103515245 + 12345;
			from[i] = random >> 4;
		}
		drain_poll(&drain);
		drain_cut_older(&drain, 0);
		drain_copy_older(&drain, 0, false);
		registry_find_dead(&registry, true);
	}
	CHECK(drain.damaged > 0);
	CHECK(!sink.told);
	tear_down();
}

/* How many chunks of the spill file are packed so. */
static int count_packed(enum packing packing)
{
	static char bytes[1 << 20];
	const ssize_t n = pread(sink.spill.fd, bytes, sizeof(bytes),
				SPILL_RESERVE_WORDS * 8);
	const char *at = bytes;
	int count = 0;

	CHECK(n > 0 && n < (ssize_t)sizeof(bytes));
	while ((at = memmem(at, (size_t)(bytes + n - at), PACKED_MAGIC, 6)))
		count += at++[PACKED_WAY] == (char)packing;
	return count;
}

void test_drain_gives_buffers_back_first_if_the_pool_fills_up(void)
{
	REQUIRE(set_up());
	const uint32_t big = owner.big, some = big / 4, most = big / 2;

	for (uint32_t i = 0; i < some + most; i++) {
		if (i == some)
			CHECK_EQ(drain_poll(&drain), some);
		fill(owner.small + i % big, 0, 5, i, 100, 0);
		close_buffer(owner.small + i % big);
	}
	CHECK_EQ(count_packed(PACKING_LZ4), some);
	CHECK(!drain.is_filling);
	CHECK_EQ(drain_poll(&drain), most);
	CHECK(drain.is_filling);
	CHECK_EQ(count_packed(PACKING_LZ4), some);
	drain_send_aside(&drain);
	CHECK_EQ(count_packed(PACKING_LZ4), some + most);
	tear_down();
}

/* Close big buffers so, that the pool fills up. Returns how many. */
static uint32_t close_most(uint64_t number)
{
	const uint32_t most = owner.big / 2;

	for (uint32_t i = 0; i < most; i++) {
		fill(owner.small + i, 0, 5, number + i, 10, 0);
		close_buffer(owner.small + i);
	}
	return most;
}

static void check_order(uint32_t n)
{
	struct chunk_header seen[MAX_SEEN];

	REQUIRE(n <= MAX_SEEN);
	CHECK_EQ(read_back(seen), n);
	for (uint64_t i = 0; i < n; i++)
		CHECK_EQ(seen[i].number, i);
}

void test_drain_gives_buffers_back_before_it_sends(void)
{
	REQUIRE(set_up());
	const uint32_t most = close_most(0);

	CHECK_EQ(drain_poll(&drain), most);
	for (uint32_t i = 0; i < most; i++)
		CHECK_EQ(state(owner.small + i), BUFFER_FREE);
	CHECK_EQ(sink.delivery.count, 0);
	CHECK_EQ(drain.records, most * 10);
	/* The pool has room: what comes now waits for what came before. */
	fill(0, 0, 5, most, 10, 0);
	close_buffer(0);
	CHECK_EQ(drain_poll(&drain), 1);
	drain_send_aside(&drain);
	CHECK(chunk_queue_is_empty(&drain.copies));
	check_order(most + 1);
	tear_down();
}

/* The ring has room for five of the largest: it wraps, is full, and is not used
 * any more. */
void test_drain_sets_no_more_aside_than_it_may(void)
{
	enum { CHUNK = CHUNK_HEADER_WORDS + 10 };
	REQUIRE(set_up());
	uint32_t n = 0, aside = 0;

	drain.copies.room = PACKED_MAX_WORDS + 4 * CHUNK;
	for (int round = 0; round < 3; round++) {
		n += close_most(n);
		drain_poll(&drain);
		aside = n - (uint32_t)sink.delivery.count;
		CHECK(aside > 0 && aside <= 5);
		CHECK_EQ(owner.pool->is_stuck, 1);
	}
	drain_send_aside(&drain);
	CHECK_EQ(owner.pool->is_stuck, 1);
	drain_poll(&drain);
	CHECK_EQ(owner.pool->is_stuck, 0);
	chunk_queue_rest(&drain.copies);
	drain.copies.room = 0;
	n += close_most(n);
	drain_poll(&drain);
	CHECK_EQ(sink.delivery.count, n);
	check_order(n);
	tear_down();
}

/* The small chunk names the main function of this Lua source. */
static void name_source(struct chunk_header *h, const char *source)
{
	uint64_t *const item = (uint64_t *)h + CHUNK_HEADER_WORDS +
			       pool_record_room(POOL_SMALL_WORDS);
	const size_t n = strlen(source);
	const uint32_t words = 4 + (uint32_t)((n + 7) / 8) + 2;

	item[0] = item_put(ITEM_LUA, words);
	item[2] = string_put(n, n);
	item[3] = 1;
	memcpy(item + 4, source, n);
	h->items = words;
}

/* Which functions are left out is known when a chunk is taken, not only when it
 * is sent. */
void test_drain_learns_what_is_left_out(void)
{
	static char left_out[] = "file=left_out.lua";
	static _Atomic uint64_t verdicts[64];
	const struct selection_wish wish = { .skip = left_out };
	struct selection s;

	REQUIRE(set_up());
	REQUIRE(selection_init(&s, &wish, verdicts, 64, NULL) == 0);
	drain.selection = &s;
	name_source(fill(0, 0, 5, 0, 10, 0), "@left_out.lua");
	close_buffer(0);
	CHECK_EQ(drain_set_aside(&drain), 1);
	CHECK_EQ(sink.delivery.count, 0);
	CHECK_EQ(s.skipped, 1);
	drain_poll(&drain);
	CHECK_EQ(sink.delivery.count, 1);
	CHECK_EQ(s.skipped, 1);
	free(s.seen.slot);
	free(s.skip.all);
	tear_down();
}

/* Those that sleep until there is one are told of each buffer. */
void test_drain_tells_of_buffers(void)
{
	static const struct { enum pool_on_full way; bool tells; } ways[] = {
		{ POOL_DROP, false }, { POOL_WAIT, true },
		{ POOL_LEND, true },
	};

	REQUIRE(set_up());
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		atomic_store(&owner.pool->given_back, 0);
		owner.pool->on_full = ways[i].way;
		const uint32_t n = close_most(i * owner.big);

		CHECK_EQ(drain_poll(&drain), n);
		CHECK_EQ(owner.pool->given_back, ways[i].tells ? n : 0);
	}
	tear_down();
}

static void hold(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		atomic_store(&owner.states[i],
			     buffer_word(BUFFER_FILLING, 0, 0));
}

/* Where threads fill most of the small buffers there are soon more: in the end
 * one for each thread that can be recorded. Nothing else of the pool moves. */
void test_drain_opens_buffers_for_more_threads(void)
{
	REQUIRE(set_up());
	const uint32_t first = owner.small_open, big = owner.small;
	uint32_t opened = 0;

	owner.pool->on_full = POOL_WAIT;
	CHECK(first < owner.small && owner.small == owner.thread_slots);
	CHECK_EQ(state(first), BUFFER_CLOSED);
	hold(0, first / 2);
	CHECK_EQ(drain_poll(&drain), 0);
	for (uint32_t held = first; held < owner.small; ) {
		hold(0, held);
		opened += drain_poll(&drain);
		CHECK_EQ(first + opened, owner.small_open);
		REQUIRE(owner.small_open > held);
		CHECK_EQ(state(held), BUFFER_FREE);
		held = owner.small_open;
		CHECK(held == owner.small || state(held) == BUFFER_CLOSED);
	}
	CHECK_EQ(owner.pool->given_back, opened);
	hold(0, owner.small);
	CHECK_EQ(drain_poll(&drain), 0);
	CHECK_EQ(state(big), BUFFER_FREE);
	CHECK_EQ(owner.pool->is_stuck, STUCK_NOT);
	tear_down();
}

static _Atomic bool sleeper_ends;

static void *sleep_for_buffer(void *unused)
{
	const struct timespec most = { 0, 100000000 };

	while (!atomic_load(&sleeper_ends))
		syscall(SYS_futex, &owner.pool->given_back, FUTEX_WAIT,
			atomic_load(&owner.pool->given_back), &most, NULL, 0);
	return unused;
}

/* Threads fill all buffers, there are no more, and another thread waits: they
 * are asked for them, and after a second nobody waits, until one comes. */
void test_drain_lets_nobody_wait_for_threads_that_wait(void)
{
	pthread_t sleeper;
	uint32_t generation;

	REQUIRE(set_up());
	const uint32_t all = pool_owner_buffers(&owner);

	owner.cannot_grow = true;
	hold(0, all);
	drain_poll(&drain);
	CHECK_EQ(drain.held_since, 0);
	pthread_create(&sleeper, NULL, sleep_for_buffer, NULL);
	while (drain.held_since == 0)
		drain_poll(&drain);
	generation = atomic_load(&owner.pool->generation);
	drain.held_since -= 500;
	drain_poll(&drain);
	CHECK(owner.pool->cut_before > 0);
	CHECK(owner.pool->generation != generation);
	drain.held_since -= 500;
	drain_poll(&drain);
	CHECK_EQ(owner.pool->is_stuck, STUCK_THREADS);
	CHECK_EQ(drain.gave_up, 1);
	atomic_store(&owner.states[0], buffer_word(BUFFER_FREE, 0, 0));
	drain_poll(&drain);
	CHECK_EQ(owner.pool->is_stuck, STUCK_NOT);
	atomic_store(&sleeper_ends, true);
	pthread_join(sleeper, NULL);
	tear_down();
}

/* Room aside for five chunks: the sixth stays in the pool. */
void test_drain_sends_nothing_while_it_may_not(void)
{
	enum { CHUNK = CHUNK_HEADER_WORDS + 10 };
	REQUIRE(set_up());
	const uint32_t n = close_most(0);
	uint32_t full = 0;

	drain.copies.room = PACKED_MAX_WORDS + 4 * CHUNK;
	for (int round = 0; round < 3; round++)
		drain_set_aside(&drain);
	for (uint32_t i = 0; i < n; i++)
		full += state(owner.small + i) == BUFFER_FULL;
	CHECK_EQ(sink.delivery.count, 0);
	CHECK_EQ(full, n - 5);
	CHECK_EQ(drain.records, (n - full) * 10);
	drain_poll(&drain);
	drain_send_aside(&drain);
	CHECK_EQ(sink.delivery.count, n);
	check_order(n);
	tear_down();
}
