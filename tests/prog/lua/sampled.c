/* sampled.c - what a program may do while Lua is sampled; built for each
 * version of Lua. usage: sampled WHAT [SCRIPT]
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static const char work[] =
	"local n = ... or 200 "
	"local function inner(n) local s = 0 "
	"  for i = 1, n do s = s + #tostring(i) end return s end "
	"local function outer() for i = 1, n do inner(1000) end end "
	"outer()";

static const char body[] =
	"return function() for i = 1, 1e9 do local s = 0 "
	"  for j = 1, 20000 do s = s + j % 7 end coroutine.yield() end end";

__attribute__((no_instrument_function)) static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(lua_State *L, int status)
{
	if (status != 0) {
		printf("error: %s\n", lua_tostring(L, -1));
		exit(1);
	}
}

static void run_text(lua_State *L, const char *text)
{
	check(L, luaL_loadstring(L, text));
	check(L, lua_pcall(L, 0, 0, 0));
}

static lua_State *open_state(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	return L;
}

static int resume(lua_State *co, lua_State *from)
{
#if LUA_VERSION_NUM >= 504
	int results;

	return lua_resume(co, from, 0, &results);
#elif LUA_VERSION_NUM >= 502
	return lua_resume(co, from, 0);
#else
	(void)from;
	return lua_resume(co, 0);
#endif
}

/* ---- a script, with C functions between ---- */

static volatile double sum;

static int spin(lua_State *L)
{
	const double until = cpu() + lua_tonumber(L, 1);

	while (cpu() < until)
		for (int i = 0; i < 1000; i++)
			sum += i;
	return 0;
}

static int call(lua_State *L)
{
	lua_settop(L, 1);
	lua_call(L, 0, 0);
	return 0;
}

static void script(const char *path)
{
	lua_State *const L = open_state();

	lua_register(L, "spin", spin);
	lua_register(L, "call", call);
	check(L, luaL_loadfile(L, path));
	check(L, lua_pcall(L, 0, 0, 0));
	lua_close(L);
}

/* ---- states that come and go, in threads that do ---- */

static void *live(void *unused)
{
	(void)unused;
	for (int i = 0; i < 12; i++) {
		lua_State *const L = open_state();

		run_text(L, work);
		lua_close(L);
	}
	return NULL;
}

static void many(void)
{
	pthread_t t[6];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 6; i++)
			pthread_create(&t[i], NULL, live, NULL);
		for (int i = 0; i < 6; i++)
			pthread_join(t[i], NULL);
	}
}

/* ---- coroutines that threads hand on, and that are collected ---- */

static void *resume_once(void *co)
{
	if (resume(co, NULL) != LUA_YIELD)
		printf("error: %s\n", lua_tostring(co, -1));
	lua_settop(co, 0);
	return NULL;
}

static void migrate(void)
{
	lua_State *const L = open_state();
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		lua_State *const co = lua_newthread(L);

		check(L, luaL_loadstring(co, body));
		check(co, lua_pcall(co, 0, 1, 0));
		for (int j = 0; j < 10; j++) {
			pthread_create(&t, NULL, resume_once, co);
			pthread_join(t, NULL);
			resume_once(co);
		}
		lua_settop(L, 0);
		lua_gc(L, LUA_GCCOLLECT, 0);
	}
	lua_close(L);
}

/* ---- a state that is closed by what it calls ---- */

static jmp_buf out;

static int close_it(lua_State *L)
{
	lua_close(L);
	longjmp(out, 1);
}

static void closed(void)
{
	for (volatile int i = 0; i < 60; i++) {
		lua_State *const L = open_state();

		lua_register(L, "close_it", close_it);
		run_text(L, work);
		if (setjmp(out) == 0)
			run_text(L, "local s = 0 for i = 1, 3e5 do "
				 "s = s + i % 3 end close_it()");
	}
}

/* ---- fork in the midst of a call ---- */

static int fork_it(lua_State *L)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		run_text(L, work);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
	return 0;
}

static void forked(void)
{
	lua_State *const L = open_state();

	lua_register(L, "fork_it", fork_it);
	for (int i = 0; i < 3; i++) {
		run_text(L, "for i = 1, 2e6 do end fork_it()");
		run_text(L, work);
	}
	lua_close(L);
}

/* ---- the program's own hooks, which see what they see without weft ---- */

static long events[8];

static void count(lua_State *L, lua_Debug *ar)
{
	(void)L;
	events[ar->event]++;
}

