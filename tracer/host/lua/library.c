/* library.c - finds the real functions behind ours. Where a process holds
 * several Luas, or one that was opened with RTLD_LOCAL, RTLD_NEXT alone finds
 * the wrong one or none: so the caller's own dependencies are searched first.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/library.h"
#include "tracer/host/base/module.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/native/exclude.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct lua_abi lua_abi_54, lua_abi_53, lua_abi_52,
	lua_abi_51, lua_abi_21;
/* Left out where its headers were not there to build it. */
__attribute__((weak)) extern const struct lua_abi lua_abi_55;

static const struct lua_abi *const abis[] = {
	&lua_abi_55, &lua_abi_54, &lua_abi_53, &lua_abi_52,
	&lua_abi_51, &lua_abi_21,
};

enum { LIBS = 32, SPANS = 64 };

static struct lua_lib *_Atomic libs[LIBS];

/* Which library the code of a module means. Never changed once others see it,
 * and valid while no module has gone; after that another takes its place. */
struct span {
	uint64_t start, size;
	struct lua_lib *lib;
	uint32_t epoch;
};
static struct span *_Atomic spans[SPANS];

const weft_lua_function *lua_lib_ours;

/* --------------------------------------------------------------- libraries */

/* NULL: of no version that is known. */
static const struct lua_abi *abi_of(const struct weft_lua_api *api)
{
	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++) {
		if (abis[i] && abis[i]->accepts(api))
			return abis[i];
	}
	return NULL;
}

/* The link_map of the module that this address lies in, or NULL. */
static const void *module_of(const void *address)
{
	struct dl_find_object o;

	return address &&
	       _dl_find_object((void *)(uintptr_t)address, &o) == 0 ?
	       o.dlfo_link_map : NULL;
}

/* Calls the real dlclose, not ours: no module goes, since whoever had it open
 * has it still. */
static void release(void *handle)
{
	int (*const real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT,
							  "dlclose");

	if (real)
		real(handle);
}

/* The function of that name in this library itself, not in a dependency or in
 * ours. */
static weft_lua_function symbol(void *handle, const void *map, const char *name)
{
	void *const f = dlsym(handle, name);

	return module_of(f) == map ? (weft_lua_function)f : NULL;
}

/* Those that are in no table of a program's. */
static void fill_others(struct lua_lib *lib,
			const weft_lua_function real[WEFT_LUA_WRAPS])
{
	lib->resetthread = real[WEFT_LUA_WRAP_lua_resetthread];
	lib->closethread = real[WEFT_LUA_WRAP_lua_closethread];
	lib->lnewstate = real[WEFT_LUA_WRAP_luaL_newstate];
	lib->openjit = real[WEFT_LUA_WRAP_luaopen_jit];
	lib->setlevel = real[WEFT_LUA_WRAP_lua_setlevel];
}

static void find_opens(struct lua_lib *lib, void *handle, const void *map)
{
	static const char *const names[WEFT_LUA_OPENS] = {
#define X(name) #name,
		WEFT_LUA_OPENED(X)
#undef X
	};

	for (int i = 0; i < WEFT_LUA_OPENS; i++)
		lib->open[i] = symbol(handle, map, names[i]);
}

/* handle: of the library, from dlopen. */
static void fill(struct lua_lib *lib, void *handle, const void *map)
{
	lib->map = map;
	lib->api.size = sizeof(lib->api);
#define X(name) lib->api.name = symbol(handle, map, #name);
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
	lib->resetthread = symbol(handle, map, "lua_resetthread");
	lib->closethread = symbol(handle, map, "lua_closethread");
	lib->lnewstate = symbol(handle, map, "luaL_newstate");
	lib->openjit = symbol(handle, map, "luaopen_jit");
	lib->setlevel = symbol(handle, map, "lua_setlevel");
	find_opens(lib, handle, map);
	lib->abi = abi_of(&lib->api);
	lib->interposed = true;
}

static bool is_entry(const struct lua_lib *lib, const void *map,
		     weft_lua_function sethook)
{
	return lib->map == map && lib->api.lua_sethook == sethook;
}

