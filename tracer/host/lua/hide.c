/* hide.c - which functions are weft's own: weft_lua_hide.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/hide.h"
#include "tracer/host/api/weft.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

/* Modules; where one is unloaded and another takes its place, that one's
 * functions stay hidden: the module asks not to be unloaded. */
enum { HIDDEN_MODULES = 8 };
static struct { _Atomic uint64_t start, end; } hidden[HIDDEN_MODULES];
static _Atomic int any;

int lua_hide_c(uint64_t address)
{
	if (likely(!atomic_load_explicit(&any, memory_order_relaxed)))
		return 0;
	for (int i = 0; i < HIDDEN_MODULES; i++) {
		if (address >= atomic_load(&hidden[i].start) &&
		    address < atomic_load(&hidden[i].end))
			return 1;
	}
	return 0;
}

int lua_hide_source(const char *source)
{
	return source && strcmp(source, "=[weft]") == 0;
}

EXPORT int weft_lua_hide(const void *address)
{
	struct dl_find_object o;

	if (_dl_find_object((void *)(uintptr_t)address, &o) != 0)
		return -1;
	for (int i = 0; i < HIDDEN_MODULES; i++) {
		const uint64_t start = (uint64_t)o.dlfo_map_start;
		uint64_t none = 0;

		if (atomic_load(&hidden[i].start) == start)
			return 0;
		if (atomic_compare_exchange_strong(&hidden[i].start, &none,
						   start)) {
			atomic_store(&hidden[i].end,
				     (uint64_t)o.dlfo_map_end);
			atomic_store(&any, 1);
			return 0;
		}
	}
	return -1;
}
