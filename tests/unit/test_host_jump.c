/* test_host_jump.c - longjmp and what the shadow stack makes of it, inside this
 * program. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/host_pool.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#include <limits.h>
#include <setjmp.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static struct pool *shared_pool;
static jmp_buf back;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(32, 16, 1);
}

__attribute__((noinline)) static void jumper(int depth)
{
	__cyg_profile_func_enter((void *)jumper, __builtin_return_address(0));
	if (depth > 0)
		jumper(depth - 1);
	else if (thread_self)
		longjmp(back, 1);
	__cyg_profile_func_exit((void *)jumper, __builtin_return_address(0));
}

void test_host_longjmp_unwinds_what_it_skips(void)
{
	struct host_pool_tally t = { .chunks = 0 };

	if (setjmp(back) == 0)
		jumper(9);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, 10);
	CHECK_EQ(t.kind[REC_UNWIND], 1);
	CHECK_EQ(t.kind[REC_LEAVE], 0);
}

__attribute__((noinline)) static void plain(void)
{
	__cyg_profile_func_enter((void *)plain, __builtin_return_address(0));
	__cyg_profile_func_exit((void *)plain, __builtin_return_address(0));
}

/* Calls that are not recorded cost a look at one word each. */
void test_host_native_calls_off_and_on(void)
{
	struct host_pool_tally t = { .chunks = 0 };

	plain();
	CHECK_EQ(weft_native(0), 1);
	for (int i = 0; i < 3; i++) {
		plain();
		CHECK(thread_native_pool);
		CHECK(thread_native_pool != mapped_pool);
	}
	CHECK_EQ(weft_native(1), 0);
	plain();
	CHECK(thread_native_pool == mapped_pool);
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	CHECK_EQ(t.calls, 2);
}

/* The runtime of a sanitizer is part of the program, and none of it may be
 * jumped out of. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#include "tests/unit/step.h"

/* The next hook changes chunks. Returns whether a handler left it by a jump. */
static bool jumps_out_of_a_change(unsigned long instructions)
{
	plain();
	thread_self->quick = thread_self->limit = thread_self->at;
	if (sigsetjmp(step_back, 1) != 0)
		return true;
	step_begin(instructions);
	plain();
	return false;
}

static int buffers_in_use(void)
{
	int n = 0;

	for (uint32_t b = 0; b < 48; b++)
		n += buffer_state(atomic_load(pool_state(shared_pool, b))) !=
		     BUFFER_FREE;
	return n;
}

/* The call that was left may have been seen or not; the one before it and the
 * one after it are in chunks of their own, and no buffer is forgotten. */
void test_host_a_handler_jumps_out_of_a_change_of_chunks(void)
{
	const unsigned long tries = getenv("DEEP") ? 500 : 100;
	struct host_pool_tally t = { .chunks = 0 };
	unsigned long n = 0, stride;

	CHECK(!jumps_out_of_a_change(ULONG_MAX));
	stride = 1 + (ULONG_MAX - step_left) / tries;
	step_end();
	while (jumps_out_of_a_change(1 + n * stride)) {
		n++;
		plain();
		chunk_switch(thread_self, 0);
		host_pool_drain(shared_pool, &t, 0);
	}
	step_end();
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &t, 0);
	printf("%lu jumps, %lu calls\n", n, (unsigned long)t.calls);
	CHECK(n > tries / 2);
	CHECK(t.calls >= 2 * n + 4 && t.calls <= 3 * n + 4);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(t.ahead, 0);
	CHECK_EQ(buffers_in_use(), 1);
	CHECK_EQ(atomic_load(&thread_self->slot->lost[LOST_FULL]), 0);
}
#endif
