/* test_lua_written.c - which is which of the functions on the same lines: of
 * chunks made at random, whose maker knows. Compiled for every version of Lua.
 * links: host lua
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/lua_any.h"
#include "tests/unit/lua_pool.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/lua_func/written.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- the table */

void test_lua_written_of_what_lies_there_now(void)
{
	const uint64_t at = 0x7f0000001230, other = 0x7f0000001240;
	const uint64_t news = lua_written_news();

	CHECK_EQ(lua_written_ordinal(at, 5), 0);
	CHECK(!lua_written_set_ordinal(at, 5, 0));
	CHECK(lua_written_set_ordinal(at, 5, 3));
	CHECK(!lua_written_set_ordinal(at, 5, 3));
	CHECK_EQ(lua_written_ordinal(at, 5), 3);
	CHECK_EQ(lua_written_ordinal(at, 6), 0);
	CHECK_EQ(lua_written_ordinal(other, 5), 0);
	CHECK(lua_written_set_ordinal(at, 5, 0));
	CHECK_EQ(lua_written_ordinal(at, 5), 0);
	CHECK(lua_written_set_ordinal(at, 6, 65535));
	CHECK_EQ(lua_written_ordinal(at, 6), 65535);
	CHECK_EQ(lua_written_ordinal(at, 5), 0);
	CHECK_EQ(lua_written_news(), news + 3);
}

/* Fills the table: those that follow in the order of their names do without. */
void test_lua_written_when_full_is_none(void)
{
	unsigned wrong = 0, none = 0;

	for (uint64_t i = 1; i <= 300000; i++)
		lua_written_set_ordinal(i << 4, i, (uint32_t)(i % 7 + 1));
	for (uint64_t i = 1; i <= 300000; i++) {
		const uint32_t n = lua_written_ordinal(i << 4, i);

		none += n == 0;
		wrong += n != 0 && n != i % 7 + 1;
	}
	printf("%u of 300000 had no room\n", none);
	CHECK(none > 0 && none < 200000);
	CHECK_EQ(wrong, 0);
}

void test_lua_written_name_stays_beside_the_ordinal(void)
{
	const uint64_t at = 0x7f0000001250, news = lua_written_news();
	char name[LUA_WRITTEN_NAME];

	CHECK_EQ(lua_written_name(at, 5, name), 0);
	lua_written_set_name(at, 5, "M.work", 6);
	CHECK_EQ(lua_written_news(), news);
	CHECK(lua_written_set_ordinal(at, 5, 2));
	CHECK_EQ(lua_written_name(at, 5, name), 6);
	CHECK(memcmp(name, "M.work", 6) == 0);
	CHECK_EQ(lua_written_name(at, 6, name), 0);
	lua_written_set_name(at, 5, "", 0);
	CHECK_EQ(lua_written_name(at, 5, name), 0);
	CHECK_EQ(lua_written_ordinal(at, 5), 2);
}

/* Names leave room for ordinals. */
void test_lua_written_names_take_half_of_the_room(void)
{
	char name[LUA_WRITTEN_NAME];
	unsigned named = 0;

	for (uint64_t i = 1; i <= 100000; i++)
		lua_written_set_name(i << 24, i, "name", 4);
	for (uint64_t i = 1; i <= 100000; i++)
		named += lua_written_name(i << 24, i, name) == 4;
	printf("%u of 100000 have a name\n", named);
	CHECK(named > 30000 && named <= 65536);
	CHECK(lua_written_set_ordinal(UINT64_C(200000) << 24, 5, 2));
	CHECK_EQ(lua_written_ordinal(UINT64_C(200000) << 24, 5), 2);
}

void test_lua_written_news_make_a_main_function_be_looked_at(void)
{
	CHECK(!lua_written_is_set(0x1230, 7, 1));
	lua_written_are_set(0x1230, 7, 1);
	CHECK(lua_written_is_set(0x1230, 7, 1));
	CHECK(!lua_written_is_set(0x1230, 8, 1));
	CHECK(!lua_written_is_set(0x1230, 7, 2));
	CHECK(!lua_written_is_set(0x1240, 7, 1));
}

/* -------------------------------------------------------- chunks by chance */

enum { MOST = 400, TEXT = 1 << 16 };

static char text[TEXT];
static size_t used;
static int line, made;
static struct { int first, last; } written[MOST];
static unsigned seed = 1;

