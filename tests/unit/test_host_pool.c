/* test_host_pool.c - the tracer's native side, driven inside this program while
 * another thread plays the recorder. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/host_pool.h"
#include "tracer/host/base/module.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static struct host_pool_tally taken(struct pool *p);
static uint64_t descend(int depth, uint64_t *truth);

/* The tracer looks for its pool when the program starts; each test runs in a
 * child of it, one after the other, and finds the pool as another left it. */
static struct pool *shared_pool;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(32, 16, 1);
}

static struct pool *fresh_pool(void)
{
	struct pool *const p = shared_pool;
	uint64_t truth = 0;

	for (uint32_t b = 0; b < p->small_buffers + p->big_buffers; b++)
		atomic_store(pool_state(p, b), 0);
	for (uint32_t i = 0; i < p->thread_slots; i++) {
		host_pool_mutex(&pool_thread(p, i)->alive);
		atomic_store(&pool_thread(p, i)->lost[LOST_FULL], 0);
		atomic_store(&pool_thread(p, i)->state, SLOT_FREE);
	}
	descend(0, &truth);
	taken(p);
	return p;
}

static struct host_pool_tally taken(struct pool *p)
{
	struct host_pool_tally t = { .chunks = 0 };

	if (thread_self)
		chunk_switch(thread_self, 0);
	host_pool_drain(p, &t, 0);
	return t;
}

__attribute__((noinline)) static uint64_t descend(int depth, uint64_t *truth)
{
	uint64_t sum = 1;

	__cyg_profile_func_enter((void *)descend, __builtin_return_address(0));
	++*truth;
	if (depth > 0)
		sum += descend(depth - 1, truth) + descend(depth / 2, truth);
	__cyg_profile_func_exit((void *)descend, __builtin_return_address(0));
	return sum;
}

void test_host_counts_every_call_and_gaps_add_up(void)
{
	struct pool *const p = fresh_pool();
	struct host_pool_tally t = { .chunks = 0 };
	uint64_t truth = 0;

	for (int i = 0; i < 200; i++) {
		descend(12, &truth);
		host_pool_drain(p, &t, 0);
	}
	chunk_switch(thread_self, 0);
	host_pool_drain(p, &t, 0);
	CHECK_EQ(t.calls, truth);
	CHECK_EQ(t.kind[REC_ENTER], t.kind[REC_LEAVE]);
	CHECK_EQ(t.kind[REC_UNWIND], 0);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.uneven, 0);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
}

void test_host_off_records_nothing_and_forgets_the_stack(void)
{
	struct pool *const p = fresh_pool();
	struct host_pool_tally t;
	uint64_t truth = 0;

	__cyg_profile_func_enter((void *)taken, NULL);
	atomic_fetch_and(&p->generation, ~(uint32_t)POOL_ON);
	descend(5, &truth);
	t = taken(p);
	CHECK_EQ(t.calls, 1);
	atomic_fetch_add(&p->window, 1);
	atomic_fetch_add(&p->generation, POOL_GENERATION_STEP | POOL_ON);
	__cyg_profile_func_exit((void *)taken, NULL);
	t = taken(p);
	CHECK_EQ(t.kind[REC_LEAVE_OLD], 1);
	CHECK_EQ(t.kind[REC_LEAVE], 0);
	CHECK_EQ(thread_self->base_unknown, 1);
}

/* All buffers full: nothing is written, everything counted, and it goes on when
 * there is room again. */
void test_host_full_pool_counts_what_it_drops(void)
{
	struct pool *const p = fresh_pool();
	struct host_pool_tally t = { .chunks = 0 };
	uint64_t truth = 0, before, words, cpu;

	before = atomic_load(&thread_self->slot->lost[LOST_FULL]);
	while (atomic_load(&thread_self->slot->lost[LOST_FULL]) < before + 1000)
		descend(8, &truth);
	host_pool_drain(p, &t, 0);
	cpu = kernel_cpu();
	chunk_switch(thread_self, 0);
	CHECK(thread_self->head->cpu_begin >= cpu);
	host_pool_drain(p, &t, 0);
	words = t.calls + t.kind[REC_LEAVE];
	CHECK(t.calls < truth);
	CHECK_EQ(t.bad, 0);
	/* Each call is a LEAF, or an ENTER and a LEAVE: none is forgotten. */
	words += atomic_load(&thread_self->slot->lost[LOST_FULL]) - before;
	CHECK(words >= truth && words <= 2 * truth);
	truth = 0;
	descend(3, &truth);
	t = taken(p);
	CHECK_EQ(t.calls, truth);
}

/* What a handler's level drops is its own: what is known of the scrap of the
 * level below stays. */
