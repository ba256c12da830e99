/* coroutine.c - the process-wide table of lua_States, and coroutines' births.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua_vm/coroutine.h"

/* ----------------------------------------------------- table of lua_States */

static struct pointer_map all;

/* The objects this thread asked for last: at says whose they still are. */
enum { NEAR_BITS = 4 };
static THREAD_LOCAL struct coroutine *near[1 << NEAR_BITS];

/* Lua states are aligned to 16 bytes. */
static uint64_t hash_of(const lua_State *L)
{
	return (uint64_t)L >> 4;
}

static bool is_of(const void *entry, const void *L)
{
	return ((const struct coroutine *)entry)->L == L;
}

static struct coroutine **near_of(const lua_State *L)
{
	return &near[hash_place(hash_of(L), NEAR_BITS)];
}

static SLOW struct coroutine *look_up(const lua_State *L)
{
	return pointer_map_find(&all, hash_of(L), is_of, L);
}

/* The same, and remembers it. */
static SLOW struct coroutine *bring_near(const lua_State *L)
{
	struct coroutine *const co = look_up(L);

	if (!co || co->at != L)
		return NULL;
	*near_of(L) = co;
	return co;
}

static struct coroutine *if_known(struct coroutine *co)
{
	return co && co->vm ? co : NULL;
}

static struct coroutine *if_served(struct coroutine *co)
{
	return co && co->vm && co->vm->lib->abi && !co->vm->detached ? co :
	       NULL;
}

static SLOW struct coroutine *find_far(const lua_State *L)
{
	return if_known(bring_near(L));
}

static SLOW struct coroutine *serve_far(const lua_State *L)
{
	return if_served(bring_near(L));
}

struct coroutine *lua_co_find(lua_State *L)
{
	struct coroutine *const co = *near_of(L);

	return likely(co && co->at == L) ? if_known(co) : find_far(L);
}

struct coroutine *lua_co_served(lua_State *L)
{
	struct coroutine *co;

	if (!mapped_pool || !L)
		return NULL;
	co = *near_of(L);
	return likely(co && co->at == L) ? if_served(co) : serve_far(L);
}

/* What passes by our functions and has our hook is looked at anew all the
 * time. */
static void forget(void *entry, const void *is_blind)
{
	struct coroutine *const co = entry;

	/* In the next recording Lua may not be sampled. */
	if (co->vm && co->vm->sampled)
		lua_co_holder(co)->hooked = co->hooked = false;
	if (co->vm)
		co->vm->asked = co->vm->turned = co->vm->wanted = 0;
	if (*(const bool *)is_blind || !co->vm || co->vm->interposed ||
	    !lua_co_holder(co)->hooked)
		co->at = NULL;
}

_Atomic uint32_t lua_co_forgot;

void lua_co_forget(bool is_blind)
{
	atomic_fetch_add(&lua_co_forgot, 1);
	pointer_map_each(&all, forget, &is_blind);
}

static void turned(void *entry, const void *of)
{
	const struct lua_vm *const vm = of;
	struct coroutine *const co = entry;

	if (co->vm != vm)
		return;
	if (vm->turned) {
		co->gapped = co->gapped || co->count > 0;
		co->count = 0;
	} else {
		co->keeps = co->hooked = false;
	}
	co->asleep = 0;
}

void lua_co_turned(const struct lua_vm *vm)
{
	pointer_map_each(&all, turned, vm);
}

struct coroutine *lua_co_forgotten(const lua_State *L)
{
	struct coroutine *const co = look_up(L);

	return co && co->vm ? co : NULL;
}

/* ---------------------------------------------------- objects used again
 * Where the heap churns, coroutines come to lie at ever new addresses. What no
 * longer looks like a lua_State of its VM is dead, and its object is for a new
 * one of that VM. VMs share the heap: whoever gives an object to another
 * lua_State holds it meanwhile. */

_Atomic uint32_t lua_co_objects;

/* So many are made before one is used again, which takes a look at memory. */
enum { FRESH = 8192 };

static bool hold(struct coroutine *co)
{
	return !__atomic_exchange_n(&co->held, true, __ATOMIC_ACQUIRE);
}

static void let_go(struct coroutine *co)
{
	__atomic_store_n(&co->held, false, __ATOMIC_RELEASE);
}

/* The object of L, held; NULL: there is none, or it is about to be another
 * lua_State's. */
static struct coroutine *hold_object(const lua_State *L)
{
	struct coroutine *const co = look_up(L);

	if (!co || !hold(co))
		return NULL;
	if (co->L == L)
		return co;
	let_go(co);
	return NULL;
}