/* The libraries one after the other; *i is 0 at first. NULL ends. */
static struct lua_lib *next_lib(int *i)
{
	return *i < LIBS ? atomic_load(&libs[(*i)++]) : NULL;
}

static struct lua_lib *known(const void *map, weft_lua_function sethook)
{
	struct lua_lib *lib;

	for (int i = 0; (lib = next_lib(&i)) != NULL;) {
		if (is_entry(lib, map, sethook))
			break;
	}
	return lib;
}

/* The one that is linked statically into this module. */
static struct lua_lib *linked_at(const void *map)
{
	struct lua_lib *lib;

	for (int i = 0; (lib = next_lib(&i)) != NULL;) {
		if (lib->linked && lib->map == map)
			break;
	}
	return lib;
}

/* Returns the library's entry; another thread's, if that was first. */
static struct lua_lib *enlist(struct lua_lib *lib)
{
	for (int i = 0; i < LIBS; i++) {
		struct lua_lib *old = NULL;

		if (atomic_compare_exchange_strong(&libs[i], &old, lib))
			return lib;
		if (is_entry(old, lib->map, lib->api.lua_sethook))
			return old;
	}
	return lib; /* works, but will be looked for again */
}

/* A handle of a module that is there, or NULL. */
static void *handle_of(const struct link_map *map)
{
	return dlopen(map->l_name[0] == '\0' ? NULL : map->l_name,
		      RTLD_LAZY | RTLD_NOLOAD);
}

/* The library that this function belongs to, made known if need be; or NULL. */
static struct lua_lib *lib_at(weft_lua_function sethook)
{
	const struct link_map *const map = module_of((void *)sethook);
	struct lua_lib *lib = known(map, sethook);
	void *handle;

	exclude_look((const void *)sethook);
	if (lib || !map)
		return lib;
	handle = handle_of(map);
	if (!handle)
		return NULL;
	lib = memory_get(sizeof(*lib));
	if (lib)
		fill(lib, handle, map);
	release(handle);
	return !lib ? NULL : enlist(lib);
}

/* ----------------------------------------------- names the program exports
 * A library that is loaded looks for Lua's functions in the program before it
 * looks here. So the program's names are led here in its symbol table, which is
 * read at each search. Links to a name that were made before remain. */

/* The Lua in the program, if names of it lead here. */
static struct lua_lib *_Atomic exported;

/* What may be done where the program has this; PROT_NONE: not known. bias: what
 * the loader added to the addresses in the file. */
