/* p_omp.c - OpenMP: loops, sections, nested regions and tasks, begun by one
 * function from several places with different work, and by a C function that
 * Lua calls in a coroutine. Prints of each thread how often leaf ran below
 * what, and how long on the CPU by its own clock: "leaf STACK TID CALLS NS".
 * matrix flags: -fopenmp -finstrument-functions -I/usr/include/lua5.4 -llua5.4
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))
#ifdef __clang__
#undef PLAIN
#define PLAIN __attribute__((noinline))
#endif

enum { THREADS = 4, MOST = 64 };

/* Below what leaf runs. */
static const char *const stacks[] = {
	"main;near;loop", "main;far;loop", "main;fixed", "main;parts",
	"main;outer;inner", "main;spread", "main;walk;walk;walk", "main;chunks",
	"main;lua;script;job;crunch", "main;lua;script;crunch",
};
enum { STACKS = sizeof(stacks) / sizeof(stacks[0]) };

static struct { int tid; long calls[STACKS], ns[STACKS]; } account[MOST];
static int accounts;
static __thread int mine = -1;

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

PLAIN static void leaf(int of, long ns)
{
	const long start = now();

	if (mine < 0) {
		mine = __atomic_fetch_add(&accounts, 1, __ATOMIC_RELAXED);
		account[mine].tid = gettid();
	}
	while (now() - start < ns)
		;
	account[mine].calls[of]++;
	account[mine].ns[of] += now() - start;
}

PLAIN static void loop(int of, int n, long ns)
{
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < n; i++)
		leaf(of, ns);
}

PLAIN static void near(void)
{
	loop(0, 200, 100000);
}

PLAIN static void far(void)
{
	for (int i = 0; i < 20; i++)
		loop(1, 40, 50000);
}

PLAIN static long fixed(void)
{
	long sum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int i = 0; i < 120; i++) {
		leaf(2, 100000);
		sum += i;
	}
	return sum;
}

PLAIN static void parts(void)
{
	for (int i = 0; i < 30; i++) {
#pragma omp parallel sections
		{
#pragma omp section
			leaf(3, 300000);
#pragma omp section
			leaf(3, 100000);
		}
	}
}

PLAIN static void inner(void)
{
#pragma omp parallel num_threads(2)
	leaf(4, 200000);
}

PLAIN static void outer(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 25; i++)
		inner();
}

PLAIN static void spread(void)
{
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 200; i++)
#pragma omp task
		leaf(5, 100000);
}

/* Each call makes tasks that call it again, and has left when they run. */
PLAIN static void walk(int depth)
{
	if (depth == 0) {
		for (int i = 0; i < 5; i++)
			leaf(6, 100000);
		return;
	}
	for (int i = 0; i < 6; i++) {
#pragma omp task firstprivate(depth)
		walk(depth - 1);
	}
}

RAW static void walk_all(void)
{
#pragma omp parallel
#pragma omp single
	walk(2);
}

PLAIN static void chunks(void)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(5)
	for (int i = 0; i < 100; i++)
		leaf(7, 100000);
}

PLAIN static int crunch(lua_State *l)
{
	const int of = (int)luaL_checkinteger(l, 1);

#pragma omp parallel for
	for (int i = 0; i < 40; i++)
		leaf(of, 100000);
	return 0;
}

static const char source[] =
	"local crunch = ...\n"
	"local function job()\n"
	"	for _ = 1, 5 do\n"
	"		crunch(8)\n"
	"		coroutine.yield()\n"
	"	end\n"
	"end\n"
	"local co = coroutine.wrap(job)\n"
	"for _ = 1, 5 do\n"
	"	co()\n"
	"end\n"
	"crunch(9)\n";

PLAIN static void lua(void)
{
	lua_State *const l = luaL_newstate();

	luaL_openlibs(l);
	luaL_loadbuffer(l, source, sizeof(source) - 1, "=script");
	lua_pushcfunction(l, crunch);
	if (lua_pcall(l, 1, 0, 0) != 0)
		printf("error %s\n", lua_tostring(l, -1));
	lua_close(l);
}

RAW static void tell(void)
{
	for (int k = 0; k < accounts; k++)
		for (int i = 0; i < STACKS; i++)
			if (account[k].calls[i] > 0)
				printf("leaf %s %d %ld %ld\n", stacks[i],
				       account[k].tid, account[k].calls[i],
				       account[k].ns[i]);
}

/* Until the switches of all threads are watched. */
RAW static void begin(void)
{
#pragma omp parallel
	usleep(300000);
}

int main(void)
{
	begin();
	near();
	far();
	fixed();
	parts();
	spread();
	walk_all();
	chunks();
	lua();
	outer(); /* which may begin threads anew */
	tell();
	return 0;
}
