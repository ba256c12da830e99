/* switch_api.c - switches of coroutines told by who makes them, where no call
 * of lua_resume can be seen: weft_lua_resuming, weft_lua_resumed.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/region.h"
#include "tracer/host/lua/call_scope.h"
#include "tracer/host/api/weft.h"

#include <errno.h>
#include <string.h>

struct announced {
	struct lua_entry entry;
	struct coroutine *co;
	uint32_t outside;
};

_Static_assert(sizeof(struct announced) <= sizeof(struct weft_lua_switch),
	       "room for what is announced");

static struct coroutine *served(lua_State *L)
{
	struct coroutine *const co =
		!process_pool || !L ? NULL : lua_vm_find(L);

	return co && co->vm && co->vm->lib->abi &&
	       !co->vm->detached ? co : NULL;
}

/* L's object, made if its VM is known. */
static struct coroutine *meet(lua_State *L, lua_State *from)
{
	struct coroutine *const co = served(L);
	const struct coroutine *const other = served(from);

	if (co || !other || !L || lua_vm_find(L))
		return co;
	return lua_vm_thread_met(L, lua_vm_find(other->vm->main));
}

EXPORT int weft_lua_resuming(lua_State *L, lua_State *from,
			     struct weft_lua_switch *to)
{
	const int saved = errno;
	struct announced a = { .co = meet(L, from), .outside = region_depth };

	if (a.co && !a.co->vm->lib->map &&
	    a.co->vm->lib->abi->resumable(&a.co->vm->lib->api, L, 0, 0)) {
		region_depth += a.co->inside;
		lua_around_resume(&a.entry, a.co, HERE);
	} else {
		a.co = NULL;
	}
	memcpy(to, &a, sizeof(a));
	errno = saved;
	return a.co != NULL;
}

EXPORT void weft_lua_resumed(const struct weft_lua_switch *from)
{
	const int saved = errno;
	struct announced a;
	int status;

	memcpy(&a, from, sizeof(a));
	if (a.co) {
		status = lua_vm_status(a.co);
		lua_around_suspend(&a.entry, status, HERE);
		a.co->inside = region_back(a.outside,
					   status == LUA_STATUS_YIELD, HERE);
	}
	errno = saved;
}
