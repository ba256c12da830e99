/* hidden.c - functions that bring weft to Lua, and those that they stand for.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"
#include "tracer/host/lua_func/function.h"

#include <dlfcn.h>
#include <string.h>

/* Modules are not forgotten: those that ask for this are never unloaded. */
enum { HIDDEN_MODULES = 8 };
static struct { _Atomic uint64_t start, end; } hidden[HIDDEN_MODULES];
static _Atomic bool any_hidden;

bool lua_func_is_hidden(uint64_t address)
{
	if (likely(!atomic_load_explicit(&any_hidden, memory_order_relaxed)))
		return false;
	for (int i = 0; i < HIDDEN_MODULES; i++) {
		if (address >= atomic_load(&hidden[i].start) &&
		    address < atomic_load(&hidden[i].end))
			return true;
	}
	return false;
}

bool lua_func_source_is_hidden(const char *source)
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
			atomic_store(&any_hidden, true);
			return 0;
		}
	}
	return -1;
}

/* What the module puts in place of Lua's own functions. Entries are added and
 * never changed; the original is 0 until it is known. */
enum { STAND_INS = 32 };
static struct { _Atomic uint64_t ours, original; } stand_in[STAND_INS];

uint64_t lua_func_original(uint64_t address)
{
	for (int i = 0; i < STAND_INS; i++) {
		const uint64_t ours = atomic_load(&stand_in[i].ours);
		const uint64_t original = atomic_load(&stand_in[i].original);

		if (ours == 0)
			break;
		if (ours == address && original != 0)
			return original;
	}
	return address;
}

void lua_func_stands_for(uint64_t ours, uint64_t original)
{
	for (int i = 0; i < STAND_INS; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&stand_in[i].ours, &none,
						   ours)) {
			atomic_store(&stand_in[i].original, original);
			return;
		}
		if (none == ours)
			return;
	}
}
