/* woven.c - the random program: its threads take turns at Lua machines, and at
 * the end it writes its account.
 *   woven SEED ACCOUNT [THREADS]
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { VMS = 2, THREADS_MAX = 8, SCRIPT_MAX = 1 << 18 };

static struct vm vms[VMS];
static int vm_count, thread_count;
static uint64_t seed;
static struct walk walks[THREADS_MAX];
static struct account *accounts[THREADS_MAX];
static atomic_uint next_snap;
static pthread_barrier_t start;

int main(int argc, char **argv);
void *thread_main(void *arg);

#define SNAP(i) void snap_##i(struct walk *w);                                 \
	__attribute__((noinline)) void snap_##i(struct walk *w)                \
	{                                                                      \
		book_enter(w, (enum func)(F_snap0 + 0x##i));                   \
		book_snap(w, 0x##i);                                           \
		book_leave(w, (enum func)(F_snap0 + 0x##i));                   \
	}
#define ROW(X, h)                                                              \
	X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7)        \
	X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define ROWS(X)                                                                \
	ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3)                                \
	ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7)
ROWS(SNAP)

/* Marks this moment: a native function of its own is called, once a run. */
OUTSIDE void snap(struct walk *w)
{
#define NAME(i) snap_##i,
	static void (*const snaps[SNAPS])(struct walk *) = { ROWS(NAME) };
	const unsigned k = atomic_fetch_add(&next_snap, 1);

	if (k < SNAPS) {
		w->seen[C_snap]++;
		snaps[k](w);
	}
}

OUTSIDE static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, SCRIPT_MAX);

	if (!f || !text || fread(text, 1, SCRIPT_MAX - 1, f) == 0)
		book_die("the script cannot be read");
	fclose(f);
	return text;
}

/* The text between "--[[name" and "name]]". */
OUTSIDE static char *part(const char *script, const char *name)
{
	char open[32], close[32];

	snprintf(open, sizeof(open), "--[[%s\n", name);
	snprintf(close, sizeof(close), "%s]]", name);
	const char *from = strstr(script, open);
	const char *to = from ? strstr(from, close) : NULL;

	if (!to)
		book_die("the script has no such part");
	from += strlen(open);
	return strndup(from, (size_t)(to - from));
}

/* What stands between these two, on one line; not with APART in the
 * environment: there it would be one function to whoever cannot know better. */
OUTSIDE static void put_together(char *script)
{
	char *from = strstr(script, "--@together\n");
	const char *to = strstr(script, "--@apart");

	if (!from || !to)
		book_die("the script has no lines to put together");
	for (from += strlen("--@together\n"); from < to; from++) {
		if (*from == '\n')
			*from = ' ';
	}
}

/* Puts the parts in place of the lines that name them. */
OUTSIDE static char *expand(const char *script)
{
	char *body = part(script, "body"), *way = part(script, "exit");
	char *out = calloc(1, SCRIPT_MAX), *at = out;

	while (*script) {
		const char *end = strchr(script, '\n');
		const size_t n = end ? (size_t)(end - script) + 1 :
				 strlen(script);
		const char *put = script;
		size_t length = n;

		if (memmem(script, n, "--@body", 7)) {
			put = body;
			length = strlen(body);
		} else if (memmem(script, n, "--@exit", 7)) {
			put = way;
			length = strlen(way);
		}
		if (at + length + 1 > out + SCRIPT_MAX)
			book_die("the script is too long");
		memcpy(at, put, length);
		at += length;
		script += n;
	}
	free(body);
	free(way);
	if (!getenv("APART"))
		put_together(out);
	return out;
}

/* Says on which line each Lua function stands, and as which of several: by that
 * weft names them. */
OUTSIDE static void write_lines(lua_State *L, FILE *out)
{
	static const char *const named[] = { "deep", "thrower", "handler",
		"cmp", "repl", "iter", "mm_index", "mm_add", "mm_call" };
	lua_Debug ar;
	int line = 0, nth = 0;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		lua_getfield(L, 1, named[i]);
		lua_getinfo(L, ">S", &ar);
		fprintf(out, "line %d %s\n", ar.linedefined, named[i]);
	}
	lua_getfield(L, 1, "f");
	for (int i = 0; i < LUA_FUNCS; i++) {
		lua_rawgeti(L, -1, i + 1);
		lua_getinfo(L, ">S", &ar);
		nth = ar.linedefined == line ? nth + 1 : 1;
		line = ar.linedefined;
		fprintf(out, "line %d", line);
		if (nth > 1)
			fprintf(out, "#%d", nth);
		fprintf(out, " f_%d\n", i);
	}
	lua_pop(L, 1);
}

static FILE *account_file;

