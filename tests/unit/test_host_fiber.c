/* test_host_fiber.c - native coroutines by their stacks. links: host
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/host_pool.h"
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/pool/process.h"

__attribute__((constructor(101))) static void make_pool(void)
{
	host_pool_make(64, 64, 1);
}

/* Addresses of the same places in the table, until it has no more. */
void test_host_fibers_without_room_are_counted(void)
{
	enum { BITS = 20, MOST = 1000 };
	uint64_t inverse = GOLDEN, n = 0;

	while (inverse * GOLDEN != 1)
		inverse *= 2 - inverse * GOLDEN;
	if (!CHECK(process_ready()))
		return;
	while (n < MOST && fiber_at((UINT64_C(1) << (64 - BITS) | n) * inverse))
		n++;
	printf("%u fibers\n", (unsigned)n);
	CHECK(n < MOST);
	CHECK_EQ(mapped_pool->unrecorded, 1);
	CHECK(atomic_load(&process_slot->dropped) & TROUBLE_NO_MEMORY);
}
