/* lua_hook_check.c - tries the layout on a Lua state of our own, that nobody
 * sees: each call event read by layout, without ever faulting, and compared
 * with the public API's answers. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_hook.h"
#include "tracer/host/lua_mem.h"

#include <sys/mman.h>

enum { ARENA = 1 << 20, LEAST_EVENTS = 20 };

struct trial {
	const struct weft_lua_api *api;
	char *arena;
	size_t used;
	int events, wrong;
};

/* For C functions and hooks, which are given a lua_State alone. */
static __thread struct trial *trial
	__attribute__((tls_model("initial-exec")));

/* The program's malloc may be instrumented, or count. */
static void *allocate(void *ud, void *old, size_t size, size_t wanted)
{
	struct trial *const t = ud;
	void *p;

	if (wanted == 0)
		return NULL;
	if (old != NULL && wanted <= size)
		return old;
	wanted = (wanted + 15) & ~(size_t)15;
	if (t->used + wanted > ARENA)
		return NULL;
	p = t->arena + t->used;
	t->used += wanted;
	if (old != NULL)
		memcpy(p, old, size);
	return p;
}

/* --------------------------------------------------- reading that may fail */

static uint64_t word(uint64_t at, int *fine)
{
	uint64_t v = 0;

	if (*fine && !lua_mem_copy(&v, (const void *)at, sizeof(v)))
		*fine = 0;
	return v;
}

static int tag(uint64_t at, int *fine)
{
	return (int)(word(at, fine) & 0xff) & TAG_MASK;
}

static int same_text(uint64_t string, const lua_Debug *d)
{
	int fine = 1;
	const int is_short = tag(string + STRING_TAG, &fine) == STRING_SHORT;
	const uint64_t head = word(string + 8, &fine);
	const uint64_t length = is_short ?
		head >> (8 * (STRING_SHORT_LENGTH - 8)) & 0xff :
		word(string + STRING_LENGTH, &fine);

	return fine && string + STRING_TEXT == (uint64_t)d->source &&
	       length == d->srclen;
}

static int same_function(uint64_t value, const lua_Debug *d, uint64_t closure,
			 uint64_t c_function)
{
	int fine = 1;
	const uint64_t v = word(value, &fine);
	const int t = tag(value + VALUE_TAG, &fine);
	const int is_c = t != TAG_LUA;
	uint64_t at, lines;

	if (!fine || is_c != (c_function != 0) ||
	    (t != TAG_LUA && t != TAG_C && t != TAG_LIGHT_C))
		return 0;
	if (t == TAG_LIGHT_C)
		return v == c_function;
	at = word(v + (is_c ? (int)C_CLOSURE_FUNCTION :
		       (int)LUA_CLOSURE_PROTO), &fine);
	if (!fine || v != closure)
		return 0;
	if (is_c)
		return at == c_function;
	lines = word(at + PROTO_LINES, &fine);
	return fine && (int)(uint32_t)lines == d->linedefined &&
	       (int)(lines >> 32) == d->lastlinedefined &&
	       same_text(word(at + PROTO_SOURCE, &fine), d) && fine;
}

static int same_caller(uint64_t frame, uint64_t caller)
{
	int fine = 1;
	const uint64_t up = word(frame + CI_PREVIOUS, &fine);
	const uint64_t further = word(up + CI_PREVIOUS, &fine);

	return fine && (caller != 0 ? up == caller : further == 0) &&
	       (caller == 0 || further != 0);
}

static void try_event(lua_State *L, lua_Debug *ar)
{
	const struct weft_lua_api *const api = trial->api;
	uint64_t closure, c_function, caller = 0;
	lua_Debug d;
	int fine = 1;

	if (API(api, lua_getstack)(L, 1, &d))
		caller = (uint64_t)d.i_ci;
	API(api, lua_getinfo)(L, "Sf", ar);
	closure = (uint64_t)API(api, lua_topointer)(L, -1);
	c_function = (uint64_t)API(api, lua_tocfunction)(L, -1);
	API(api, lua_settop)(L, -2);
	trial->events++;
	if (!same_caller((uint64_t)ar->i_ci, caller) ||
	    !same_function(word((uint64_t)ar->i_ci + CI_FUNC, &fine), ar,
			   closure, c_function) || !fine)
		trial->wrong++;
}

/* ------------------------------------------------------------ a workload */

static const char script[] =
	"local light, call, yield, resume = ...\n"
	"local function a(...)\n\n light() return 1 end\n"
	"local function b(x)\n\n\n return a(x) end\n"
	"local c c = function(n)\n if n > 0 then local r = c(n - 1) return r "
	"end call(b) end\n"
	"a(1, 2, 3) b(1) c(3) call(a)\n"
	"resume(function()\n b(1) yield() a() end)\n"
	"for i = 1, 3 do local f = function()\n\n\n return i end f() end\n";

static int light(lua_State *L)
{
	(void)L;
	return 0;
}

static int call(lua_State *L)
{
	API(trial->api, lua_pushvalue)(L, 1);
	API(trial->api, lua_callk)(L, 0, 0, 0, NULL);
	return 0;
}

static int yield(lua_State *L)
{
	return API(trial->api, lua_yieldk)(L, 0, 0, NULL);
}

/* Runs the function given as a coroutine, to its second stop. */
static int resume(lua_State *L)
{
	lua_State *const co = API(trial->api, lua_newthread)(L);
	int results;

	API(trial->api, lua_pushvalue)(L, 1);
	API(trial->api, lua_xmove)(L, co, 1);
	API(trial->api, lua_resume)(co, L, 0, &results);
	API(trial->api, lua_resume)(co, L, 0, &results);
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

	if (API(api, lua_load)(L, read_text, &t, name, "t") != LUA_OK)
		return 0;
	API(api, lua_pushcclosure)(L, light, 0);
	API(api, lua_pushnil)(L);
	API(api, lua_pushcclosure)(L, call, 1);
	API(api, lua_pushcclosure)(L, yield, 0);
	API(api, lua_pushcclosure)(L, resume, 0);
	return API(api, lua_pcallk)(L, 4, 0, 0, 0, NULL) == LUA_OK;
}

static int try_all(struct trial *t)
{
	lua_State *const L = API(t->api, lua_newstate)(allocate, t);
	int ran;

	if (L == NULL)
		return 0;
	API(t->api, lua_sethook)(L, try_event, LUA_MASKCALL, 0);
	ran = run(L, "=weft") &&
	      run(L, "=a name of more than forty bytes, which is kept apart");
	API(t->api, lua_sethook)(L, NULL, 0, 0);
	API(t->api, lua_close)(L);
	return ran && t->events >= LEAST_EVENTS && t->wrong == 0;
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