static int rights_at(uint64_t at, uint64_t bias)
{
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	const ElfW(Phdr) *const end = part + getauxval(AT_PHNUM);

	for (; part < end; part++) {
		if (part->p_type == PT_LOAD &&
		    at - bias - part->p_vaddr < part->p_memsz)
			return (part->p_flags & PF_R ? PROT_READ : 0) |
			       (part->p_flags & PF_W ? PROT_WRITE : 0) |
			       (part->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return PROT_NONE;
}

static bool set(uint64_t *at, uint64_t bias, uint64_t value)
{
	const uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	void *const page = (void *)((uint64_t)at & ~(size - 1));
	const int rights = rights_at((uint64_t)at, bias);

	if (rights == PROT_NONE ||
	    mprotect(page, size, rights | PROT_WRITE) != 0)
		return false;
	*at = value;
	mprotect(page, size, rights);
	return true;
}

/* Lead the program's name of its function to ours. */
static void lead(struct lua_lib *lib, const char *name,
		 weft_lua_function real, weft_lua_function to)
{
	ElfW(Sym) *symbol = NULL;
	Dl_info info;
	uint64_t bias;

	if (!real || dladdr1((void *)real, &info, (void **)&symbol,
			     RTLD_DL_SYMENT) == 0 ||
	    !symbol || info.dli_saddr != (void *)real ||
	    strcmp(info.dli_sname, name) != 0)
		return;
	bias = (uint64_t)real - symbol->st_value;
	if (set(&symbol->st_value, bias, (uint64_t)to - bias))
		exported = lib;
	else
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_PASSED);
}

/* lib has this module's functions. A library's names need not be led here: it
 * is searched after us. */
static void lead_all(struct lua_lib *lib, const struct link_map *map)
{
	static const char *const names[WEFT_LUA_WRAPS] = {
#define X(name) #name,
		WEFT_LUA_WRAPPED(X)
#undef X
	};
	weft_lua_function real[WEFT_LUA_WRAPS];
	void *const handle = !map || map->l_name[0] != '\0' || exported ?
			     NULL : dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return;
	for (int i = 0; i < WEFT_LUA_WRAPS; i++)
		real[i] = symbol(handle, map, names[i]);
	if (!lib->linked)
		fill_others(lib, real);
	for (int i = 0; i < WEFT_LUA_WRAPS; i++)
		lead(lib, names[i], real[i], lua_lib_ours[i]);
	release(handle);
}

/* ------------------------------------------------------- linked statically */

/* f, if it lies in this module. A weak name may have led to another library, or
 * to ours. */
static weft_lua_function within(const void *map, weft_lua_function f)
{
	return module_of((void *)f) == map ? f : NULL;
}

/* A program that was linked long ago may know fewer functions than we do. */
static void fill_linked(struct lua_lib *lib, const void *map,
			const struct weft_lua_linked *from)
{
	weft_lua_function real[WEFT_LUA_WRAPS] = { NULL };

	for (unsigned long i = 0; i < from->wraps && i < WEFT_LUA_WRAPS; i++)
		real[i] = within(map, from->real[i]);
	memcpy(&lib->api, from->api, from->api->size < sizeof(lib->api) ?
	       from->api->size : sizeof(lib->api));
	if (from->size > offsetof(struct weft_lua_linked, opens)) {
		for (unsigned long i = 0; i < from->opens &&
		     i < WEFT_LUA_OPENS; i++)
			lib->open[i] = within(map, from->open[i]);
	}
	lib->map = map;
	lib->api.size = sizeof(lib->api);
#define X(name) lib->api.name = within(map, lib->api.name);
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
	fill_others(lib, real);
	lib->abi = abi_of(&lib->api);
	lib->interposed = from->sees_all() != 0;
	lib->linked = true;
}

struct lua_lib *lua_lib_linked(const struct weft_lua_linked *from)
{
	const void *const map = module_of(from->real);
	struct lua_lib *lib;

	if (!map || !within(map, from->api->lua_sethook))
		return NULL;
	lib = memory_get(sizeof(*lib));
	if (!lib)
		return NULL;
	fill_linked(lib, map, from);
	enlist(lib);
	lib = linked_at(map);
	if (lib)
		lead_all(lib, map);
	return lib;
}

void lua_lib_unlinked(const struct weft_lua_linked *from)
{
	struct lua_lib *const lib = linked_at(module_of(from->real));

	if (lib && lib != exported) { /* the program itself stays */
		lib->linked = false;
		lib->map = NULL;
		lib->api.lua_sethook = NULL;
	}
}

/* ----------------------------------------------------------------- callers */

/* The lua_sethook that this module would call if ours were not there. */
static weft_lua_function real_sethook(const struct link_map *caller)
{
	const void *const ours = module_of(&libs);
	void *f = NULL, *handle = NULL;

	if (caller && caller->l_name[0] != '\0')
		handle = dlopen(caller->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		f = dlsym(handle, "lua_sethook");
		release(handle);
	}
	if (!f || module_of(f) == ours)
		f = dlsym(RTLD_NEXT, "lua_sethook");
	/* Where this library was loaded last, the others come before it. Found
	 * with RTLD_DEFAULT, Lua would stay mapped as long as we are. */
	handle = f ? NULL : dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		f = dlsym(handle, "lua_sethook");
		release(handle);
	}
	return module_of(f) == ours ? NULL : (weft_lua_function)f;
}

