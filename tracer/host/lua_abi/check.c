/* check.c - tries the layout on a Lua state of its own, which nobody else sees:
 * each call event is read by the layout, without ever faulting, and compared
 * with the answers of the public API. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/lua/alloc.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/native/exclude.h"

/* The layout is tried as it is used, but for how a word is read. */
static uint64_t careful_word(uint64_t at);
#define LAYOUT_WORD careful_word
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/lua_abi/code.h"

enum { MEMORY = 1 << 20, LEAST_EVENTS = 20, WRITTEN_MOST = 16 };

struct trial {
	const struct weft_lua_api *api;
	char *memory;
	size_t used;
	int events, wrong;
	uint64_t collector;     /* layout_collector, lately; how often it was */
	int steps;              /* another than the time before */
	int tails;              /* tail calls seen in the code, less events */
	uint64_t main, main_at; /* the tried state; as in struct lua_lib */
	uint64_t running[2];    /* words that may be it: bits */
	/* Halves of words that say in each C function that one runs, and that
	 * have said that bytecode does. */
	uint64_t in_c[4], in_code[4];
	uint64_t in_all;        /* whose they are; 0: nobody looks */
	bool faulted;
	/* The functions that the running main function is found to hold. */
	uint64_t written[WRITTEN_MOST];
	uint32_t count, twins;  /* twins: how many of TWINS have run */
};

/* For C functions and hooks, which are given a lua_State alone. */
static THREAD_LOCAL struct trial *trial;

/* Which halves of the words that a VM's states share have this value? */
static void note_halves(struct trial *t, uint64_t *bits, uint32_t value,
			bool all_times);

/* In place of the program's malloc, which may be instrumented, or count. */
static void *allocate(void *ud, void *old, size_t size, size_t wanted)
{
	struct trial *const t = ud;
	void *p;

	if (wanted == 0)
		return NULL;
	if (t->in_all != 0)
		note_halves(t, t->in_code, LAYOUT_RUNS_CODE, false);
	if (old && wanted <= size)
		return old;
	wanted = (wanted + 15) & ~(size_t)15;
	if (t->used + wanted > MEMORY)
		return NULL;
	p = t->memory + t->used;
	t->used += wanted;
	if (old)
		memcpy(p, old, size);
	return p;
}

/* Reads 0 where nothing can be read, and says so. */
static uint64_t careful_word(uint64_t at)
{
	uint64_t v = 0;

	if (memory_copy(&v, (const void *)at, sizeof(v)))
		return v;
	trial->faulted = true;
	return 0;
}

/* --------------------------------------------------------- running scripts */

static int call(lua_State *L)
{
	API(trial->api, lua_pushvalue)(L, 1);
	compat_call(trial->api, L);
	return 0;
}

/* Where Lua can, what is called may yield. */
static int protect(lua_State *L)
{
	API(trial->api, lua_pushvalue)(L, 1);
	compat_pcall_on(trial->api, L);
	return 0;
}

static int yield(lua_State *L)
{
	return compat_yield(trial->api, L);
}

static bool is_running_told(lua_State *L, bool is)
{
#if WEFT_LUA_ABI == 21
	return layout_is_running((uint64_t)L) == is;
#else
	(void)L;
	(void)is;
	return true;
#endif
}

