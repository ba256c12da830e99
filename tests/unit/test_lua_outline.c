/* test_lua_outline.c - what sources of every grammar call their functions, and
 * what no bytes can do. links: recorder
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_outline.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "FIRST-LAST NAME" of each function, with commas between; "no Lua". */
static const char *outline(const char *text, size_t size)
{
	static char said[4096];
	char *const exact = malloc(size + 1);
	struct lua_outline o;
	size_t n = 0;

	memcpy(exact, text, size);
	strcpy(said, "no Lua");
	if (lua_outline_read(&o, exact, size, "set") == 0) {
		said[0] = '\0';
		for (uint32_t i = 1; i < o.n && n < sizeof(said); i++)
			n += (size_t)snprintf(said + n, sizeof(said) - n,
				"%s%u-%u %s", i > 1 ? ", " : "",
				o.function[i].first, o.function[i].last,
				lua_outline_name(&o, i));
	}
	lua_outline_free(&o);
	free(exact);
	return said;
}

struct sample { const char *text, *said; };

static const struct sample samples[] = {
	/* definitions */
	{ "function f() end", "1-1 f" },
	{ "function M.a.b(x) end function M:c() end", "1-1 M.a.b, 1-1 M:c" },
	{ "function M . a\n: b\n() end", "1-3 b" },
	{ "local function fib(n) return fib(n - 1) end", "1-1 fib" },
	{ "local function\nlate\n()\nend", "3-4 late" },
	{ "function\nlate\n()\nend", "1-4 late" },
	{ "global function g() end", "1-1 g" },
	{ "t.helper = function\n() end", "2-2 t.helper" },
	{ "local a, b = function() end, function() end", "1-1 a, 1-1 b" },
	{ "local a = 1, function() end", "1-1 " },
	{ "a, t[i].f = nil, function() end", "1-1 t[i].f" },
	{ "f(x).g = function() end f(x)[g(1)] = function() end",
	  "1-1 g, 1-1 " },
	{ "x = y or function() end", "1-1 x" },
	{ "local x <const>, y <close> = 1, function() end", "1-1 y" },
	{ "local<const>x=function() end", "1-1 x" },
	{ "x = 1 y = function() end", "1-1 y" },
	{ "x = f'a' y = function() end", "1-1 y" },
	{ "x = 1 ::here:: y = function() end goto here", "1-1 y" },
	/* tables */
	{ "t = { helper = function() end, n = 1 }", "1-1 t.helper" },
	{ "local M = { a = { b = function() end } }", "1-1 M.a.b" },
	{ "M = { ['k'] = function() end; function() end }",
	  "1-1 M['k'], 1-1 M[2]" },
	{ "return { open = function() end }", "1-1 open" },
	{ "setmetatable({}, { __gc = function() end })", "1-1 __gc" },
	{ "setup { on = function() end, function() end }",
	  "1-1 on, 1-1 setup(...)" },
	/* arguments */
	{ "register(\"name\", function() end)", "1-1 register(\"name\")" },
	{ "M.on('x', 1, function() end)", "1-1 M.on(\"x\")" },
	{ "o:each(function() end)", "1-1 o:each(...)" },
	{ "local ok = pcall(function() end)", "1-1 pcall(...)" },
	{ "x = coroutine.wrap(function() end)", "1-1 coroutine.wrap(...)" },
	{ "require('x').go(function() end)", "1-1 go(...)" },
	{ "f(g('a'), function() end)", "1-1 f(...)" },
	{ "f(a / function() end)", "1-1 f(...)" },
	{ "f(\"0123456789012345678901234567890123456789\xc3\xa4\", "
	  "function() end)",
	  "1-1 f(\"0123456789012345678901234567890123456789...\")" },
	/* returned, or called at once */
	{ "return function() end", "1-1 set" },
	{ "local function make() return function() return function() end "
	  "end end", "1-1 make, 1-1 return of make, 1-1 return of make" },
	{ "M.copy = (function() local function id() end\n"
	  "return function() end end)()", "1-2 , 1-1 id, 2-2 M.copy" },
	{ "(function() end)()", "1-1 " },
	{ "do if x then return function() end end end", "1-1 set" },
	/* what only looks like something else */
	{ "-- function a() end\nfunction b() end", "2-2 b" },
	{ "--[==[ function a()\n]] ]=] end]==]function b() end", "2-2 b" },
	{ "x = [[\nfunction a() end]] function b() end", "2-2 b" },
	{ "x = 'function\\' a()' function b() end", "1-1 b" },
	{ "x = \"a\\z\n  \\\n\" function b() end", "3-3 b" },
	{ "#!/usr/bin/lua\nfunction b() end", "2-2 b" },
	{ "\xef\xbb\xbf" "function b() end", "1-1 b" },
	{ "\r\n\r\nfunction b() end\n\rfunction c() end", "3-3 b, 4-4 c" },
	/* operators and numbers of all versions */
	{ "x = 7 // 2 ~ 1 << 3 >> 1 & ~4 | 5 x = x ~= 1 y = function() end",
	  "1-1 y" },
	{ "x = 1LL + 0x1p-4 + 3e+2 + 0xep1 + .5 .. 1 y = function() end",
	  "1-1 y" },
	{ "x = a == b y = function(...) local z = ... end", "1-1 y" },
	{ "\xc3\xa4 = function() end", "1-1 \xc3\xa4" },
	/* blocks */
	{ "while x do repeat for i = 1, 2 do if a then elseif b then else end "
	  "end until x end function f() goto e ::e:: end", "1-1 f" },
	{ "repeat local function f() end until g(function() end) "
	  "h = function() end", "1-1 f, 1-1 g(...), 1-1 h" },
	/* no Lua */
	{ "function f(", "no Lua" }, { "function f()", "no Lua" },
	{ "end", "no Lua" }, { "f(]", "no Lua" }, { "x = 'a\n'", "no Lua" },
	{ "--[[ x", "no Lua" }, { "x = [==[ ]]", "no Lua" },
	{ "until", "no Lua" }, { "t = { function() end", "no Lua" },
	{ "\x1bLua", "" }, { "", "" },
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

void test_lua_outline_gives_names_and_lines(void)
{
	for (size_t i = 0; i < SAMPLES; i++)
		CHECK_STR(outline(samples[i].text, strlen(samples[i].text)),
			  samples[i].said);
}

void test_lua_outline_finds_a_function_by_lines_and_ordinal(void)
{
	static const char text[] = "f = function() end g = function() end\n"
				   "h = function()\nend";
	struct lua_outline o;

	REQUIRE(lua_outline_read(&o, text, strlen(text), "") == 0);
	CHECK_STR(lua_outline_name(&o, lua_outline_find(&o, 1, 1, 0)), "f");
	CHECK_STR(lua_outline_name(&o, lua_outline_find(&o, 1, 1, 1)), "g");
	CHECK_STR(lua_outline_name(&o, lua_outline_find(&o, 2, 3, 0)), "h");
	CHECK_EQ(lua_outline_find(&o, 1, 1, 2), 0);
	CHECK_EQ(lua_outline_find(&o, 2, 2, 0), 0);
	CHECK_EQ(lua_outline_find(&o, 9, 9, 0), 0);
	CHECK_EQ(o.lines, 3);
	lua_outline_free(&o);
}

/* Cut, changed and repeated samples: no bytes crash it or keep it busy. */
void test_lua_outline_takes_any_bytes(void)
{
	enum { ROUNDS = 30000, MOST = 4000 };
	static const char odd[] = "()[]{}=,;.:\"'\\\n\r-#<>~\0\xff[[--endz";
	uint64_t random = 88172645463325252u;
	char text[MOST];

	for (int round = 0; round < ROUNDS; round++) {
		size_t size = 0;

		for (int parts = round % 7; parts >= 0; parts--) {
			const char *const s = samples[
				(random >> 20) % SAMPLES].text;

			random = random * UINT64_C(6364136223846793005) + 1;
			if (size + strlen(s) < MOST)
				memcpy(text + size, s, strlen(s));
			size += size + strlen(s) < MOST ? strlen(s) : 0;
		}
		for (int changes = round % 5; changes > 0 && size > 0;
		     changes--) {
			random = random * UINT64_C(6364136223846793005) + 1;
			text[(random >> 33) % size] =
				odd[(random >> 20) % sizeof(odd)];
		}
		outline(text, size);
	}
}

static void check_deep(const char *part, size_t count)
{
	const size_t n = strlen(part);
	char *const text = malloc(n * count);

	for (size_t i = 0; i < count; i++)
		memcpy(text + i * n, part, n);
	outline(text, n * count);
	free(text);
}

void test_lua_outline_takes_deep_and_long_texts(void)
{
	static const char *const parts[] = {
		"(", "{", "[", "[=", "]=", "f(", "{a={", "function f() ", "do ",
		"f{", "a.", "--[[", "\"", "return function() ", "a,", "a=",
		"(function() end)() ", "x = {y = function() end} ", "f'a'",
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		check_deep(parts[i], 200000);
}
