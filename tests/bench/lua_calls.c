/* lua_calls.c - Lua calls, or resume and yield, timed by the program itself.
 *   lua_calls pair N [clock]   prints "ns-a-pair N"; with "clock" under a hook
 *                              of its own that only reads the clock
 *   lua_calls once N [clock]   the same for calls
 *   lua_calls native N         for calls of a native function by five Lua ones
 *   lua_calls words N          for turns of a loop: it joins strings and looks
 *   lua_calls matrix N         them up; or multiplies matrices;
 *   lua_calls tables N         or makes tables
 *   lua_calls plain N          to be recorded --paused: prints "ns-a-call N
 *                              ns-after-some-were-recorded"
 *   lua_calls call N           to be recorded: prints "ns-above N ns-clock"
 * The last takes turns, a block of calls under weft's hook and one under the
 * clock's, some ms each, and prints the median of the blocks' differences: what
 * disturbs a machine at times (another program on the same core, a slower clock
 * rate) meets both alike. SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { BLOCKS = 101, MASK = LUA_MASKCALL | LUA_MASKRET };

static unsigned long long sum;

static void look(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
	sum += __rdtsc();
}

static const char calls[] =
	"local n = ... "
	"local function f(x) return x + 1 end "
	"local function g(x) local y = f(x) return y end "
	"local s = 0 for i = 1, n / 2 do s = s + g(i) end return s";
static const char pairs_[] =
	"local n = ... "
	"local yield, resume = coroutine.yield, coroutine.resume "
	"local co = coroutine.create(function() while true do yield() end end) "
	"for i = 1, n do resume(co) end";

static const char native[] =
	"local n, call = ..., native "
	"local function a() for i = 1, n do call() end end "
	"local function b() a() return 1 end "
	"local function c() b() return 1 end "
	"local function d() c() return 1 end "
	"d()";
/* In one line: LuaJIT's profiler makes the most of that. */
static const char words[] =
	"local t, c = {}, 0 for i = 1, ... do local w = 'w' .. i % 5000 "
	"if not t[w] then t[w] = true c = c + 1 end end return c";
static const char matrix[] =
	"local n, a, s = 160, {}, 0\n"
	"for i = 1, n do a[i] = {}\n"
	"for j = 1, n do a[i][j] = i * j % 7 end end\n"
	"for round = 1, ... / 250000 do for i = 1, n do for j = 1, n do\n"
	"local x = 0\n"
	"for k = 1, n do x = x + a[i][k] * a[k][j] end\n"
	"s = s + x end end end return s";
static const char tables[] =
	"local t = {} for i = 1, ... do t[i % 64 + 1] = { i } end";
static const struct { const char *name, *text; } loops[] = {
	{ "pair", pairs_ }, { "once", calls }, { "native", native },
	{ "words", words }, { "matrix", matrix }, { "tables", tables } };

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);

static int call_native(lua_State *L)
{
	(void)L;
	__cyg_profile_func_enter((void *)call_native, NULL);
	__cyg_profile_func_exit((void *)call_native, NULL);
	return 0;
}

static const char *text_of(const char *name)
{
	size_t i = 0;

	while (i < sizeof(loops) / sizeof(*loops) - 1 &&
	       strcmp(loops[i].name, name) != 0)
		i++;
	return loops[i].text;
}

/* ns for each of n, by the thread's CPU clock. */
static double run(lua_State *L, const char *text, long n)
{
	struct timespec from, to;

	if (luaL_loadstring(L, text))
		exit(1);
	lua_pushinteger(L, n);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	if (lua_pcall(L, 1, 0, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
		(double)(to.tv_nsec - from.tv_nsec)) / (double)n;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Lua's own functions, past whoever stands in for them. */
static void *own(const char *name)
{
	Dl_info info;
	void *lib = NULL;

	if (dladdr((void *)lua_checkstack, &info))
		lib = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : NULL;
}

static int take_turns(lua_State *L, long n)
{
	const __typeof__(&lua_sethook) set = (__typeof__(&lua_sethook))
		own("lua_sethook");
	const __typeof__(&lua_gethook) get = (__typeof__(&lua_gethook))
		own("lua_gethook");
	double above[BLOCKS], clock[BLOCKS];
	lua_Hook hook;

	if (!set || !get)
		return 1;
	run(L, calls, 1000);
	hook = get(L);
	for (int i = 0; i < BLOCKS; i++) {
		double ns[2];

		for (int turn = 0; turn < 2; turn++) {
			const int ours = (i + turn) & 1;

			set(L, ours ? hook : look, MASK, 0);
			ns[ours] = run(L, calls, n / BLOCKS);
		}
		above[i] = ns[1] - ns[0];
		clock[i] = ns[0];
	}
	set(L, hook, MASK, 0);
	qsort(above, BLOCKS, sizeof(above[0]), compare);
	qsort(clock, BLOCKS, sizeof(clock[0]), compare);
	printf("%.3f %ld %.3f\n", above[BLOCKS / 2], n, clock[BLOCKS / 2]);
	return !hook;
}

static double best(lua_State *L, long n)
{
	double least = run(L, calls, n);

	for (int i = 0; i < 20; i++) {
		const double ns = run(L, calls, n);

		least = ns < least ? ns : least;
	}
	return least;
}

/* Calls while nothing is recorded; under weft, which was told to begin later,
 * once more when they have been recorded for a while. */
static void plain(lua_State *L, long n)
{
	int (*const resume)(void) =
		(int (*)(void))dlsym(RTLD_DEFAULT, "weft_resume");
	int (*const pause)(void) =
		(int (*)(void))dlsym(RTLD_DEFAULT, "weft_pause");
	const double before = best(L, n);

	if (resume && pause) {
		resume();
		run(L, calls, n / 10);
		pause();
		run(L, calls, n / 10);
	}
	printf("%.3f %ld %.3f\n", before, n, best(L, n));
}

int main(int argc, char **argv)
{
	const long n = argc > 2 ? atol(argv[2]) : 1000000;
	lua_State *L = luaL_newstate();
	int bad = 0;

	pin();
	luaL_openlibs(L);
	if (argc > 1 && strcmp(argv[1], "call") == 0) {
		bad = take_turns(L, n);
	} else if (argc > 1 && strcmp(argv[1], "plain") == 0) {
		plain(L, n);
	} else {
		if (argc > 3)
			lua_sethook(L, look, MASK, 0);
		lua_pushcfunction(L, call_native);
		lua_setglobal(L, "native");
		printf("%.3f %ld\n", run(L, text_of(argc > 1 ? argv[1] :
						    "pair"), n), n);
	}
	lua_close(L);
	return bad;
}
