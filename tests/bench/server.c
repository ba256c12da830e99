/* server.c - a server in C and Lua that knows how long its functions take.
 * "server BATCHES [true]": a loop in C reads requests from a socket, takes
 * memory for each, and has it handled by a Lua function in a coroutine of its
 * own, which waits for a lookup in C and then answers. It prints "TOTAL" and
 * its CPU time in s. With "true", to be run without recording, it prints "true
 * SELF CALLS NAME": SELF in ns of CPU time, of all calls of NAME. What a
 * function takes is how much longer a batch of requests is than one in which
 * that function does nothing. So the call itself is left out, and functions
 * work for 100 ns and more.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OUTSIDE __attribute__((no_instrument_function))
#define WORKER __attribute__((noinline))

enum { CLIENTS = 64, DIGESTS = 8, REQUEST = 200 };

/* Functions with work of their own, and how many steps it has. */
enum { PARSE, LOOKUP, DIGEST, RENDER, HANDLE, CHECK, WORKS };
static struct { const char *name; long usual, steps, calls; double ns; }
works[WORKS] = {
	[PARSE] = { "parse", 300, 0, 1, 0 },
	[LOOKUP] = { "lookup", 1000, 0, 1, 0 },
	[DIGEST] = { "digest", 200, 0, DIGESTS, 0 },
	[RENDER] = { "render", 3000, 0, 1, 0 },
	[HANDLE] = { "lua_0_handle", 100, 0, 1, 0 },
	[CHECK] = { "lua_0_check", 200, 0, 1, 0 },
};

static const char script[] =
	"local find, reply, wait = ...\n"
	"local function check(n, x)\n"
	"    for i = 1, n do x = x * 3 % 7 end\n"
	"    return x\n"
	"end\n"
	"local function handle(id, own, checks)\n"
	"    local x = id\n"
	"    for i = 1, own do x = x * 3 % 7 end\n"
	"    find(check(checks, x))\n"
	"    wait()\n"
	"    reply(id)\n"
	"end\n"
	"return function()\n"
	"    while true do handle(wait()) end\n"
	"end\n";

static struct { lua_State *co; char *request; } client[CLIENTS];
static int ends[2];                /* the clients', the server's */
static volatile unsigned long sink = 3;

OUTSIDE static inline void work(int which)
{
	unsigned long x = sink;

	for (long n = works[which].steps; n > 0; n--) {
		x = x * 3 + 1;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
}

static WORKER void parse(void) { work(PARSE); }
static WORKER void lookup(void) { work(LOOKUP); }
static WORKER void digest(void) { work(DIGEST); }
static WORKER void render(void) { work(RENDER); }

static int find(lua_State *L)
{
	(void)L;
	lookup();
	for (int i = 0; i < DIGESTS; i++)
		digest();
	return 0;
}

static int reply(lua_State *L)
{
	const unsigned char id = (unsigned char)lua_tointeger(L, 1);

	render();
	free(client[id].request);
	if (write(ends[1], &id, 1) != 1)
		abort();
	return 0;
}

static int wait(lua_State *L)
{
	return lua_yield(L, 0);
}

static void resume(lua_State *L, lua_State *co, int values)
{
	int results;

	if (lua_resume(co, L, values, &results) != LUA_YIELD) {
		fprintf(stderr, "server: %s\n", lua_tostring(co, -1));
		exit(1);
	}
	lua_pop(co, results);
}

static void serve(lua_State *L)
{
	unsigned char id;

	for (int i = 0; i < CLIENTS; i++) {
		if (read(ends[1], &id, 1) != 1)
			abort();
		client[id].request = malloc(REQUEST);
		parse();
		lua_pushinteger(client[id].co, id);
		lua_pushinteger(client[id].co, works[HANDLE].steps);
		lua_pushinteger(client[id].co, works[CHECK].steps);
		resume(L, client[id].co, 3);
	}
	for (int i = 0; i < CLIENTS; i++)
		resume(L, client[i].co, 0);
}

/* All clients ask, and are answered. */
static void batch(lua_State *L)
{
	unsigned char id[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		id[i] = (unsigned char)i;
	if (write(ends[0], id, CLIENTS) != CLIENTS)
		abort();
	serve(L);
	if (recv(ends[0], id, CLIENTS, MSG_WAITALL) != CLIENTS)
		abort();
}

OUTSIDE static lua_State *begin(void)
{
	lua_State *const L = luaL_newstate();

	if (!L || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		abort();
	luaL_openlibs(L);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "@lua_0.lua"))
		abort();
	lua_pushcfunction(L, find);
	lua_pushcfunction(L, reply);
	lua_pushcfunction(L, wait);
	lua_call(L, 3, 1);
	for (int i = 0; i < CLIENTS; i++) {
		client[i].co = lua_newthread(L);
		luaL_ref(L, LUA_REGISTRYINDEX);
		lua_pushvalue(L, -1);
		lua_xmove(L, client[i].co, 1);
		resume(L, client[i].co, 0);
	}
	for (int i = 0; i < WORKS; i++)
		works[i].steps = works[i].usual;
	return L;
}

OUTSIDE static double cpu_of_batch(lua_State *L)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	batch(L);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) * 1e9 +
	       (double)(to.tv_nsec - from.tv_nsec);
}

/* With and without each function's work, in turn: a machine that changes its
 * speed changes it for both. */
OUTSIDE static void measure(lua_State *L)
{
	for (int i = 0; i < WORKS; i++) {
		works[i].ns += cpu_of_batch(L);
		works[i].steps = 0;
		works[i].ns -= cpu_of_batch(L);
		works[i].steps = works[i].usual;
	}
}

OUTSIDE int main(int argc, char **argv)
{
	const long batches = argc > 1 ? atol(argv[1]) : 100;
	const int is_true = argc > 2 && strcmp(argv[2], "true") == 0;
	lua_State *const L = begin();

	for (long i = 0; i < batches; i++)
		if (is_true)
			measure(L);
		else
			batch(L);
	for (int i = 0; is_true && i < WORKS; i++)
		printf("true %.0f %ld %s\n", works[i].ns,
		       batches * CLIENTS * works[i].calls, works[i].name);
	lua_close(L);
	if (!is_true)
		printf("TOTAL %.3f\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
