/* demo_account.c - the program's own account of its calls, kept without any
 * help from outside: each function adds one on its first line.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <string.h>

_Thread_local uint64_t account_count[COUNTED_ALL];

enum { LUA_FUNCTIONS_MAX = 32 };

static struct {
	pthread_mutex_t lock;
	uint64_t sum[COUNTED_ALL];
	struct {
		char name[32], file[64];
		int line;
		uint64_t calls;
	} lua[LUA_FUNCTIONS_MAX];
	size_t lua_count;
} account = { .lock = PTHREAD_MUTEX_INITIALIZER };

void account_add(void)
{
	pthread_mutex_lock(&account.lock);
	for (size_t i = 0; i < COUNTED_ALL; i++) {
		account.sum[i] += account_count[i];
		account_count[i] = 0;
	}
	pthread_mutex_unlock(&account.lock);
}

/* Add to one Lua function's calls. Names are those of handlers.lua, the same
 * in every state. */
static void add_calls(const char *name, const lua_Debug *ar, uint64_t calls)
{
	size_t i = 0;

	while (i < account.lua_count && strcmp(account.lua[i].name, name) != 0)
		i++;
	if (i == LUA_FUNCTIONS_MAX)
		return;
	if (i == account.lua_count) {
		account.lua_count++;
		snprintf(account.lua[i].name, sizeof(account.lua[i].name),
			 "%s", name);
		snprintf(account.lua[i].file, sizeof(account.lua[i].file),
			 "%s", ar->short_src);
		account.lua[i].line = ar->linedefined;
	}
	account.lua[i].calls += calls;
}

static uint64_t tally_of(lua_State *L, const char *name)
{
	lua_getglobal(L, "tally");
	lua_getfield(L, -1, name);
	const uint64_t n = (uint64_t)lua_tointeger(L, -1);
	lua_pop(L, 2);
	return n;
}

/* The global "calls" holds name = count; "functions" is an array of names and
 * functions, in turn. */
void account_add_lua(lua_State *L)
{
	lua_getglobal(L, "calls");
	lua_getglobal(L, "functions");
	for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i += 2) {
		const char *name = lua_tostring(L, -1);
		lua_Debug ar;

		lua_getfield(L, -3, name);
		lua_rawgeti(L, -3, i + 1);
		lua_getinfo(L, ">S", &ar);
		add_calls(name, &ar, (uint64_t)lua_tointeger(L, -1));
		lua_pop(L, 2);
	}
	lua_pop(L, 3);
	TALLY(errors, tally_of(L, "errors"));
	TALLY(coroutines, tally_of(L, "coroutines"));
	TALLY(resumes, tally_of(L, "resumes"));
}

static const char *const counted_names[] = {
#define X(name) #name,
	COUNTED_LIST(X)
	TALLY_LIST(X)
#undef X
};

int account_write(const char *path)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

	if (!out) {
		perror(path);
		return -1;
	}
	fputs("what,language,name,place,count\n", out);
	for (size_t i = 0; i < COUNTED_ALL; i++)
		fprintf(out, "%s,%s,%s,,%llu\n",
			i < TALLY_coroutines ? "calls" : "tally",
			i < TALLY_coroutines ? "native" : "",
			counted_names[i], (unsigned long long)account.sum[i]);
	for (size_t i = 0; i < account.lua_count; i++)
		fprintf(out, "calls,lua,%s,%s:%d,%llu\n",
			account.lua[i].name, account.lua[i].file,
			account.lua[i].line,
			(unsigned long long)account.lua[i].calls);
	return out == stdout ? fflush(out) : fclose(out);
}