static unsigned chance(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void put(const char *s)
{
	used += (size_t)snprintf(text + used, TEXT - used, "%s", s);
	if (chance(12) == 0) {
		text[used++] = '\n';
		line++;
	}
}

/* run(function() check(3) run(function() ... end) run(...) end) */
static void put_functions(int depth)
{
	for (unsigned n = chance(depth == 0 ? 9 : 4); n > 0 && made < MOST;
	     n--) {
		const int me = made++;
		char check[32];

		used += (size_t)snprintf(text + used, TEXT - used, " run(");
		written[me].first = line;
		put("function() ");
		snprintf(check, sizeof(check), "check(%d) ", me);
		put(check);
		if (chance(3) == 0)
			put("local x = {'a', 1.5, b = 2.5, c = 'd'} ");
		if (depth < 5)
			put_functions(depth + 1);
		used += (size_t)snprintf(text + used, TEXT - used, "end");
		written[me].last = line;
		put(") ");
	}
}

static uint32_t ordinal_of(int me)
{
	uint32_t n = 0;

	for (int i = 0; i < me; i++)
		n += written[i].first == written[me].first &&
		     written[i].last == written[me].last;
	return n;
}

static unsigned long checks, twins, wrong;

static int l_check(lua_State *L)
{
	const int me = (int)lua_tointeger(L, 1);
	const uint32_t ordinal = ordinal_of(me);
	lua_Debug d;
	uint64_t key;

	lua_getstack(L, 1, &d);
	lua_getinfo(L, "S", &d);
	key = lua_func_key(d.source, strlen(d.source), d.linedefined,
			   d.lastlinedefined, ordinal, 0);
	checks++;
	twins += ordinal != 0;
	/* What is stripped has no source, or no lines (LuaJIT's): it may be
	 * any, and its key has a body. */
	if (strcmp(d.source, "=?") == 0 || d.linedefined <= 0)
		return 0;
	if (thread_self->top[-2].key != key && wrong++ < 5)
		printf("%s:%d-%d: not number %u\n%s\n", d.short_src,
		       d.linedefined, d.lastlinedefined, ordinal, text);
	return 0;
}

static int l_run(lua_State *L)
{
	for (int i = 0; i < 2; i++) {
		lua_pushvalue(L, 1);
		lua_call(L, 0, 0);
	}
	return 0;
}

/* The function at the top, from its dump. Lua 5.1 and 5.2 strip nothing. */
static void reload(lua_State *L, const char *name, int strip)
{
	const char *dump;
	size_t size;

	lua_getglobal(L, "string");
	lua_getfield(L, -1, "dump");
	lua_pushvalue(L, 1);
	lua_pushboolean(L, strip);
	lua_call(L, 2, 1);
	dump = lua_tolstring(L, -1, &size);
	CHECK_EQ(luaL_loadbuffer(L, dump, size, name), LUA_OK);
	lua_replace(L, 1);
	lua_settop(L, 1);
}

static void run_one(lua_State *L, const char *name)
{
	static const char begin[] = "local run, check = ...";

	line = 1;
	made = 0;
	used = sizeof(begin) - 1;
	memcpy(text, begin, sizeof(begin));
	put_functions(0);
	CHECK_EQ(luaL_loadbuffer(L, text, used, name), LUA_OK);
	if (chance(3) == 0)
		reload(L, name, chance(2) == 0);
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			lua_pushvalue(L, -1);
		lua_pushcfunction(L, l_run);
		lua_pushcfunction(L, l_check);
		lua_call(L, 2, 0);
	}
	lua_settop(L, 0);
}

/* What is freed last is used again first, whatever malloc does: prototypes lie
 * where others lay. */
static void *allocate(void *ud, void *old, size_t size, size_t wanted)
{
	enum { CLASSES = 256 };
	static void *free_list[CLASSES];
	const size_t is = (size + 15) / 16, to = (wanted + 15) / 16;
	void *p;

	(void)ud;
	if (old && is == to)
		return old;
	if (to > 0 && to < CLASSES && free_list[to]) {
		p = free_list[to];
		memcpy(&free_list[to], p, sizeof(p));
	} else {
		p = to > 0 ? malloc(to * 16) : NULL;
	}
	if (!old || (to > 0 && !p))
		return p;
	memcpy(p ? p : old, old, size < wanted ? size : wanted);
	if (is < CLASSES) {
		memcpy(old, &free_list[is], sizeof(old));
		free_list[is] = old;
	} else {
		free(old);
	}
	return p;
}

void test_lua_functions_on_the_same_lines_are_told_by_their_order(void)
{
	static const char *const names[] = {
		"@one.lua", "@two.lua",
		"@a file whose name has more than forty bytes.lua",
	};
	lua_State *const L = any_newstate(allocate);

	luaL_openlibs(L);
	CHECK(lua_co_find(L)->vm->by_layout);
	for (int i = 0; i < 300 && wrong == 0; i++) {
		run_one(L, names[chance(3)]);
		if (chance(4) == 0)
			lua_gc(L, LUA_GCCOLLECT, 0);
		drain();
	}
	printf("%lu checked, %lu of functions that are not the first\n",
	       checks, twins);
	CHECK(checks > 100000 && twins > checks / 4);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(tally.bad, 0);
	lua_close(L);
}

/* ------------------------------------------------------------- too many */

static int l_first(lua_State *L)
{
	lua_Debug d;

	lua_getstack(L, 1, &d);
	lua_getinfo(L, "S", &d);
	wrong += thread_self->top[-2].key !=
		 lua_func_key(d.source, strlen(d.source), d.linedefined,
			      d.lastlinedefined, 0, 0);
	checks++;
	return 0;
}

/* Of more than 65,536 functions in one chunk none is numbered. */
void test_lua_chunks_of_too_many_functions_are_not_numbered(void)
{
	enum { OUTER = 300, INNER = 240, ROOM = OUTER * INNER * 32 };
	char *const big = malloc(ROOM), *to = big;
	lua_State *const L = luaL_newstate();

	to += sprintf(to, "local f, first = nil, ... ");
	for (int i = 0; i < OUTER; i++) {
		to += sprintf(to, "f = function() ");
		for (int k = 0; k < INNER; k++)
			to += sprintf(to, "f = function() end ");
		to += sprintf(to, "first() end ");
	}
	to += sprintf(to, "f() f()");
	checks = wrong = 0;
	CHECK_EQ(luaL_loadbuffer(L, big, (size_t)(to - big), "@many.lua"),
		 LUA_OK);
	lua_pushcfunction(L, l_first);
	lua_call(L, 1, 0);
	CHECK_EQ(checks, 1);
	CHECK_EQ(wrong, 0);
	lua_close(L);
	free(big);
}