static void hooked(void)
{
	static const int masks[] = { LUA_MASKLINE, LUA_MASKCALL | LUA_MASKRET,
				     LUA_MASKCOUNT };
	lua_State *const L = open_state();

	for (int i = 0; i < 3; i++) {
		memset(events, 0, sizeof(events));
		lua_sethook(L, count, masks[i], 1000);
		run_text(L, work);
		if (lua_gethook(L) != count || lua_gethookmask(L) != masks[i])
			puts("another hook");
		lua_sethook(L, NULL, 0, 0);
		for (int k = 0; k < 5; k++)
			printf("%ld ", events[k]);
		puts("");
	}
	lua_close(L);
}

/* ---- calls that block ---- */

enum { KINDS = 5 };
static const char *const kinds[KINDS] = { "nanosleep", "epoll_wait", "select",
					  "sem_timedwait", "read" };
static int timer, poll;

/* Waits for some 20 us. Was that cut short by a signal? */
static int is_cut(int kind)
{
	const struct itimerspec soon = { .it_value = { 0, 20000 } };
	struct epoll_event event;
	struct timespec until;
	uint64_t times;
	fd_set set;
	sem_t sem;

	if (kind == 1 || kind == 2 || kind == 4)
		timerfd_settime(timer, 0, &soon, NULL);
	switch (kind) {
	case 0:
		return nanosleep(&soon.it_value, NULL) != 0;
	case 1:
		return epoll_wait(poll, &event, 1, -1) < 0;
	case 2:
		FD_ZERO(&set);
		FD_SET(timer, &set);
		return select(timer + 1, &set, NULL, NULL, NULL) < 0;
	case 3:
		sem_init(&sem, 0, 0);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000;
		if (until.tv_nsec > 999999999)
			return 0;
		return sem_timedwait(&sem, &until) != 0 && errno == EINTR;
	default:
		return read(timer, &times, sizeof(times)) < 0;
	}
}

static int naps(lua_State *L)
{
	const int n = (int)lua_tonumber(L, 1);
	struct epoll_event event = { .events = EPOLLIN };

	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	poll = epoll_create(1);
	epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
	for (int kind = 0; kind < KINDS; kind++) {
		int cut = 0;

		for (int i = 0; i < n; i++) {
			for (int k = 0; k < 20000; k++)
				sum += k;
			cut += is_cut(kind);
		}
		printf("%s: %d of %d cut short\n", kinds[kind], cut, n);
	}
	return 0;
}

static void napping(const char *times)
{
	lua_State *const L = open_state();

	lua_register(L, "naps", naps);
	check(L, luaL_loadstring(L, "local n = ... naps(n)"));
	lua_pushnumber(L, atof(times));
	check(L, lua_pcall(L, 1, 0, 0));
	lua_close(L);
}

/* ---- signals that are the program's ---- */

static void on_urgent(int signal)
{
	(void)signal;
	events[0]++;
}

static void urgent(void)
{
	signal(SIGURG, on_urgent);
	signal(SIGWINCH, on_urgent);
	for (int i = 0; i < 5; i++)
		live(NULL);
	printf("signals %ld\n", events[0]);
}

/* ... that a thread holds back, and may wait for. */
static void *wait_for_it(void *unused)
{
	const struct timespec none = { 0, 0 };
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	live(unused);
	printf("waits for %d\n", sigtimedwait(&all, NULL, &none));
	return NULL;
}

static void blocked(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_it, NULL);
	pthread_join(t, NULL);
}

/* ... once Lua has run. */
static void late(void)
{
	live(NULL);
	puts(signal(SIGURG, on_urgent) == SIG_DFL ? "default" : "another's");
	live(NULL);
	printf("signals %ld\n", events[0]);
}

/* A program that will allow itself fewer system calls. */
static void confined(void)
{
	live(NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	live(NULL);
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "script") == 0 && argc > 2)
		script(argv[2]);
	else if (strcmp(what, "many") == 0)
		many();
	else if (strcmp(what, "migrate") == 0)
		migrate();
	else if (strcmp(what, "closed") == 0)
		closed();
	else if (strcmp(what, "forked") == 0)
		forked();
	else if (strcmp(what, "hooked") == 0)
		hooked();
	else if (strcmp(what, "naps") == 0)
		napping(argc > 2 ? argv[2] : "2000");
	else if (strcmp(what, "blocked") == 0)
		blocked();
	else if (strcmp(what, "late") == 0)
		late();
	else if (strcmp(what, "confined") == 0)
		confined();
	else if (strcmp(what, "urgent") == 0)
		urgent();
	else
		return 1;
	puts("done");
	return 0;
}
