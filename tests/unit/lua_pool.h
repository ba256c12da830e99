/* lua_pool.h - the pool that a test of Lua's calls has from its start, and what
 * was read out of it. Included whole.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tests/unit/host_pool.h"
#include "tracer/host/thread/thread.h"

static struct pool *shared_pool;
static struct host_pool_tally tally;

__attribute__((constructor(101))) static void make_pool(void)
{
	shared_pool = host_pool_make(64, 64, 1);
}

static inline void drain(void)
{
	chunk_switch(thread_self, 0);
	host_pool_drain(shared_pool, &tally, 0);
}
