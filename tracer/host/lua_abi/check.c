/* check.c - tries the layout on a Lua state of our own, that nobody
 * sees: each call event read by layout, without ever faulting, and compared
 * with the public API's answers. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/native/exclude.h"

/* The layout is tried as it is used, but for the way a word is read. */
static uint64_t careful_word(uint64_t at);
#define LAYOUT_WORD careful_word
#include "tracer/host/lua_abi/tree.h"
#include "tracer/host/lua_abi/compat.h"

#include <sys/mman.h>

enum { ARENA = 1 << 20, LEAST_EVENTS = 20, WRITTEN_MOST = 16 };

struct trial {
	const struct weft_lua_api *api;
	char *arena;
	size_t used;
	int events, wrong;
	int tails;              /* seen in the code less seen as events */
	int faulted;
	/* What the main function that runs is found to hold. */
	uint64_t written[WRITTEN_MOST];
	uint32_t count, twins;  /* twins: how many of TWINS have run */
};

/* For C functions and hooks, which are given a lua_State alone. */
static THREAD_LOCAL struct trial *trial;

/* The program's malloc may be instrumented, or count. */
static void *allocate(void *ud, void *old, size_t size, size_t wanted)
{
	struct trial *const t = ud;
	void *p;

	if (wanted == 0)
		return NULL;
	if (old && wanted <= size)
		return old;
	wanted = (wanted + 15) & ~(size_t)15;
	if (t->used + wanted > ARENA)
		return NULL;
	p = t->arena + t->used;
	t->used += wanted;
	if (old)
		memcpy(p, old, size);
	return p;
}

/* --------------------------------------------------- reading that may fail */

static uint64_t careful_word(uint64_t at)
{
	uint64_t v = 0;

	if (!memory_copy(&v, (const void *)at, sizeof(v))) {
		trial->faulted = 1;
		return 0;
	}
	return v;
}

static int same_text(uint64_t string, const lua_Debug *d)
{
	return string + STRING_TEXT == (uint64_t)d->source &&
	       layout_length(string) == ways_source_length(d);
}

/* ----------------------------------------------- functions in the main one */

/* Has functions on the same lines, which are called in the order of the text,
 * one written in another, and constants of other kinds. */
static const char script[] =
	"local light, call, yield, resume = ...\n"
	"local function a(...)\n\n light() return 1 end\n"
	"local function b(x)\n\n\n return a(x) end\n"
	"local c c = function(n)\n if n > 0 then local r = c(n - 1) return r "
	"end call(b) end\n"
	"a(1, 2, 3) b(1) c(3) call(a)\n"
	"resume(function()\n b(1) yield() a() end)\n"
	"for i = 1, 3 do local f = function()\n\n\n return i end f() end\n"
	"local x, t = 0.5, {x = 'y'} local function p() end local function q() "
	"local x, r = 1.5, function() return {x = 'z'} end r() end "
	"local s = function() end p() q() s()\n";

enum { WRITTEN = 9, TWINS = 4, TWINS_LINE = 18 };

static void find_written(uint64_t top)
{
	struct lua_tree t;
	uint64_t at;

	trial->count = trial->twins = 0;
	tree_begin(&t, top);
	while ((at = tree_next(&t)) != 0 && trial->count < WRITTEN_MOST)
		trial->written[trial->count++] = at;
	if (trial->count != WRITTEN)
		trial->wrong++;
}

/* Is the function with these lines, which runs, where it must be? */
static int is_written(uint64_t at, uint64_t lines)
{
	uint32_t i = 0, before = 0;

	while (i < trial->count && trial->written[i] != at)
		before += layout_word(trial->written[i++] + PROTO_LINES) ==
			  lines;
	return i < trial->count && (layout_first(lines) != TWINS_LINE ||
				    before == trial->twins++);
}

/* ------------------------------------------------------------- one event */

static int same_function(uint64_t L, uint64_t id, const lua_Debug *d,
			 uint64_t c_function)
{
	int is_c;
	const uint64_t at = layout_callee(L, id, &is_c);
	uint64_t lines;

	if (is_c != (c_function != 0))
		return 0;
	if (is_c)
		return at == c_function;
	lines = layout_word(at + PROTO_LINES);
	if (layout_first(lines) != d->linedefined ||
	    layout_last(lines) != d->lastlinedefined ||
	    !same_text(layout_word(at + PROTO_SOURCE), d))
		return 0;
	if (d->linedefined != 0)
		return is_written(at, lines);
	find_written(at);
	return 1;
}

