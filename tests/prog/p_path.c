/* p_path.c - a thousand requests, each by a Lua coroutine of one of four
 * threads: they compute, wait for a lock that all share, sleep, and are
 * suspended. Prints of each by its own clock when it began, how long it took,
 * how long it waited for the lock and was suspended, and which thread held the
 * lock last before it got it, if the kernel says that it slept for that:
 * "request TID BEGIN WALL WAITS SUSPENDED HOLDER".
 * flags: -finstrument-functions -I/usr/include/lua5.4 -llua5.4 -lpthread
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#pragma weak weft_mark

#define RAW __attribute__((no_instrument_function))

enum { THREADS = 4, COROUTINES = 50, EACH = 5,
       REQUESTS = THREADS * COROUTINES * EACH, LONG = 200000 };

static const char script[] =
	"local first = ...\n"
	"local function handle(id)\n"
	"	begin(id)\n"
	"	spin(math.random(20000))\n"
	"	if math.random(2) == 1 then\n"
	"		use_pool(id, math.random(400))\n"
	"	end\n"
	"	stop(id)\n"
	"	coroutine.yield()\n"
	"	go_on(id)\n"
	"	if math.random(4) == 1 then nap(math.random(500)) end\n"
	"	spin(math.random(20000))\n"
	"	finish(id)\n"
	"end\n"
	"local function serve(id)\n"
	"	for i = 0, 4 do handle(id + i); coroutine.yield() end\n"
	"end\n"
	"local all = {}\n"
	"for i = 0, 49 do all[i] = coroutine.create(serve) end\n"
	"local function run_all()\n"
	"	local more = false\n"
	"	for i = 0, 49 do\n"
	"		if coroutine.status(all[i]) == 'suspended' then\n"
	"			coroutine.resume(all[i], first + 5 * i)\n"
	"			more = true\n"
	"		end\n"
	"	end\n"
	"	return more\n"
	"end\n"
	"while run_all() do end\n";

static struct request {
	int tid, holder;
	long began, wall, waits, suspended, stopped;
} requests[REQUESTS];
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static int last_holder;          /* under the lock */
static volatile unsigned long sink;

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* How often the thread went to sleep by itself. */
static RAW long slept(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

static RAW struct request *of(lua_State *L)
{
	return &requests[luaL_checkinteger(L, 1)];
}

static RAW int begin(lua_State *L)
{
	of(L)->tid = gettid();
	if (weft_mark)
		weft_mark("begins");
	of(L)->began = now();
	return 0;
}

static RAW int finish(lua_State *L)
{
	of(L)->wall = now() - of(L)->began;
	if (weft_mark)
		weft_mark("ends");
	return 0;
}

static RAW int stop(lua_State *L)
{
	of(L)->stopped = now();
	return 0;
}

static RAW int go_on(lua_State *L)
{
	of(L)->suspended += now() - of(L)->stopped;
	return 0;
}

static int spin(lua_State *L)
{
	const long n = (long)luaL_checkinteger(L, 1);

	for (long i = 0; i < n; i++)
		sink += (unsigned long)i;
	return 0;
}

static int nap(lua_State *L)
{
	usleep((unsigned)luaL_checkinteger(L, 1));
	return 0;
}

static int use_pool(lua_State *L)
{
	struct request *const r = of(L);
	const long before = slept(), began = now();

	pthread_mutex_lock(&pool);
	r->waits = now() - began;
	r->holder = r->waits > LONG && slept() > before ? last_holder : 0;
	usleep((unsigned)luaL_checkinteger(L, 2));
	last_holder = gettid();
	pthread_mutex_unlock(&pool);
	return 0;
}

static void *work(void *number)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "begin", begin);
	lua_register(L, "finish", finish);
	lua_register(L, "stop", stop);
	lua_register(L, "go_on", go_on);
	lua_register(L, "spin", spin);
	lua_register(L, "nap", nap);
	lua_register(L, "use_pool", use_pool);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=requests") == 0) {
		lua_pushinteger(L, (long)number * COROUTINES * EACH);
		lua_pcall(L, 1, 0, 0);
	}
	lua_close(L);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < REQUESTS; i++)
		printf("request %d %ld %ld %ld %ld %d\n", requests[i].tid,
		       requests[i].began, requests[i].wall, requests[i].waits,
		       requests[i].suspended, requests[i].holder);
	return 0;
}