void test_host_levels_count_their_own_scrap(void)
{
	struct pool *const p = fresh_pool();
	struct thread_state *const s = thread_self;
	uint64_t truth = 0, below, above;

	for (uint32_t b = 0; b < p->small_buffers + p->big_buffers; b++)
		atomic_store(pool_state(p, b), buffer_word(BUFFER_TAKEN, 0, 9));
	chunk_switch(s, 0);
	CHECK(chunk_is_scrap(s));
	descend(5, &truth);
	below = atomic_load(&s->slot->scrap);
	s->busy = (uint64_t)__builtin_frame_address(0);
	descend(3, &truth);
	s->busy = 0;
	above = atomic_load(&s->slot->scrap) - below;
	CHECK(below > 0 && above > 0);
	chunk_switch(s->next, 0);
	CHECK_EQ(atomic_load(&s->slot->scrap), below);
	chunk_switch(s, 0);
	CHECK_EQ(atomic_load(&s->slot->scrap), 0);
}

/* The CPU time of the full chunk of which more is said than it lasted. */
static uint64_t cpu_beyond(struct pool *p)
{
	for (uint32_t b = 0; b < p->small_buffers + p->big_buffers; b++) {
		const struct chunk_header *const h =
			(const void *)pool_buffer(p, b);

		if (buffer_state(atomic_load(pool_state(p, b))) ==
			    BUFFER_FULL && h->cpu_end > h->cpu_begin &&
		    h->cpu_end - h->cpu_begin > h->tick_end - h->tick_begin)
			return h->cpu_end - h->cpu_begin;
	}
	return 0;
}

/* A chunk that is closed once recording goes on has ended before the pause, and
 * so has its CPU time. */
void test_host_a_pause_is_no_cpu_time_of_the_chunk_before_it(void)
{
	struct pool *const p = fresh_pool();
	const uint64_t begin = kernel_cpu();
	uint64_t truth = 0;

	descend(3, &truth);
	atomic_fetch_and(&p->generation, ~(uint32_t)POOL_ON);
	while (kernel_cpu() < begin + 50000000)
		continue;
	atomic_fetch_add(&p->window, 1);
	atomic_fetch_add(&p->generation, POOL_GENERATION_STEP | POOL_ON);
	descend(3, &truth);
	CHECK_EQ(cpu_beyond(p), 0);
	CHECK_EQ(taken(p).calls, truth);
}

/* --------------------------------------------------------- full dictionary */

enum { NAMES = 100, DEPTH = 400, TIMES = 3 };

static struct { uint64_t leaves[NAMES], marks, others; } seen;

/* Made-up functions: addresses in the code of this program. */
static uint64_t deep_at(int i)
{
	return (uint64_t)descend + (uint64_t)i;
}

static uint64_t leaf_at(int i)
{
	return (uint64_t)descend + NAMES + (uint64_t)i;
}

/* What a record's dictionary word says. */
static void see(const uint64_t *words, uint32_t size, uint64_t record)
{
	const uint64_t word = words[size - 1 - rec_func(record)];
	const struct module *m;
	uint64_t i;

	if (rec_kind(record) == REC_MARK && dict_kind(word) == DICT_NAME)
		seen.marks++;
	if (rec_kind(record) != REC_LEAF && rec_kind(record) != REC_ENTER)
		return;
	CHECK(module_find(deep_at(0), &m));
	i = dict_offset(word) + m->bias - deep_at(0);
	if (dict_kind(word) != DICT_NATIVE || i >= 2 * NAMES)
		seen.others++;
	else if (i >= NAMES)
		seen.leaves[i - NAMES]++;
}

static void see_all(struct pool *p, struct host_pool_tally *t)
{
	for (uint32_t b = 0; b < p->small_buffers; b++) {
		const uint64_t *const words = pool_buffer(p, b);
		const struct chunk_header *const h = (const void *)words;

		if (buffer_state(atomic_load(pool_state(p, b))) != BUFFER_FULL)
			continue;
		for (uint32_t i = 0; i < h->records; i++)
			see(words, POOL_SMALL_WORDS,
			    words[CHUNK_HEADER_WORDS + i]);
	}
	host_pool_drain(p, t, 0);
}

__attribute__((noinline)) static void stand_on(int depth, struct pool *p,
					       struct host_pool_tally *t)
{
	__cyg_profile_func_enter((void *)deep_at(depth % NAMES),
				 __builtin_return_address(0));
	if (depth > 0)
		stand_on(depth - 1, p, t);
	for (int n = 0; depth == 0 && n < TIMES * NAMES; n++) {
		const int i = n % NAMES;

		for (int k = 0; k <= i; k++) {
			__cyg_profile_func_enter((void *)leaf_at(i), NULL);
			__cyg_profile_func_exit((void *)leaf_at(i), NULL);
		}
		if (i % 10 == 0)
			weft_mark("a mark");
		see_all(p, t);
	}
	__cyg_profile_func_exit((void *)deep_at(depth % NAMES),
				__builtin_return_address(0));
}

