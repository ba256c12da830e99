/* test_host_whole.c - what a signal handler jumps out of, at any instruction,
 * is done or not begun: the birth of a thread's state and of a level above it,
 * a title's start and end, a question. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"

/* The runtime of a sanitizer is part of the program, and none of it may be
 * jumped out of. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
	!defined(__SANITIZE_THREAD__)
#include "tests/unit/host_pool.h"
#include "tests/unit/step.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#include <limits.h>
#include <pthread.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

enum { SMALL = 32, BIG = 16 };
static struct pool *shared_pool;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(SMALL, BIG, 0);
}

static unsigned long steps; /* of what was not left by a jump */

/* Calls it, and returns whether a handler left it by a jump after so many
 * instructions. */
static bool jumps_out(void (*what)(void), unsigned long instructions)
{
	if (sigsetjmp(step_back, 1) != 0)
		return true;
	step_begin(instructions);
	what();
	steps = instructions - step_left;
	step_end();
	return false;
}

/* ------------------------------------------------------------------ titles */

static void start(void)
{
	weft_start("one");
}

static void stop(void)
{
	weft_stop("one");
}

/* The next stop ends it, if it runs. */
static void check_title(void)
{
	struct host_pool_tally t;

	stop();
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(atomic_load(&process_slot->titles), 0);
	CHECK_EQ(atomic_load(&shared_pool->generation) & POOL_ON, 0);
}

static unsigned moments, half_done;

/* Called wherever a handler could come. */
static void look_at_titles(void)
{
	moments++;
	half_done += (atomic_load(&process_slot->titles) != 0) !=
		     ((atomic_load(&shared_pool->generation) & POOL_ON) != 0);
}

void test_host_a_title_runs_or_does_not(void)
{
	unsigned long n = 0;

	weft_stop(NULL);
	start(); /* for what is done once */
	check_title();
	/* The mark comes later, and is long. */
	while (n < 200 && jumps_out(start, 1 + n)) {
		n++;
		check_title();
	}
	CHECK_EQ(n, 200);
	step_each = look_at_titles;
	jumps_out(start, ULONG_MAX);
	jumps_out(stop, ULONG_MAX);
	step_each = NULL;
	printf("%u moments\n", moments);
	CHECK(moments > 1000);
	CHECK_EQ(half_done, 0);
	check_title();
}

/* --------------------------------------------------------------- questions */

static void ask(void)
{
	mapped_ask(1, 2, "@/nonexistent", 13);
}

void test_host_a_question_is_asked_or_not(void)
{
	unsigned long n = 0;

	while (atomic_load(&shared_pool->question.state) != ASKING_ASKED &&
	       jumps_out(ask, 1 + n)) {
		n++;
		CHECK(atomic_load(&shared_pool->question.state) !=
		      ASKING_TAKEN);
	}
	printf("%lu jumps\n", n);
	CHECK(n > 20);
	atomic_store(&shared_pool->question.state, ASKING_FREE);
}

/* ------------------------------------------------------------------ births */

static void call(void)
{
	__cyg_profile_func_enter((void *)call, __builtin_return_address(0));
	__cyg_profile_func_exit((void *)call, __builtin_return_address(0));
}

static unsigned long after;
static bool above; /* a hook is at work, whose handler it is that calls */
static bool jumped;

static void *in_a_thread(void *none)
{
	if (above) {
		call();
		thread_self->busy = (uint64_t)__builtin_frame_address(0);
	}
	jumped = jumps_out(call, after);
	call();
	if (above) {
		thread_self->busy = 0;
		call();
	}
	return none;
}

/* How many places of threads are taken; then none is. */
static int take_back_slots(void)
{
	int n = 0;

	for (uint32_t i = 0; i < shared_pool->thread_slots; i++) {
		struct pool_thread *const t = pool_thread(shared_pool, i);

		if (atomic_exchange(&t->state, SLOT_FREE) != SLOT_FREE) {
			host_pool_mutex(&t->alive);
			n++;
		}
	}
	return n;
}

static int buffers_in_use(void)
{
	int n = 0;

	for (uint32_t b = 0; b < SMALL + BIG; b++)
		n += buffer_state(atomic_load(pool_state(shared_pool, b))) !=
		     BUFFER_FREE;
	return n;
}

/* Does what it has come to when the thread has ended have one place, and no
 * buffer? */
static void check_birth(unsigned long n, struct host_pool_tally *t)
{
	pthread_t thread;

	after = n;
	REQUIRE(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
	pthread_join(thread, NULL);
	host_pool_drain(shared_pool, t, 0);
	CHECK_EQ(take_back_slots(), 1);
	CHECK_EQ(buffers_in_use(), 0);
}

static void check_births(bool is_above)
{
	const unsigned long tries = getenv("DEEP") ? 500 : 60;
	struct host_pool_tally t = { .chunks = 0 };
	unsigned long n = 0, stride;

	above = is_above;
	check_birth(ULONG_MAX, &t);
	stride = 1 + steps / tries;
	do
		check_birth(1 + n * stride, &t);
	while (jumped && ++n < 2 * tries);
	printf("%lu jumps, %lu calls\n", n, (unsigned long)t.calls);
	CHECK(n > tries / 2);
	CHECK(t.calls >= n + 2);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.ahead, 0);
}

void test_host_a_thread_is_born_or_not(void)
{
	weft_resume();
	check_births(false);
	weft_pause();
}

void test_host_a_level_is_born_or_not(void)
{
	weft_resume();
	check_births(true);
	weft_pause();
}
#endif
