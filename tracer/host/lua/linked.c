/* linked.c - a Lua that is linked statically, but whose calls are led here
 * by its linker: from then on it is a library like a shared one.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/linked.h"
#include "tracer/host/lua/interpose.h"
#include "tracer/host/lua/library.h"

#include <errno.h>

static void lead(const struct weft_lua_linked *from)
{
	const unsigned long n = from->wraps < WEFT_LUA_WRAPS ? from->wraps :
				WEFT_LUA_WRAPS;

	for (unsigned long i = 0; i < n; i++) {
		if (from->real[i])
			from->used[i] = lua_interpose_ours[i];
	}
}

EXPORT void weft_lua_linked(const struct weft_lua_linked *linked)
{
	const int saved = errno;

	if (linked->size >= sizeof(*linked) && lua_vm_wanted() &&
	    lua_lib_linked(linked))
		lead(linked);
	errno = saved;
}

EXPORT void weft_lua_unlinked(const struct weft_lua_linked *linked)
{
	const int saved = errno;

	for (unsigned long i = 0; i < linked->wraps; i++)
		linked->used[i] = linked->real[i];
	lua_lib_unlinked(linked);
	errno = saved;
}