/* The free big buffers are in use from here on. */
static void take_big(struct pool *p)
{
	for (uint32_t b = 0; b < p->big_buffers; b++) {
		_Atomic uint64_t *const at =
			pool_state(p, p->small_buffers + b);

		if (buffer_state(atomic_load(at)) == BUFFER_FREE)
			atomic_store(at, buffer_word(BUFFER_TAKEN, 0, 0));
	}
}

/* Deep in the stack, with small buffers alone: the stack at a chunk's start
 * leaves room to name what is called. */
void test_host_a_deep_stack_leaves_room_for_names(void)
{
	struct pool *const p = fresh_pool();
	struct host_pool_tally t = { .chunks = 0 };

	for (int i = 0; i < 2; i++) { /* the thread may hold a big one */
		take_big(p);
		taken(p);
	}
	stand_on(DEPTH, p, &t);
	chunk_switch(thread_self, 0);
	see_all(p, &t);
	for (int i = 0; i < NAMES; i++)
		CHECK_EQ(seen.leaves[i], TIMES * (i + 1));
	CHECK_EQ(seen.marks, TIMES * NAMES / 10);
	CHECK_EQ(seen.others, 0);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(thread_self->slot->lost[LOST_NAMES], 0);
	CHECK_EQ(thread_self->slot->lost[LOST_FULL], 0);
}

/* ------------------------------------------------------------- threads */

enum { WORKERS = 4, ROUNDS = 400 };

static _Atomic uint64_t calls_made;
static _Atomic int running;

static void *work(void *unused)
{
	uint64_t truth = 0;

	for (int i = 0; i < ROUNDS; i++) {
		descend(10, &truth);
	}
	atomic_fetch_add(&calls_made, truth);
	atomic_fetch_sub(&running, 1);
	return unused;
}

void test_host_threads_lose_nothing_when_they_wait(void)
{
	struct pool *const p = fresh_pool();
	struct host_pool_tally t = { .chunks = 0 };
	pthread_t thread[WORKERS];

	p->on_full = POOL_WAIT;
	atomic_store(&running, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	while (atomic_load(&running) > 0)
		host_pool_drain(p, &t, 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < p->thread_slots; i++) {
		if (pool_thread(p, i) != thread_self->slot)
			CHECK_EQ(pool_thread(p, i)->lost[LOST_FULL], 0);
	}
	host_pool_drain(p, &t, 1);
	CHECK_EQ(t.calls, atomic_load(&calls_made));
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.uneven, 0);
}

/* ------------------------------------------------------------- lending */

static _Atomic int slept;
static _Atomic bool over, frees;

static void put_all(struct pool *p, enum buffer_state from,
		    enum buffer_state to)
{
	for (uint32_t b = 0; b < p->small_buffers + p->big_buffers; b++) {
		uint64_t word = atomic_load(pool_state(p, b));

		if (buffer_state(word) == from)
			atomic_compare_exchange_strong(pool_state(p, b), &word,
				buffer_word(to, 0, buffer_generation(word)));
	}
}

/* Wakes whoever sleeps for a buffer: there is one now, or there will be
 * none. */
static void *find_sleepers(void *ctx)
{
	struct pool *const p = ctx;

	while (!atomic_load(&over)) {
		if (syscall(SYS_futex, &p->given_back, FUTEX_WAKE, 1, NULL,
			    NULL, 0) != 1) {
			sched_yield();
			continue;
		}
		atomic_fetch_add(&slept, 1);
		if (atomic_load(&frees))
			put_all(p, BUFFER_TAKEN, BUFFER_FREE);
		else
			atomic_store(&p->is_stuck, 1);
	}
	return NULL;
}

/* This thread wants a buffer, and none is free. Does it sleep? */
static bool sleeps(struct pool *p)
{
	pthread_t finder;

	chunk_switch(thread_self, 0);
	put_all(p, BUFFER_FULL, BUFFER_TAKEN);
	put_all(p, BUFFER_FREE, BUFFER_TAKEN);
	atomic_store(&slept, 0);
	atomic_store(&over, false);
	pthread_create(&finder, NULL, find_sleepers, p);
	chunk_switch(thread_self, 0);
	atomic_store(&over, true);
	pthread_join(finder, NULL);
	return atomic_load(&slept) > 0;
}

/* It has a buffer again. */
static void have_one(struct pool *p)
{
	put_all(p, BUFFER_TAKEN, BUFFER_FREE);
	chunk_switch(thread_self, 0);
	CHECK(!chunk_is_scrap(thread_self));
}

