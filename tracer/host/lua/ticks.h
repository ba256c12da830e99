/* ticks.h - a thread that runs Lua has a timer of its CPU time: at its ticks
 * the lua_State that runs there is asked to note its stack. What is not known
 * to run here is left alone.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/kernel.h"
#include "tracer/host/lua/ask.h"
#include "tracer/host/pool/process.h"

/* As often as the kernel's clock ticks, mostly: a timer of CPU time cannot come
 * more often. */
#define LUA_TICK_NS UINT64_C(1000000)

/* Signals that the program has taken for itself since: bits. */
extern HIDDEN _Atomic uint32_t lua_tick_taken;

/* This thread has no timer in this process, or recording has ended that. */
SLOW void lua_tick_begin(void);

INLINE void lua_tick_keep(void)
{
	if (unlikely(lua_ticks.process != process_serial ||
		     lua_ticks.without !=
		     atomic_load_explicit(&lua_tick_taken,
					  memory_order_relaxed) ||
		     (kernel_confined && lua_ticks.timer >= 0)))
		lua_tick_begin();
}