/* Runs a function as a coroutine, to its third stop or its end. */
static int resume(lua_State *L)
{
	lua_State *const co = API(trial->api, lua_newthread)(L);

	API(trial->api, lua_pushvalue)(L, 1);
	API(trial->api, lua_xmove)(L, co, 1);
	for (int i = 0; i < 3; i++) {
		if (i == 0 || API(trial->api, lua_status)(co) == LUA_YIELD)
			compat_resume(trial->api, co, L);
		trial->wrong += !is_running_told(co, false);
	}
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

static bool load(lua_State *L, const char *script, const char *name)
{
	struct text t = { script, strlen(script) };

	return compat_load(trial->api, L, read_text, &t, name) == 0;
}

/* Run a script, which gets these functions as its arguments, nil for NULL. The
 * function called closure gets an upvalue, so that it is no light one. */
static bool run(lua_State *L, const char *script, const char *name,
		const lua_CFunction *args, int count, lua_CFunction closure)
{
	const struct weft_lua_api *const api = trial->api;

	if (!load(L, script, name))
		return false;
	for (int i = 0; i < count; i++) {
		if (!args[i] || args[i] == closure)
			API(api, lua_pushnil)(L);
		if (args[i])
			API(api, lua_pushcclosure)(L, args[i],
						   args[i] == closure);
	}
	return compat_pcall(api, L, count) == 0;
}

/* --------------------------------------------- what the layout is tried on */

/* Has functions on the same lines, which are called in the order of the text,
 * one written in another, and constants of other kinds. */
static const char tried_script[] =
	"local light, call, yield, resume = ...\n"
	"local function a(...)\n\n light() return 1 end\n"
	"local function b(x)\n\n\n return a(x) end\n"
	"local c c = function(n)\n if n > 0 then local r = c(n - 1) return r "
	"end call(b) end\n"
	"a(1, 2, 3) b(1) c(3) call(a)\n"
	"resume(function()\n b(1) yield() a() end)\n"
	"for i = 1, 3 do local f = function()\n\n\n return i end f() end "
	"local u, v = function() return 'u' end, function() return 'v' end\n"
	"local x, t = 0.5, {x = 'y'} local function p() end local function q() "
	"local x, r = 1.5, function() return {x = 'z'} end r() end "
	"local s = function() end p() q() s()\n";

enum { WRITTEN = 11, TWINS = 4, TWINS_LINE = 18 };

/* Of those written there, these two do the same: p and s. */
enum { SAME_FIRST = 7, SAME_SECOND = 10 };

static int light(lua_State *L)
{
	(void)L;
	return 0;
}

static bool run_tried(lua_State *L)
{
	static const lua_CFunction args[] = { light, call, yield, resume };

	return run(L, tried_script, "=weft", args, 4, call) &&
	       run(L, tried_script,
		   "=a name of more than forty bytes, which is kept apart",
		   args, 4, call);
}

/* Has each of them a body of its own, but for the two? */
static bool are_bodies_told(void)
{
	uint64_t body[WRITTEN];

	for (uint32_t i = 0; i < WRITTEN; i++)
		body[i] = layout_body(trial->written[i]);
	for (uint32_t i = 0; i < WRITTEN; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if ((body[i] == body[k]) != (k == SAME_FIRST &&
						     i == SAME_SECOND))
				return false;
		}
	}
	return true;
}

/* A main function begins: looks for the functions written in it. */
static void find_written(uint64_t top)
{
	struct proto_tree t;
	uint64_t at;

	trial->count = trial->twins = 0;
	proto_tree_begin(&t, top);
	while ((at = proto_tree_next(&t)) != 0 && trial->count < WRITTEN_MOST)
		trial->written[trial->count++] = at;
	if (trial->count != WRITTEN || !are_bodies_told())
		trial->wrong++;
}

/* Is the function with these lines, which runs, where it must be? */
static bool is_written(uint64_t at, uint64_t lines)
{
	uint32_t i = 0, before = 0;

	while (i < trial->count && trial->written[i] != at)
		before += layout_word(trial->written[i++] + PROTO_LINES) ==
			  lines;
	return i < trial->count && (layout_first(lines) != TWINS_LINE ||
				    before == trial->twins++);
}

/* c_function: of the call, 0 for a Lua function's. */
static bool is_same_function(uint64_t L, uint64_t id, const lua_Debug *d,
			     uint64_t c_function)
{
	bool is_c;
	const uint64_t at = layout_callee(L, id, &is_c);
	uint64_t lines, source;

	if (is_c != (c_function != 0))
		return false;
	if (is_c)
		return at == c_function;
	lines = layout_word(at + PROTO_LINES);
	source = layout_word(at + PROTO_SOURCE);
	/* The source that lua_getinfo gives is the string itself. */
	if (layout_first(lines) != d->linedefined ||
	    layout_last(lines) != d->lastlinedefined ||
	    layout_bytes(source) != (uint64_t)d->source ||
	    layout_length(source) != compat_source_length(d))
		return false;
	if (d->linedefined != 0)
		return is_written(at, lines);
	find_written(at);
	return true;
}