/* Takes the place of an entry that is no longer valid. If there is none, the
 * loader is asked again each time. */
static void remember(const struct dl_find_object *o, struct lua_lib *lib,
		     uint32_t epoch)
{
	struct span *const made = memory_get(sizeof(*made));

	if (!made)
		return;
	made->start = (uint64_t)o->dlfo_map_start;
	made->size = (uint64_t)o->dlfo_map_end - made->start;
	made->lib = lib;
	made->epoch = epoch;
	for (int i = 0; i < SPANS; i++) {
		struct span *old = atomic_load(&spans[i]);

		if ((!old || old->epoch != epoch) &&
		    atomic_compare_exchange_strong(&spans[i], &old, made))
			return;
	}
}

static SLOW struct lua_lib *ask(const void *caller)
{
	const uint32_t epoch = atomic_load(&module_epoch);
	const int saved = errno;
	struct dl_find_object o;
	struct lua_lib *lib;

	if (_dl_find_object((void *)(uintptr_t)caller, &o) != 0)
		o.dlfo_link_map = NULL; /* made code: the global scope's */
	lib = linked_at(o.dlfo_link_map);
	if (!lib)
		lib = exported;
	if (!lib)
		lib = lib_at(real_sethook(o.dlfo_link_map));
	if (o.dlfo_link_map && lib)
		remember(&o, lib, epoch);
	errno = saved;
	return lib;
}

struct lua_lib *lua_lib_of(const void *caller)
{
	const uint32_t epoch = atomic_load_explicit(&module_epoch,
						    memory_order_relaxed);

	for (int i = 0; i < SPANS; i++) {
		const struct span *const p = atomic_load_explicit(&spans[i],
							memory_order_acquire);

		if (!p)
			break;
		if ((uint64_t)caller - p->start < p->size && p->epoch == epoch)
			return p->lib;
	}
	return ask(caller);
}

/* ------------------------------------------------------------ given tables */

/* The table may be of a program that knows fewer functions than we do. */
static struct lua_lib *copy_table(const struct weft_lua_api *api)
{
	struct lua_lib *lib = memory_get(sizeof(*lib));
	const size_t size = api->size < sizeof(*api) ? api->size :
			    sizeof(*api);
	const struct link_map *map;
	void *handle;

	if (!lib)
		return NULL;
	memcpy(&lib->api, api, size);
	map = module_of((void *)lib->api.lua_sethook);
	handle = !map ? NULL : handle_of(map);
	if (handle) {
		find_opens(lib, handle, map);
		release(handle);
	}
	/* A module for both 5.1 and LuaJIT finds ours if Lua has none. */
	if (module_of((void *)lib->api.luaJIT_setmode) == module_of(&libs))
		lib->api.luaJIT_setmode = NULL;
	lib->abi = abi_of(&lib->api);
	lib = enlist(lib);
	lead_all(lib, module_of((void *)lib->api.lua_sethook));
	return lib;
}

struct lua_lib *lua_lib_given(const struct weft_lua_api *api,
			      const void *caller)
{
	struct lua_lib *lib;

	/* A program with a shared Lua library gives our functions. */
	if (module_of((void *)api->lua_sethook) == module_of(&libs))
		return lua_lib_of(caller);
	lib = linked_at(module_of((void *)api->lua_sethook));
	if (!lib)
		lib = known(NULL, api->lua_sethook);
	return lib ? lib : copy_table(api);
}

/* Of a library that weft cannot record, no version is known. */
static bool is_of(const struct lua_lib *lib, enum vm_abi abi)
{
	return lib->abi && lib->abi->number == abi;
}

const struct lua_lib *lua_lib_running(const struct coroutine *co,
				      enum vm_abi abi)
{
	const struct lua_lib *lib, *only = NULL;

	if (co && co->vm && is_of(co->vm->lib, abi))
		return co->vm->lib;
	for (int i = 0; (lib = next_lib(&i)) != NULL;) {
		if (!is_of(lib, abi))
			continue;
		if (only)
			return NULL;
		only = lib;
	}
	return only;
}
