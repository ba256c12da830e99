/* planted.c - "planted CASE": a server with one fault, which is what its
 * threads wait for. Its cases: convoy, chain, readers, producer, disk, join;
 * with Lua: yield, a lock that a coroutine has while it is suspended, and pool,
 * a VM behind a lock.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { WORKERS = 3, ROUNDS = 12 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t vm_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static atomic_int stop;
static volatile unsigned long sink;
static int jobs;

RAW static void nap(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

PLAIN static void parse(void)
{
	for (unsigned long i = 0; i < 200000; i++)
		sink += i;
}

/* ---- convoy: who writes the log sleeps with its lock ---- */

PLAIN static void flush_log(void)
{
	pthread_mutex_lock(&log_lock);
	nap(25);
	pthread_mutex_unlock(&log_lock);
}

static void *serve_log(void *unused)
{
	while (!stop) {
		parse();
		pthread_mutex_lock(&log_lock);
		pthread_mutex_unlock(&log_lock);
	}
	return unused;
}

static void run_convoy(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		flush_log();
		nap(3);
	}
}

/* ---- chain: requests wait for the log, which waits for the index, which waits
 * for the disk ---- */

PLAIN static void sync_disk(void)
{
	pthread_mutex_lock(&disk_lock);
	nap(30);
	pthread_mutex_unlock(&disk_lock);
}

PLAIN static void store_index(void)
{
	pthread_mutex_lock(&index_lock);
	pthread_mutex_lock(&disk_lock);
	pthread_mutex_unlock(&disk_lock);
	pthread_mutex_unlock(&index_lock);
}

PLAIN static void append_log(void)
{
	pthread_mutex_lock(&log_lock);
	pthread_mutex_lock(&index_lock);
	pthread_mutex_unlock(&index_lock);
	pthread_mutex_unlock(&log_lock);
}

static void *index_thread(void *unused)
{
	while (!stop) {
		store_index();
		nap(1);
	}
	return unused;
}

static void *log_thread(void *unused)
{
	while (!stop) {
		append_log();
		nap(1);
	}
	return unused;
}

static void run_chain(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, index_thread, NULL);
	pthread_create(&t[1], NULL, log_thread, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		sync_disk();
		nap(3);
	}
	stop = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

/* ---- readers against a writer ---- */

PLAIN static void reload_table(void)
{
	pthread_rwlock_wrlock(&table_lock);
	nap(25);
	pthread_rwlock_unlock(&table_lock);
}

static void *serve_table(void *unused)
{
	while (!stop) {
		pthread_rwlock_rdlock(&table_lock);
		parse();
		pthread_rwlock_unlock(&table_lock);
		nap(1);
	}
	return unused;
}

static void run_readers(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		reload_table();
		nap(3);
	}
}

/* ---- a slow producer ---- */

PLAIN static void fetch_job(void)
{
	nap(25);
	pthread_mutex_lock(&log_lock);
	jobs++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&log_lock);
}

static void *serve_jobs(void *unused)
{
	pthread_mutex_lock(&log_lock);
	while (!stop) {
		while (jobs == 0 && !stop)
			pthread_cond_wait(&filled, &log_lock);
		jobs--;
		parse();
	}
	pthread_mutex_unlock(&log_lock);
	return unused;
}

static void run_producer(void)
{
	for (int i = 0; i < ROUNDS; i++)
		fetch_job();
	pthread_mutex_lock(&log_lock);
	stop = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&log_lock);
}

/* ---- a slow disk: its input ---- */

PLAIN static void read_block(void)
{
	char c;

	if (read(0, &c, 1) != 1)
		abort();
}

static void run_disk(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		read_block();
		/* A tenth of the time: with less, the thread is idle. */
		for (int k = 0; k < 8; k++)
			parse();
	}
}

/* ---- threads that nobody joins ---- */

static void *report(void *unused)
{
	parse();
	return unused;
}

PLAIN static void start_report(void)
{
	pthread_t t;

	pthread_create(&t, NULL, report, NULL);
	nap(5);
}

static void run_join(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		start_report();
		parse();
	}
}

/* ---- Lua ---- */

static int l_lock(lua_State *L)
{
	(void)L;
	pthread_mutex_lock(&index_lock);
	return 0;
}

static int l_unlock(lua_State *L)
{
	(void)L;
	pthread_mutex_unlock(&index_lock);
	return 0;
}

static int l_nap(lua_State *L)
{
	nap((int)lua_tointeger(L, 1));
	return 0;
}

static const char script[] =
	"local function fill_index()\n"
	"  lock()\n"
	"  coroutine.yield()\n"
	"  unlock()\n"
	"end\n"
	"local function job()\n"
	"  while true do fill_index() coroutine.yield() end\n"
	"end\n"
	"local co = coroutine.create(job)\n"
	"function turn()\n"
	"  coroutine.resume(co)\n"
	"end\n"
	"local function query()\n"
	"  nap(25)\n"
	"end\n"
	"function on_request() query() end\n";

RAW static lua_State *new_state(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "lock", l_lock);
	lua_register(L, "unlock", l_unlock);
	lua_register(L, "nap", l_nap);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=server.lua") ||
	    lua_pcall(L, 0, 0, 0))
		abort();
	return L;
}

RAW static void call(lua_State *L, const char *name)
{
	lua_getglobal(L, name);
	if (lua_pcall(L, 0, 0, 0))
		abort();
}

static void *serve_index(void *unused)
{
	while (!stop) {
		parse();
		pthread_mutex_lock(&index_lock);
		pthread_mutex_unlock(&index_lock);
		nap(1);
	}
	return unused;
}

static void run_yield(void)
{
	lua_State *const L = new_state();

	for (int i = 0; i < 2 * ROUNDS; i++) {
		call(L, "turn");
		nap(i % 2 ? 3 : 25);
	}
	lua_close(L);
}

static lua_State *shared;

PLAIN static void handle(void)
{
	pthread_mutex_lock(&vm_lock);
	call(shared, "on_request");
	pthread_mutex_unlock(&vm_lock);
}

static void *serve_pool(void *unused)
{
	for (int i = 0; i < ROUNDS / 2; i++) {
		parse();
		handle();
	}
	return unused;
}

static void run_pool(void)
{
	nap(ROUNDS * 25); /* its workers end by themselves */
}

/* ---- all ---- */

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void *(*work)(void *);
	} cases[] = {
		{ "convoy", run_convoy, serve_log },
		{ "chain", run_chain, serve_log },
		{ "readers", run_readers, serve_table },
		{ "producer", run_producer, serve_jobs },
		{ "disk", run_disk, NULL }, { "join", run_join, NULL },
		{ "yield", run_yield, serve_index },
		{ "pool", run_pool, serve_pool },
	};
	pthread_t t[WORKERS];

	shared = new_state();
	for (int i = 0; argc > 1 && i < 8; i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		for (int k = 0; cases[i].work && k < WORKERS; k++)
			pthread_create(&t[k], NULL, cases[i].work, NULL);
		cases[i].run();
		stop = 1;
		for (int k = 0; cases[i].work && k < WORKERS; k++)
			pthread_join(t[k], NULL);
		return 0;
	}
	return 2;
}