/* Compares the caller and the caller's caller. */
static bool are_same_callers(lua_State *L, uint64_t id)
{
	lua_Debug d;

	for (int level = 1; level <= 2; level++) {
		id = layout_caller((uint64_t)L, id);
		if (!API(trial->api, lua_getstack)(L, level, &d))
			return !layout_is_call((uint64_t)L, id);
		/* A tail call that was lost has a level and no frame. */
		if (layout_id(&d) == 0)
			return true;
		if (layout_id(&d) != id || !layout_is_call((uint64_t)L, id))
			return false;
	}
	return true;
}

/* Our hook on the tried state. */
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
	if (!layout_is_state((uint64_t)L) ||
	    layout_global((uint64_t)L) + trial->main_at != trial->main ||
	    !is_running_told(L, true) ||
	    !are_same_callers(L, id) ||
	    !is_same_function((uint64_t)L, id, ar, c_function))
		trial->wrong++;
	trial->tails += layout_is_tail_call((uint64_t)L, id, c_function != 0);
}

/* ------------------------------------------------------------------- learning
 * Where Lua is part of a program built with hooks, all of Lua that is at work
 * around an event is called once, so that native/exclude.h learns it. */

/* Calls that Lua makes itself, in each of its ways, and errors. */
static const char learned_script[] =
	"local meta, call, protect, yield, resume = ...\n"
	"local function f(a, b) return a end local function yes() return true "
	"end\n"
	"local mt = {__index = f, __newindex = f, __call = f, __add = f, "
	"__unm = f, __concat = f, __lt = yes, __le = yes, __eq = yes, "
	"__len = f, __gc = f, __close = f}\n"
	"local m, n = meta({}, mt), meta({}, mt)\n"
	"local x = m.a, m(1), m + 1, -m, m .. 'a', m < n, m <= n, m == n\n"
	"m.b = 1 x = #m\n"
	"for k in function(s, c) if not c then return 1 end end do x = k end\n"
	"local function tail(...) return f(...) end tail(1) f(tail(2, 3))\n"
	"local function deep(i) if i > 0 then return 1 + deep(i - 1) end "
	"return 0 end deep(150)\n"
	"call(f) call(function() call(f) protect(f) end)\n"
	"protect(function() x = x.y.z.u end) protect(function() x() end)\n"
	"resume(function() yield() call(f) yield() end)\n"
	"resume(function() protect(yield) protect(f) f(yield()) end)\n"
	"resume(function() protect(function() yield() x = nil + 1 end) end)\n"
	"resume(function() yield() x = nil + 1 end)\n"
	"for i = 1, 500 do x = {i .. 'a', function() return i end} x[2]() "
	"end\n";

static int meta(lua_State *L)
{
	API(trial->api, lua_settop)(L, 2);
	API(trial->api, lua_setmetatable)(L, 1);
	return 1;
}

/* All that our hooks ask. */
static void ask_everything(lua_State *L, lua_Debug *ar)
{
	const struct weft_lua_api *const api = trial->api;
	lua_Debug d;

	API(api, lua_getinfo)(L, "nSlf", ar);
	(void)API(api, lua_topointer)(L, -1);
	(void)API(api, lua_tocfunction)(L, -1);
	(void)API(api, lua_iscfunction)(L, -1);
	API(api, lua_settop)(L, -2);
	for (int level = 0; API(api, lua_getstack)(L, level, &d); level++)
		;
	(void)API(api, lua_status)(L);
	(void)API(api, lua_gethook)(L);
	(void)API(api, lua_gethookmask)(L);
	(void)API(api, lua_gethookcount)(L);
}

/* Names are looked for in this way. */
static void look_through(lua_State *L, int table)
{
	API(trial->api, lua_pushnil)(L);
	while (API(trial->api, lua_next)(L, table)) {
		(void)API(trial->api, lua_type)(L, -2);
		API(trial->api, lua_settop)(L, -2);
	}
}

static void learn(lua_State *L)
{
	static const lua_CFunction args[] = {
		meta, call, protect, yield, resume,
	};
	const struct weft_lua_api *const api = trial->api;

	if (!api->lua_setmetatable)
		return;
	API(api, lua_sethook)(L, ask_everything, LUA_MASKCALL | LUA_MASKRET, 0);
	run(L, learned_script, "=weft", args, 5, NULL);
	look_through(L, compat_registry(api, L));
	API(api, lua_sethook)(L, NULL, 0, 0);
}