void vm_open(struct walk *w, struct vm *vm, const char *script)
{
	book_enter(w, F_vm_open);
	lua_State *L = luaL_newstate();

	pthread_mutex_init(&vm->lock, NULL);
	vm->main = L;
	w->vm = vm;
	w->L = L;
	luaL_openlibs(L);
	lua_book_push(L);
	lua_newuserdatauv(L, 1, 0);
	lua_newtable(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, 1, "meta");
	lua_setmetatable(L, -2);
	lua_setfield(L, 1, "object");
	lua_newtable(L);
	lua_setfield(L, LUA_REGISTRYINDEX, "pool");
	lua_pushboolean(L, IS_51); /* across pcall */
	lua_setfield(L, 1, "no_yield");
	if (luaL_loadbuffer(L, script, strlen(script), "@woven.lua"))
		book_die(lua_tostring(L, -1));
	lua_pushvalue(L, 1);
	if (lua_pcall(L, 1, 0, 0))
		book_die(lua_tostring(L, -1));
	lua_getfield(L, 1, "f");
	lua_setfield(L, LUA_REGISTRYINDEX, "f");
	if (vm == vms)
		write_lines(L, account_file);
	lua_settop(L, 0);
	w->L = NULL;
	w->vm = NULL;
	book_leave(w, F_vm_open);
}

/* A turn at one of the machines. Another thread may have the next one. */
void vm_turn(struct walk *w)
{
	book_enter(w, F_vm_turn);
	struct vm *vm = &vms[pick(w, (unsigned)vm_count)];

	pthread_mutex_lock(&vm->lock);
	w->vm = vm;
	w->L = vm->main;
	w->seen[C_turn]++;
	for (unsigned i = 1 + pick(w, 3); i > 0; i--)
		native_act(w, 0);
	if (chance(w, 60))
		vm_resume(w);
	if (chance(w, 20))
		lua_gc(vm->main, LUA_GCCOLLECT);
	w->L = NULL;
	w->vm = NULL;
	pthread_mutex_unlock(&vm->lock);
	sched_yield();
	book_leave(w, F_vm_turn);
}

/* Takes up what some thread, this or another, left suspended. */
void vm_resume(struct walk *w)
{
	book_enter(w, F_vm_resume);
	lua_State *L = w->L;
	lua_State *co = pool_take(w, L);

	if (co) {
		const struct mark m = book_mark(w);
		int results, args = 0;

		if (lua_status(co) == LUA_OK) {
			lua_pushinteger(co, 1);
			args = 1;
		}
		w->seen[C_native_resume]++;
		w->jump = NULL;
		book_resume(w, co);
		const int status = lua_resume(co, NULL, args, &results);

		if (status == LUA_YIELD) {
			lua_pop(co, results);
			pool_put(w, L);
		} else {
			if (status != LUA_OK)
				w->seen[C_error_in_coroutine]++;
			book_cut(w, m);
		}
		w->L = L;
	}
	lua_settop(L, 0);
	book_leave(w, F_vm_resume);
}

OUTSIDE static void take_turns(struct walk *w)
{
	while (w->turns-- > 0) {
		w->budget = 24;
		vm_turn(w);
		native_act(w, 2);
	}
}

void *thread_main(void *arg)
{
	struct walk *w = self = arg;

	book_begin(w);
	book_enter(w, F_thread_main);
	tick_start(w, seed % 3 == 2);
	pthread_barrier_wait(&start);
	take_turns(w);
	tick_stop(w);
	book_leave(w, F_thread_main);
	return NULL;
}

OUTSIDE static void walk_init(int i, long turns)
{
	accounts[i] = book_new(i);
	walks[i].account = accounts[i];
	walks[i].random = (seed * 8 + (uint64_t)i + 1) *
			  UINT64_C(0x9e3779b97f4a7c15);
	walks[i].side = walks[i].random;
	walks[i].turns = turns;
	walks[i].is_ticking = seed % 3 > 0;
}

OUTSIDE static void start_threads(pthread_t *threads)
{
	pthread_barrier_init(&start, NULL, (unsigned)thread_count);
	for (int i = 1; i < thread_count; i++) {
		walk_init(i, 36);
		pthread_create(&threads[i], NULL, thread_main, &walks[i]);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	if (argc < 4)
		return 1;
	seed = strtoull(argv[1], NULL, 10);
	walk_init(0, 36);
	struct walk *w = self = &walks[0];

	book_begin(w);
	book_enter(w, F_main);
	thread_count = 1 + (int)pick(w, 4);
	vm_count = 1 + (int)pick(w, VMS);
	tick_start(w, seed % 3 == 2);
	account_file = fopen(argv[2], "w");
	char *raw = read_all(argv[3]), *script = expand(raw);

	if (!account_file)
		book_die("the account cannot be written");
	for (int i = 0; i < vm_count; i++)
		vm_open(w, &vms[i], script);
	fiber_start(w, seed, script);
	start_threads(threads);
	pthread_barrier_wait(&start);
	take_turns(w);
	for (int i = 1; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	tick_stop(w);
	fiber_stop(w);
	book_leave(w, F_main);
	for (int i = 0; i < vm_count; i++)
		lua_close(vms[i].main);
	book_write(accounts, walks, thread_count, account_file);
	fclose(account_file);
	free(raw);
	free(script);
	return 0;
}