static bool take_dead(void *entry, const void *vm)
{
	struct coroutine *const co = entry;

	if (co->vm != vm || co->own || co->vm->lib->abi->lives(co) ||
	    !hold(co))
		return false;
	if (co->vm == vm)
		return true;
	let_go(co);
	return false;
}

/* vm: whose coroutine it is to be; NULL: a main state. */
static struct coroutine *used_again(lua_State *L, const struct lua_vm *vm)
{
	struct coroutine *const co =
		!vm || !vm->lib->abi || kernel_confined ||
		atomic_load(&lua_co_objects) < FRESH ? NULL :
		pointer_map_offer(&all, hash_of(L), take_dead, vm);

	if (co) {
		co->at = NULL;
		co->L = L;
	}
	return co;
}

/* The object of L, made if need be, and held; NULL: no memory, or the table is
 * full. */
static struct coroutine *object_of(lua_State *L, const struct lua_vm *vm)
{
	struct coroutine *co = hold_object(L);

	if (!co)
		co = used_again(L, vm);
	if (co)
		return co;
	co = memory_get(sizeof(*co));
	if (!co)
		return NULL;
	co->L = L;
	co->held = true;
	if (pointer_map_add(&all, hash_of(L), is_of, L, co) != co)
		return NULL;
	atomic_fetch_add(&lua_co_objects, 1);
	return co;
}

/* ------------------------------------------------------------------ births */

/* Whoever lived at this address before is gone. */
static void settle(struct coroutine *co, struct lua_vm *vm, uint64_t serial)
{
	co->vm = vm;
	co->at = co->L;
	co->serial = serial;
	co->app_hook = NULL;
	co->app_mask = co->app_count = 0;
	co->hooked = co->ended = co->keeps = co->gapped = false;
	co->closing = false;
	co->window = UINT32_MAX;
	co->count = co->known_at = co->asleep = co->regions = 0;
	let_go(co);
}

struct coroutine *lua_co_main(lua_State *L)
{
	struct coroutine *const co = object_of(L, NULL);

	if (co)
		settle(co, NULL, 0);
	return co;
}

void lua_co_create(struct thread_state *s, struct coroutine *co, uint64_t now)
{
	const bool keeps = BROKEN(recycle) && lua_co_has_serial(co);

	co->ended = co->keeps = co->gapped = co->closing = false;
	co->count = 0;
	lua_vm_name(s, co->vm);
	chunk_need(s, 4);
	lua_vm_name(s, co->vm); /* in the chunk that the record goes to */
	co->serial = shadow_create(s, keeps ? co->serial : 0, co->vm->serial,
				   now);
}

/* A new lua_State runs its creator's hook. */
static struct coroutine *child(lua_State *L, const struct coroutine *from)
{
	struct coroutine *const co = object_of(L, from->vm);

	if (!co)
		return NULL;
	settle(co, from->vm, BROKEN(recycle) && lua_co_has_serial(co) ?
	       co->serial : LUA_UNBORN);
	co->app_hook = from->app_hook;
	co->app_mask = from->app_mask;
	co->app_count = from->app_count;
	co->hooked = from->hooked;
	CHECKED(lua_co_valid(co));
	return co;
}

void lua_co_made(lua_State *L, const struct coroutine *from, uint64_t sp)
{
	struct coroutine *const co = child(L, from);
	struct thread_state *s;

	if (!co || from->vm->serial == 0)
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	lua_co_create(s, co, chunk_clock(s));
	thread_release(s);
}

void lua_co_unknown(const lua_State *L)
{
	struct coroutine *const co = hold_object(L);

	if (!co)
		return;
	co->vm = NULL;
	let_go(co);
}

struct coroutine *lua_co_met(lua_State *L, const struct coroutine *main)
{
	struct coroutine *const co = child(L, main);

	if (co)
		co->hooked = true;
	return co;
}

bool lua_co_valid(const struct coroutine *co)
{
	if (!lua_vm_valid(co->vm) || co->count > co->room ||
	    (co->serial == 0) != (co->L == co->vm->main) ||
	    (co->app_mask != 0 && !co->app_hook) ||
	    (co->keeps && !lua_co_has_serial(co)))
		return false;
	for (uint32_t i = 0; co->keeps && i < co->count; i++) {
		if (!lua_co_owns(co, &co->kept[i]) ||
		    !(co->kept[i].flags & FRAME_SETTLED))
			return false;
	}
	return true;
}

int lua_co_status(const struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;
	const int status = ((int (*)(lua_State *))lib->api.lua_status)(co->L);

	return status > LUA_STATUS_YIELD && lib->abi->goes_on &&
	       lib->abi->goes_on(co) ? LUA_STATUS_OK : status;
}