/* ------------------------------------------------------------ names from code
 * A function of each way to be named, as the text names it. */

static const char named_script[] =
	"local function a() end local M, e, t = {}, x\n"
	"M.b = function() end function G.d() end t = { f = function() end, "
	"x = 1, g = { h = function() end } }\n"
	"function glob() end e:on(1, function() end) "
	"M.sort(t, function() end)\n"
	"M.put('key', { k = function() end }) put(function() end)\n"
	"local up = function() M = function() end e.x = function() end\n"
	"e.put(function() end) return function() end end\n"
	"M[a] = function() end x = x and 1 or function() end\n"
	"if x == 1 then x = 2 end (x and e or G)(function() end)\n"
	"local i, j = function() end, function() end\n"
	"i, j = function() end, function() end x = i == 1, function() end a()";

/* Those in the chunk itself, then those in up. */
static const char *const named[] = {
	"a", "M.b", "G.d", "t.f", "g.h", "glob", "e.on(...)", "M.sort(...)",
	"k", "put(...)", "up", "", "x", "", "i", "j", "i", "j", "",
	"M", "e.x", "e.put(...)", "",
};
enum { NAMED = sizeof(named) / sizeof(*named) };

struct naming {
	struct { uint64_t at; struct code_name name; } of[NAMED];
	uint32_t count;
};

static void try_name(void *ctx, uint64_t child, const char *name,
		     uint32_t size)
{
	struct naming *const n = ctx;
	uint32_t i = 0;

	while (i < n->count && n->of[i].at != child)
		i++;
	if (i == NAMED)
		return;
	n->count += i == n->count;
	n->of[i].at = child;
	n->of[i].name.size = size;
	memcpy(n->of[i].name.text, name, size);
}

static bool are_names_right(lua_State *L)
{
	const struct weft_lua_api *const api = trial->api;
	struct naming n = { .count = 0 };
	uint32_t left = CODE_LOOKS, wrong = 0;
	struct proto_tree t;
	uint64_t at;

	if (!load(L, named_script, "=weft"))
		return false;
	at = layout_prototype((uint64_t)API(api, lua_topointer)(L, -1));
	proto_tree_begin(&t, at);
	for (; at != 0; at = proto_tree_next(&t))
		code_each(at, &left, try_name, &n);
	API(api, lua_settop)(L, -2);
	for (uint32_t i = 0; i < n.count; i++)
		wrong += n.of[i].name.size != strlen(named[i]) ||
			 memcmp(n.of[i].name.text, named[i],
				n.of[i].name.size) != 0;
	return n.count == NAMED && wrong == 0 && !trial->faulted;
}

/* --------------------------------------------------------- what is returned
 * Functions that Lua's libraries return are in no table. The libraries' own
 * code makes one of each here, not what the program has put in its place. */

static const char returned_script[] =
	"local name, base, string, co, utf8 = ...\n"
	"if base then base() name(ipairs({}), 'return of ipairs') end\n"
	"if string then\n"
	" name(string().gmatch('', ''), 'return of string.gmatch')\n"
	"end\n"
	"co = co and co() or coroutine\n"
	"if co then\n"
	" name(co.wrap(function() end), 'return of coroutine.wrap')\n"
	"end\n"
	"utf8 = utf8 and utf8()\n"
	"for _, lax in ipairs(utf8 and {false, true} or {}) do\n"
	" name(utf8.codes('', lax), 'return of utf8.codes')\n"
	"end\n";

/* The name comes last. Most of LuaJIT's functions have no address. */
static int name_first(lua_State *L)
{
	const struct weft_lua_api *const api = trial->api;
	const lua_CFunction f = API(api, lua_tocfunction)(L, 1);

	if (f)
		lua_c_name((uint64_t)f, C_NAME_STANDARD, NULL,
			   API(api, lua_tolstring)(L, -1, NULL));
	return 0;
}

