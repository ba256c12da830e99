/* test_host_jump.c - longjmp and what the shadow stack makes of it, inside this
 * program. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/host_pool.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

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
