/* server.c - the server of docs/tutorial.md: three workers answer requests by
 * Lua handlers, each request in a coroutine. Four things are wrong with it.
 * server HANDLERS [better]: better repairs two. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 3, REQUESTS = 300 };

struct entry { struct entry *next; char path[2000]; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long answered;
static struct entry *history;
static int rounds = 200, save_inside = 1;

__attribute__((noinline)) static unsigned checksum(const char *text, size_t n)
{
	unsigned sum = 1;

	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)text[i];
	return sum;
}

/* Writes to a disk that takes its time. */
__attribute__((noinline)) static void save_statistics(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
}

__attribute__((noinline)) static void remember(const char *path)
{
	struct entry *const e = malloc(sizeof(*e));

	if (!e)
		return;
	snprintf(e->path, sizeof(e->path), "%s", path);
	e->next = history;
	history = e;
}

__attribute__((noinline)) static void count_request(const char *path)
{
	int is_time;

	pthread_mutex_lock(&lock);
	remember(path);
	is_time = ++answered % 20 == 0;
	if (is_time && save_inside)
		save_statistics();
	pthread_mutex_unlock(&lock);
	if (is_time && !save_inside)
		save_statistics();
}

static int lua_checksum(lua_State *L)
{
	size_t n;
	const char *const text = luaL_checklstring(L, 1, &n);

	lua_pushinteger(L, checksum(text, n));
	return 1;
}

static int lua_count(lua_State *L)
{
	count_request(luaL_checkstring(L, 1));
	return 0;
}

/* One request, from its first instruction to its answer. */
static void answer(lua_State *L, int number)
{
	lua_State *const request = lua_newthread(L);
	int results;

	lua_getglobal(request, "handle");
	if (number % REQUESTS == 217)
		lua_pushstring(request, "/report");
	else
		lua_pushfstring(request, "/item/%d", number % 40);
	while (lua_resume(request, L, 1, &results) == LUA_YIELD)
		lua_pop(request, results);
	lua_pop(L, 1);
}

static void *worker(void *handlers)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "checksum", lua_checksum);
	lua_register(L, "count", lua_count);
	if (luaL_dofile(L, handlers)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
	for (int i = 0; i < REQUESTS; i++)
		answer(L, i);
	lua_close(L);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];

	if (argc < 2)
		return 1;
	if (argc > 2) {
		rounds = 20;
		save_inside = 0;
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, argv[1]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu requests\n", answered);
	return 0;
}