static void name_returned(lua_State *L, const struct lua_lib *lib)
{
	lua_CFunction args[1 + WEFT_LUA_OPENS] = { name_first };

	for (int i = 0; i < WEFT_LUA_OPENS; i++)
		args[1 + i] = (lua_CFunction)lib->open[i];
	run(L, returned_script, "=weft", args, 1 + WEFT_LUA_OPENS, NULL);
}

/* ----------------------------------------------------------- the collector
 * It works now and then while tables are made, not at each of them. */

enum { TABLES = 2000 };
static const char collected_script[] =
	"local see = ... for i = 1, 2000 do local t = {} see() end";

static int see_collector(lua_State *L)
{
	const uint64_t now = layout_collector((uint64_t)L);

	trial->steps += now != trial->collector;
	trial->collector = now;
	return 0;
}

static bool is_collector_seen(lua_State *L)
{
	const lua_CFunction see = see_collector;

	return !IS_JIT && run(L, collected_script, "=weft", &see, 1, NULL) &&
	       trial->steps > 1 && trial->steps < TABLES / 2 &&
	       !trial->faulted;
}

/* -------------------------------------------------------------- the memory */

typedef int gc_fn(lua_State *, int, ...);

/* Where Lua itself reads it; 0: at none of the places. */
static uint32_t find_memory(lua_State *L, const struct lua_lib *lib)
{
	static const uint32_t places[] = { LAYOUT_MEMORY };
	const uint64_t all = layout_global((uint64_t)L);
	gc_fn *const gc = (gc_fn *)lua_alloc_function(lib, "lua_gc");

	for (size_t i = 0; gc && i < sizeof(places) / sizeof(*places); i++)
		if (layout_memory(all + places[i]) ==
		    (uint64_t)gc(L, LUA_GCCOUNT, 0) * 1024 +
		    (uint64_t)gc(L, LUA_GCCOUNTB, 0))
			return places[i];
	return 0;
}

/* The one byte that changes so in each of some cycles; 0: there is none. */
static uint32_t find_white(lua_State *L, const struct lua_lib *lib)
{
	enum { WITHIN = 128, CYCLES = 8 };
	const uint64_t all = layout_global((uint64_t)L);
	gc_fn *const gc = (gc_fn *)lua_alloc_function(lib, "lua_gc");
	uint8_t was[WITHIN], now[WITHIN], turns[WITHIN] = { 0 };
	uint32_t at = 0, found = 0;

	memory_copy(was, (const void *)all, sizeof(was));
	for (int i = 0; gc && i < CYCLES; i++) {
		gc(L, LUA_GCCOLLECT, 0);
		if (!memory_copy(now, (const void *)all, sizeof(now)))
			return 0;
		for (uint32_t k = 0; k < WITHIN; k++)
			turns[k] = (uint8_t)(turns[k] + ((was[k] ^ now[k]) ==
							 LAYOUT_WHITES));
		memcpy(was, now, sizeof(was));
	}
	for (uint32_t k = 0; k < WITHIN; k++)
		if (turns[k] == CYCLES) {
			at = k;
			found++;
		}
	return found == 1 ? at : 0;
}

/* -------------------------------------------------------- what runs (LuaJIT)
 * The word that is the lua_State of each call. */

enum { SHARED_WORDS = 128 }; /* of what all lua_States of a VM share */
static const char running_script[] = "local see = ... see()";

static int see_running(lua_State *L)
{
	const uint64_t all = layout_global((uint64_t)L);

	for (uint32_t i = 0; i < SHARED_WORDS; i++)
		if (layout_word(all + 8 * i) != (uint64_t)L)
			trial->running[i / 64] &= ~(UINT64_C(1) << i % 64);
	return 0;
}

static void note_halves(struct trial *t, uint64_t *bits, uint32_t value,
			bool all_times)
{
	for (uint32_t i = 0; i < 2 * SHARED_WORDS; i++) {
		const uint64_t bit = UINT64_C(1) << i % 64;

		if (layout_half(t->in_all + 4 * i) != value)
			bits[i / 64] &= all_times ? ~bit : UINT64_MAX;
		else
			bits[i / 64] |= all_times ? 0 : bit;
	}
}

/* Bytecode takes memory before this. */
static const char states_script[] =
	"local see = ... local t = {} "
	"for i = 1, 50 do t[i] = {} end see() see()";

