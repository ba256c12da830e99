/* leaks.c - "leaks CASE [REQUESTS [MS]]": a server with two Lua states that
 * makes much garbage and leaks a little, in one place. Its cases: c, C that Lua
 * calls loses a block; registry, what C keeps there; coroutine, one that is
 * never resumed; cache, one in C for each state, in a block that grows; slow, a
 * list in Lua that grows by 1 % of what is in use; none. Of each case one
 * request in a few leaks; they come at a steady pace. What is taken is not
 * given back at the end. MS: so long does it wait before it serves.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { STATES = 2, MODEL = 800, MODEL_BLOCK = 100000, ROOM = 64,
       AT_ONCE = 50, PAUSE_NS = 4000000 };

static char *model[MODEL];
static struct cache {
	lua_State *L;
	struct entry { char *text; int key; } *entry;
	size_t count;
} caches[STATES];

PLAIN static void load_model(void)
{
	for (size_t i = 0; i < MODEL; i++)
		model[i] = memset(malloc(MODEL_BLOCK), 1, 100);
}

/* What a request takes in C, it gives back. */
static int l_parse(lua_State *L)
{
	char *const text = malloc(500 + (size_t)lua_tointeger(L, 1) % 100);

	*(volatile char *)text = 1;
	free(text);
	return 0;
}

static int l_upload(lua_State *L)
{
	*(volatile char *)malloc(1000 + (size_t)lua_tointeger(L, 1) % 50) = 1;
	return 0;
}

static int l_subscribe(lua_State *L)
{
	luaL_ref(L, LUA_REGISTRYINDEX);
	return 0;
}

static int l_remember(lua_State *L)
{
	struct cache *const c = &caches[caches[1].L == L];

	if (c->count % ROOM == 0)
		c->entry = realloc(c->entry,
				   (c->count + ROOM) * sizeof(*c->entry));
	c->entry[c->count++] = (struct entry){
		strdup(lua_tostring(L, 1)), (int)c->count };
	return 0;
}

static const char script[] =
	"local what, every = ...\n"
	"local sleepers, log = {}, {}\n"
	"settings = {}\n"
	"for i = 1, 500 do settings[i] = ('s'):rep(100) .. i end\n"
	"local function upload_part(i) upload(i) end\n"
	"local function subscribe_to(i)\n"
	"  subscribe({ topic = ('t'):rep(900) .. i })\n"
	"end\n"
	"local function wait_for_reply(i)\n"
	"  local mine = ('r' .. i):rep(500)\n"
	"  coroutine.yield()\n"
	"  return mine\n"
	"end\n"
	"local function ask(i)\n"
	"  local co = coroutine.create(wait_for_reply)\n"
	"  coroutine.resume(co, i)\n"
	"  sleepers[#sleepers + 1] = co\n"
	"end\n"
	"local function look_up(i) remember(('c'):rep(1000) .. i) end\n"
	"local function note(i) log[#log + 1] = ('l'):rep(1000) .. i end\n"
	"local leak = ({ c = upload_part, registry = subscribe_to,\n"
	"  coroutine = ask, cache = look_up, slow = note,\n"
	"  none = tostring })[what]\n"
	"local function render(i)\n"
	"  local t = {}\n"
	"  for k = 1, 12 do t[k] = ('z'):rep(k * 10 + i % 7) .. i end\n"
	"  return #table.concat(t)\n"
	"end\n"
	"function on_request(i)\n"
	"  parse(i)\n"
	"  render(i)\n"
	"  if i % every == 0 then leak(i) end\n"
	"end\n";

RAW static lua_State *new_state(const char *what, int every)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "parse", l_parse);
	lua_register(L, "upload", l_upload);
	lua_register(L, "subscribe", l_subscribe);
	lua_register(L, "remember", l_remember);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=server.lua"))
		abort();
	lua_pushstring(L, what);
	lua_pushinteger(L, every);
	if (lua_pcall(L, 2, 0, 0))
		abort();
	return L;
}

PLAIN static void serve(lua_State *L, int i)
{
	lua_getglobal(L, "on_request");
	lua_pushinteger(L, i);
	if (lua_pcall(L, 1, 0, 0))
		abort();
}

RAW static void pause_until(struct timespec *at)
{
	at->tv_nsec += PAUSE_NS;
	at->tv_sec += at->tv_nsec / 1000000000;
	at->tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL);
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "none";
	const int requests = argc > 2 ? atoi(argv[2]) : 12000;
	struct timespec at;

	load_model();
	usleep(argc > 3 ? (useconds_t)atoi(argv[3]) * 1000 : 0);
	for (int k = 0; k < STATES; k++)
		caches[k].L = new_state(what,
					strcmp(what, "coroutine") ? 15 : 30);
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (int i = 0; i < requests; i++) {
		serve(caches[i / AT_ONCE % STATES].L, i);
		if (i % AT_ONCE == 0)
			pause_until(&at);
	}
	return 0;
}