/* Also one further up. */
static int same_callers(lua_State *L, uint64_t id)
{
	lua_Debug d;

	for (int level = 1; level <= 2; level++) {
		id = layout_caller((uint64_t)L, id);
		if (!API(trial->api, lua_getstack)(L, level, &d))
			return !layout_is_call((uint64_t)L, id);
		/* A tail call that was lost has a level and no frame. */
		if (layout_id(&d) == 0)
			return 1;
		if (layout_id(&d) != id || !layout_is_call((uint64_t)L, id))
			return 0;
	}
	return 1;
}

static void try_event(lua_State *L, lua_Debug *ar)
{
	const struct weft_lua_api *const api = trial->api;
	const uint64_t id = layout_id(ar);
	uint64_t c_function;

#if WEFT_LUA_ABI == 51
	if (ar->event == LUA_HOOKTAILRET) {
		trial->tails--;
		return;
	}
	if (ar->event == LUA_HOOKRET)
		return;
#endif
	API(api, lua_getinfo)(L, "Sf", ar);
	c_function = (uint64_t)API(api, lua_tocfunction)(L, -1);
	API(api, lua_settop)(L, -2);
	trial->events++;
	if (!same_callers(L, id) ||
	    !same_function((uint64_t)L, id, ar, c_function))
		trial->wrong++;
	trial->tails += lua_hook_is_tail((uint64_t)L, id, c_function != 0);
}

/* ------------------------------------------------------------ a workload */

static int light(lua_State *L)
{
	(void)L;
	return 0;
}

static int call(lua_State *L)
{
	API(trial->api, lua_pushvalue)(L, 1);
	ways_call(trial->api, L);
	return 0;
}

static int yield(lua_State *L)
{
	return ways_yield(trial->api, L);
}

/* Runs the function given as a coroutine, to its second stop. */
static int resume(lua_State *L)
{
	lua_State *const co = API(trial->api, lua_newthread)(L);

	API(trial->api, lua_pushvalue)(L, 1);
	API(trial->api, lua_xmove)(L, co, 1);
	ways_resume(trial->api, co, L);
	ways_resume(trial->api, co, L);
	return 0;
}

struct text { const char *at; size_t size; };

static const char *read_text(lua_State *L, void *ud, size_t *size)
{
	struct text *const t = ud;

	(void)L;
	*size = t->size;
	t->size = 0;
	return t->at;
}

static int run(lua_State *L, const char *name)
{
	const struct weft_lua_api *const api = trial->api;
	struct text t = { script, sizeof(script) - 1 };

	if (ways_load(api, L, read_text, &t, name) != 0)
		return 0;
	API(api, lua_pushcclosure)(L, light, 0);
	API(api, lua_pushnil)(L);
	API(api, lua_pushcclosure)(L, call, 1);
	API(api, lua_pushcclosure)(L, yield, 0);
	API(api, lua_pushcclosure)(L, resume, 0);
	return ways_pcall(api, L, 4) == 0;
}

static int try_all(struct trial *t)
{
	lua_State *const L = API(t->api, lua_newstate)(allocate, t);
	const int mask = WEFT_LUA_ABI == 51 ? LUA_MASKCALL | LUA_MASKRET :
			 LUA_MASKCALL;
	int ran;

	if (!L)
		return 0;
	API(t->api, lua_sethook)(L, try_event, mask, 0);
	ran = run(L, "=weft") &&
	      run(L, "=a name of more than forty bytes, which is kept apart");
	API(t->api, lua_sethook)(L, NULL, 0, 0);
	if (exclude_learns())
		lua_hook_learn(t->api, L);
	API(t->api, lua_close)(L);
	return ran && t->events >= LEAST_EVENTS && t->wrong == 0 &&
	       t->tails == 0 && !t->faulted;
}

int lua_hook_check(const struct weft_lua_api *api)
{
	struct trial t = { .api = api };
	int right;

	t.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t.arena == MAP_FAILED)
		return 0;
	trial = &t;
	right = try_all(&t);
	trial = NULL;
	munmap(t.arena, ARENA);
	return right;
}