static int see_state(lua_State *L)
{
	(void)L;
	note_halves(trial, trial->in_c, LAYOUT_RUNS_C, true);
	return 0;
}

/* Where the state is that tells C functions from what else runs; 0: at no
 * place, or several. */
static uint32_t find_state(lua_State *L)
{
	const lua_CFunction see = see_state;
	uint32_t at = 0, found = 0;
	bool ran;

	memset(trial->in_c, 0xff, sizeof(trial->in_c));
	memset(trial->in_code, 0, sizeof(trial->in_code));
	trial->in_all = layout_global((uint64_t)L);
	ran = run(L, states_script, "=weft", &see, 1, NULL);
	trial->in_all = 0;
	for (uint32_t i = 0; i < 2 * SHARED_WORDS; i++)
		if (trial->in_c[i / 64] & trial->in_code[i / 64] &
		    UINT64_C(1) << i % 64) {
			at = 4 * i;
			found++;
		}
	return ran && found == 1 && !trial->faulted ? at : 0;
}

static uint32_t find_running(lua_State *L)
{
	lua_State *const co = API(trial->api, lua_newthread)(L);
	const lua_CFunction see = see_running;
	uint32_t at = 0, found = 0;

	memset(trial->running, 0xff, sizeof(trial->running));
	if (!run(L, running_script, "=weft", &see, 1, NULL) ||
	    !run(co, running_script, "=weft", &see, 1, NULL))
		return 0;
	for (uint32_t i = 0; i < SHARED_WORDS; i++)
		if (trial->running[i / 64] >> i % 64 & 1) {
			at = 8 * i;
			found++;
		}
	return found == 1 && !trial->faulted ? at : 0;
}

/* --------------------------------------------------------------- the check */

/* The layout is right if all events were, and there were LEAST_EVENTS. */
static bool try_all(struct trial *t, struct lua_lib *lib)
{
	lua_State *const L = compat_newstate(t->api, allocate, t);
	const int mask = WEFT_LUA_ABI == 51 ? LUA_MASKCALL | LUA_MASKRET :
			 LUA_MASKCALL;
	bool right;

	if (!L)
		return false;
	t->main = (uint64_t)L;
	lib->main_at = t->main_at = t->main - layout_global(t->main);
	API(t->api, lua_sethook)(L, try_event, mask, 0);
	right = run_tried(L);
	API(t->api, lua_sethook)(L, NULL, 0, 0);
	right = right && t->events >= LEAST_EVENTS && t->wrong == 0 &&
		t->tails == 0 && !t->faulted;
	if (right && !are_names_right(L))
		function_leave_code();
	lib->collector = !right || !is_collector_seen(L) ? NULL :
			 layout_collector;
	lib->memory_at = right ? find_memory(L, lib) : 0;
	lib->running_at = right && IS_JIT ? find_running(L) : 0;
	lib->state_at = right && IS_JIT ? find_state(L) : 0;
	if (exclude_learns())
		learn(L);
	else
		name_returned(L, lib);
	lib->white_at = right ? find_white(L, lib) : 0;
	API(t->api, lua_close)(L);
	return right;
}

/* A LuaJIT with references of 32 bits on a machine with 64 makes no state with
 * another's allocator, and prints that: it must not be asked. In one with 64
 * bits the byte that says what an object is lies further up. */
static bool may_make_state(lua_State *L)
{
#if WEFT_LUA_ABI == 21
	enum { TYPE_THREAD = 6, NARROW_TYPE = 5 };

	return layout_byte((uint64_t)L + NARROW_TYPE) != TYPE_THREAD ||
	       layout_is_state((uint64_t)L);
#else
	(void)L;
	return true;
#endif
}

bool layout_check(struct lua_lib *lib, lua_State *L)
{
	struct trial t = { .api = &lib->api };
	bool right;

	t.memory = kernel_map(MEMORY);
	if (!t.memory)
		return false;
	trial = &t;
	right = may_make_state(L);
	t.faulted = false; /* nothing need lie before L */
	right = right && try_all(&t, lib);
	trial = NULL;
	kernel_unmap(t.memory, MEMORY);
	return right;
}