/* Where this machine stands still for a second, nobody is found. */
static bool sleeps_at_last(struct pool *p)
{
	for (int i = 0; i < 100; i++) {
		if (sleeps(p))
			return true;
		atomic_store(&p->is_stuck, 0);
		have_one(p);
	}
	return false;
}

static struct pool *lending_pool(void)
{
	struct pool *const p = fresh_pool();

	p->on_full = POOL_LEND;
	atomic_store(&p->is_stuck, 0);
	atomic_store(&frees, false);
	have_one(p);
	return p;
}

void test_host_lends_until_there_is_a_buffer(void)
{
	struct pool *const p = lending_pool();
	bool got = false;

	atomic_store(&frees, true);
	for (int i = 0; i < 100 && !got; i++) {
		CHECK(sleeps_at_last(p));
		got = !chunk_is_scrap(thread_self);
		have_one(p);
	}
	CHECK(got);
	p->on_full = POOL_DROP;
}

void test_host_lends_once_in_vain(void)
{
	struct pool *const p = lending_pool();

	CHECK(sleeps_at_last(p));
	CHECK(chunk_is_scrap(thread_self));
	atomic_store(&p->is_stuck, 0);
	for (int i = 0; i < 3; i++)
		CHECK(!sleeps(p));
	have_one(p);
	CHECK(sleeps_at_last(p));
	p->on_full = POOL_DROP;
	have_one(p);
}

/* Nothing has come back since a thread waited for as long as it may: others do
 * not wait at all. */
void test_host_lends_in_vain_for_all(void)
{
	struct pool *const p = lending_pool();

	chunk_switch(thread_self, 0);
	put_all(p, BUFFER_FULL, BUFFER_TAKEN);
	put_all(p, BUFFER_FREE, BUFFER_TAKEN);
	chunk_switch(thread_self, 0);
	CHECK(chunk_is_scrap(thread_self));
	have_one(p);
	CHECK(!sleeps(p));
	have_one(p);
	atomic_fetch_add(&p->given_back, 1);
	CHECK(sleeps_at_last(p));
	atomic_store(&p->is_stuck, 0);
	p->on_full = POOL_DROP;
	have_one(p);
}

/* A recorder that waits for the disk, or is dead, has no use for it. */
void test_host_lends_nothing_in_vain(void)
{
	struct pool *const p = lending_pool();
	int *const recorder = (int *)&p->recorder, owner = *recorder;

	atomic_store(&p->is_stuck, 1);
	CHECK(!sleeps(p));
	CHECK(chunk_is_scrap(thread_self));
	atomic_store(&p->is_stuck, 0);
	have_one(p);
	__atomic_store_n(recorder, owner | FUTEX_OWNER_DIED, __ATOMIC_RELAXED);
	CHECK(!sleeps(p));
	CHECK(chunk_is_scrap(thread_self));
	__atomic_store_n(recorder, owner, __ATOMIC_RELAXED);
	p->on_full = POOL_DROP;
	have_one(p);
}

/* Every thread that has a buffer waits for one that has none: who says that it
 * waits does not wait for that. */
void test_host_waits_for_no_thread_that_waits(void)
{
	struct pool *const p = lending_pool();

	p->on_full = POOL_WAIT;
	atomic_store(&p->is_stuck, STUCK_THREADS);
	CHECK(!sleeps(p));
	CHECK(chunk_is_scrap(thread_self));
	atomic_store(&p->is_stuck, STUCK_NOT);
	atomic_store(&frees, true);
	have_one(p);
	CHECK(sleeps_at_last(p));
	CHECK(!chunk_is_scrap(thread_self));
	p->on_full = POOL_DROP;
	have_one(p);
}

/* What has no pages is not taken, and nor is what lies behind it. */
void test_host_takes_no_closed_buffer(void)
{
	struct pool *const p = fresh_pool();

	chunk_switch(thread_self, 0);
	put_all(p, BUFFER_FULL, BUFFER_CLOSED);
	put_all(p, BUFFER_FREE, BUFFER_CLOSED);
	chunk_switch(thread_self, 0);
	chunk_switch(thread_self, 0);
	CHECK(chunk_is_scrap(thread_self));
	put_all(p, BUFFER_CLOSED, BUFFER_FREE);
	have_one(p);
}

void test_host_code_begins_where_its_function_does(void)
{
	const uint64_t start =
		(uint64_t)test_host_code_begins_where_its_function_does;

	CHECK_EQ(module_code_start(start), start);
	CHECK_EQ(module_code_start(start + 8), start);
	CHECK(module_code_start(start - 1) < start);
	CHECK_EQ(module_code_start((uint64_t)&start), 0);
}
