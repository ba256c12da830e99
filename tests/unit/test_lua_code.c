/* test_lua_code.c - names that are read from code: of chunks made at random, by
 * what their texts say; and code that is damaged. Compiled for every version of
 * Lua. links: recorder lua
 * SPDX-License-Identifier: MIT */
#include "tests/unit/lua_any.h"
#include "tests/test.h"
#include "tracer/recorder/names/lua_outline.h"

#ifdef WEFT_LUA_ABI
#elif ANY_IS_JIT
#define WEFT_LUA_ABI 21
#else
#define WEFT_LUA_ABI (LUA_VERSION_NUM / 100 * 10 + LUA_VERSION_NUM % 100)
#endif
#include "tracer/host/lua_abi/code.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------- the names of a chunk */

enum { MOST = 4096, NAME = LUA_WRITTEN_NAME + 1 };

/* In the order of the text. */
static struct { uint64_t at; char name[NAME]; } written[MOST];
static uint32_t count;

static void note(void *ctx, uint64_t child, const char *name, uint32_t size)
{
	uint32_t i = 0;

	(void)ctx;
	while (i < count && written[i].at != child)
		i++;
	if (i == count)
		return;
	CHECK(size < NAME);
	memcpy(written[i].name, name, size);
	written[i].name[size] = '\0';
}

static void read_names(uint64_t top)
{
	uint32_t left = CODE_LOOKS;
	struct proto_tree t;
	uint64_t at;

	count = 0;
	proto_tree_begin(&t, top);
	while ((at = proto_tree_next(&t)) != 0 && count < MOST) {
		written[count].at = at;
		written[count++].name[0] = '\0';
	}
	proto_tree_begin(&t, top);
	for (at = top; at != 0; at = proto_tree_next(&t))
		code_each(at, &left, note, NULL);
}

static uint64_t top_of(lua_State *L)
{
	return layout_prototype((uint64_t)lua_topointer(L, -1));
}

/* Code says less than the text: all after a dot, no arguments. */
static bool is_part(const char *name, const char *of)
{
	const char *const arguments = strchr(of, '(');
	const size_t size = strlen(name);
	char all[2 * LUA_OUTLINE_NAME];
	size_t n;

	snprintf(all, sizeof(all), "%.*s%s", arguments ? (int)(arguments - of) :
		 LUA_OUTLINE_NAME, of, arguments ? "(...)" : "");
	for (char *p = all; *p; p++)
		*p = (char)(*p == ':' ? '.' : *p);
	n = strlen(all);
	return n >= size && strcmp(all + (n - size), name) == 0 &&
	       (n == size || all[n - size - 1] == '.');
}

/* What the text says of the functions that were read. Returns how many have a
 * name in both; *named: in the text. */
static uint32_t compare(const char *text, uint32_t *named)
{
	uint32_t same = 0, wrong = 0;
	struct lua_outline o;

	*named = 0;
	CHECK_EQ(lua_outline_read(&o, text, strlen(text), "module"), 0);
	CHECK_EQ(o.n, count + 1);
	for (uint32_t i = 0; i < count && i + 1 < o.n; i++) {
		const char *const said = lua_outline_name(&o, i + 1);

		*named += said[0] != '\0';
		if (written[i].name[0] == '\0')
			continue;
		same++;
		if (!is_part(written[i].name, said) && wrong++ == 0)
			printf("%s: by the text %s\n", written[i].name, said);
	}
	lua_outline_free(&o);
	if (!CHECK_EQ(wrong, 0))
		printf("%s\n", text);
	return same;
}

/* --------------------------------------------------- each way to be named */

/* Commas between names; "" where the code does not tell. */
struct sample { const char *text, *names; };

static const struct sample samples[] = {
	{ "local function f() end", "f" },
	{ "local f = function() end", "f" },
	{ "local f f = function() end", "f" },
	{ "local a, b = function() end, function() end", "a,b" },
	{ "local a, b a, b = function() end, function() end", "a,b" },
	{ "a, b = function() end, function() end", "a,b" },
	{ "local a, t, b = 1 a, t.x, b = function() end, function() end, "
	  "function() end", "a,t.x,b" },
	{ "local a = 1, function() end local b a()", "" },
	{ "f = function() end function g() end", "f,g" },
	{ "function M.work() end function M.a.b() end", "M.work,a.b" },
	{ "local M = {} function M.work() end M.x = function() end",
	  "M.work,M.x" },
	{ "local M function M:get() end function M.a:set() end",
	  "M.get,a.set" },
	{ "local M local function f() M.x = function() end M = function() end "
	  "function M.a.b() end end", "f,M.x,M,a.b" },
	{ "local t = { a = function() end, n = 1, b = function() end }",
	  "t.a,t.b" },
	{ "t = { a = { b = function() end }, c = function() end }",
	  "a.b,t.c" },
	{ "M.t = { x, y(1), a = function() end }", "t.a" },
	{ "M.t = { a = x and y or z, b = function() end }", "t.b" },
	{ "local t t = { a = function() end }", "t.a" },
	{ "setmetatable({}, { __index = function() end })", "__index" },
	{ "f{ k = function() end }", "k" },
	{ "return { k = function() end }", "k" },
	{ "t = { function() end } f(1, { function() end })", "," },
	{ "t = { [x] = function() end, ['a b'] = function() end }", "," },
	{ "local i t[i] = function() end t[1] = function() end", "," },
	{ "register('name', function() end)", "register(...)" },
	{ "sort(t, function() end) pcall(function() end, 'x')",
	  "sort(...),pcall(...)" },
	{ "local e e.on(\"it's\", function() end) e:on(1, function() end)",
	  "e.on(...),e.on(...)" },
	{ "a.b:on('x', f, function() end) a.b.on(f{1}, function() end)",
	  "b.on(...),b.on(...)" },
	{ "add(all(), act(function() end))", "act(...)" },
	{ "f(a or function() end)", "" },
	{ "x = y or function() end local z = y and function() end", "x,z" },
	{ "(x or y)(function() end)", "" },
	{ "f(x)(function() end)", "" },
	{ "(function() end)() x = (function() end)()", "," },
	{ "local function make() return function() end end", "make," },
	{ "return function() end", "" },
	{ "if x then function f() end else f = function() end end", "f,f" },
	{ "for i = 1, 3 do local f = function() return i end M[i] = f end",
	  "f" },
	{ "while x do M.f = function() end end repeat local g = function() "
	  "end until g", "M.f,g" },
#if LUA_VERSION_NUM >= 502
	{ "local _ENV = {} function f() end", "f" },
	{ "local _ENV = {} local function g() x = function() end end",
	  "g,x" },
#endif
#if LUA_VERSION_NUM >= 504
	{ "local c <const> = 1 local f <const> = function() end", "f" },
#endif
};

static const char *said(void)
{
	static char text[4096];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      i > 0 ? "," : "", written[i].name);
	return text;
}

/* 5.1 has no names of variables that are declared last. */
void test_lua_code_tells_each_way_to_name(void)
{
	lua_State *const L = luaL_newstate();
	char text[512];
	uint32_t named;

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *const s = &samples[i];

		snprintf(text, sizeof(text), "%s%s", s->text,
			 strncmp(s->text, "return", 6) == 0 ? "" : " x()");
		if (!CHECK_EQ(luaL_loadbuffer(L, text, strlen(text),
					      "@a/module.lua"), LUA_OK)) {
			printf("%s\n", lua_tostring(L, -1));
			continue;
		}
		read_names(top_of(L));
		if (!CHECK(strcmp(said(), s->names) == 0))
			printf("%s: %s, not %s\n", s->text, said(), s->names);
		compare(text, &named);
		lua_settop(L, 0);
	}
	lua_close(L);
}

/* --------------------------------------------------------- chunks at random */

enum { TEXT = 1 << 17, DEPTH = 5 };

static char text[TEXT];
static size_t used;
static unsigned seed;
static int locals[DEPTH + 1];

static unsigned chance(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void put(const char *s)
{
	used += (size_t)snprintf(text + used, TEXT - used, "%s", s);
}

static const char *one(const char *const *of, unsigned n)
{
	return of[chance(n)];
}
#define ONE(of) one(of, sizeof(of) / sizeof(*(of)))

static const char *const names[] = { "a", "b", "M", "obj", "t", "util" };
static const char *const keys[] = { "run", "on", "get", "x", "__index" };
static const char *const values[] = {
	"1", "nil", "true", "{}", "a", "M.x", "t[1]", "f(1)", "#t", "-a",
	"M.get(a, b)", "a and b", "a == b", "a .. b", "not a", "obj:on(2)",
	"1.5", "{1, 2, x = 3}", "a + 1", "'text'", "...", "b or 'other'",
};

static void put_function(int depth);
static void put_block(int depth);

/* name.key.key */
static void put_path(bool is_field)
{
	put(ONE(names));
	for (unsigned n = chance(3) + is_field; n > 0; n--) {
		put(".");
		put(ONE(keys));
	}
}

static void put_value(void)
{
	put(ONE(values));
}

static void put_table(int depth)
{
	put("{");
	for (unsigned n = chance(4); n > 0; n--) {
		if (chance(4) > 0) {
			put(ONE(keys));
			put("=");
		}
		if (chance(3) == 0)
			put_value();
		else if (chance(3) == 0 && depth < DEPTH)
			put_table(depth + 1);
		else
			put_function(depth);
		put(chance(9) == 0 ? ";" : ",");
	}
	put("}");
}

static void put_arguments(int depth)
{
	static const char *const words[] = {
		"'click'", "\"it's\"", "'a longer text, of more than 40 bytes'",
		"'0123456789012345678901234567890123456789'", "f('inner')",
		"{'inner'}", "g{k = 'inner'}",
	};

	put("(");
	for (unsigned n = chance(3); n > 0; n--) {
		if (chance(2) == 0)
			put(ONE(words));
		else
			put_value();
		put(",");
	}
	if (chance(6) == 0)
		put_table(depth);
	else
		put_function(depth);
	if (chance(3) == 0) {
		put(",");
		put_value();
	}
	put(")");
}

/* An expression that has a function in it. */
static void put_expression(int depth)
{
	switch (chance(14)) {
	case 0:
		put("a or ");
		put_function(depth);
		break;
	case 1:
		put("a and ");
		put_function(depth);
		put(" or b");
		break;
	case 2:
		put("f");
		put_arguments(depth);
		break;
	case 3:
		put("(");
		put_function(depth);
		put(")");
		break;
	case 4: case 5: case 6:
		put_table(depth);
		break;
	default:
		put_function(depth);
	}
}

static void put_local(int depth)
{
	static const char *const forms[] = { "local a = ", "local M = ",
		"local t, obj = 1, ", "local util = ", "local b, a = ",
		"local t = 1, ", };

	if (locals[depth]++ > 20) {
		put("a = ");
		put_expression(depth);
	} else if (chance(3) == 0) {
		put("local function ");
		put(ONE(names));
		put("(x, ...) ");
		put_block(depth + 1);
		put("end");
	} else {
		put(ONE(forms));
		put_expression(depth);
		if (chance(4) == 0) {
			put(", ");
			put_expression(depth);
		}
	}
}

static void put_definition(int depth)
{
	put("function ");
	put_path(false);
	if (chance(3) == 0) {
		put(":");
		put(ONE(keys));
	}
	put("(x, ...) ");
	put_block(depth + 1);
	put("end");
}

static void put_assignment(int depth)
{
	for (unsigned n = chance(4) == 0 ? chance(3) : 0; n > 0; n--) {
		put_path(chance(2) == 0);
		put(", ");
	}
	put_path(chance(2) == 0);
	put(" = ");
	for (unsigned n = chance(4) == 0 ? chance(3) : 0; n > 0; n--) {
		put_expression(depth);
		put(", ");
	}
	put_expression(depth);
}

static void put_call(int depth)
{
	put_path(false);
	if (chance(3) == 0) {
		put(":");
		put(ONE(keys));
	}
	put_arguments(depth);
}

static void put_odd(int depth)
{
	static const char *const odd[] = {
		"if a then end (a and b or M).x = ", "t[a] = ", "t[1] = ",
		"f(a).x = ", "t[a].x = ", "t.x[a] = ", "t[M.x] = ",
		"f(a)(b).get = ",
	};

	put(ONE(odd));
	put_function(depth);
}

static void put_nested(int depth)
{
	static const char *const begins[] = {
		"do ", "if a then ", "while a do ", "for i = 1, 2 do ",
		"for k, v in f(t) do ", "if a == 'x' then b = 1 else ",
		"if a then M = t elseif b then ",
	};

	put(ONE(begins));
	put_block(depth + 1);
	put("end");
}

static void put_filler(void)
{
	put_path(false);
	put(" = ");
	put_value();
}

static void put_statement(int depth)
{
	static void (*const puts[])(int) = {
		put_local, put_local, put_definition, put_definition,
		put_assignment, put_assignment, put_call, put_call, put_odd,
		put_nested,
	};

	if (chance(3) == 0)
		put_filler();
	else
		puts[chance(sizeof(puts) / sizeof(*puts))](depth);
	put(chance(2) == 0 ? "\n" : "; ");
}

/* What is declared last may have no name: something follows. */
static void put_block(int depth)
{
	locals[depth] = depth > 0 ? locals[depth - 1] : 0;
	for (unsigned n = depth < DEPTH && used < TEXT / 4 ?
			  chance(depth == 0 ? 12 : 4) : 0; n > 0; n--)
		put_statement(depth);
	if (chance(4) > 0) {
		put("x = 1\n");
		return;
	}
	put("return ");
	if (depth < DEPTH && chance(2) == 0)
		put_expression(depth);
	else
		put_value();
	put("\n");
}

static void put_function(int depth)
{
	static const char *const parameters[] = { "...", "x, ...", "..." };

	put("function(");
	put(ONE(parameters));
	put(") ");
	if (depth < DEPTH)
		put_block(depth + 1);
	put("end");
}

/* So many constants that not all can be part of an instruction. */
static void put_constants(void)
{
	put("f(");
	for (int i = 0; i < 300; i++) {
		char s[32];

		snprintf(s, sizeof(s), "'%d'%s", i, i % 40 == 39 ? ") f(" :
			 ", ");
		put(s);
	}
	put("1)\n");
}

static void write_chunk(unsigned number)
{
	seed = number;
	chance(2);
	used = 0;
	do {
		used = 0;
		put("");
		if (number % 5 == 0)
			put_constants();
		put_block(0);
	} while (used < 300);
}

static bool load(lua_State *L)
{
	lua_settop(L, 0);
	if (CHECK_EQ(luaL_loadbuffer(L, text, used, "@a/module.lua"), LUA_OK))
		return true;
	printf("%s\n%s\n", lua_tostring(L, -1), text);
	return false;
}

void test_lua_code_says_what_the_text_says(void)
{
	uint32_t known = 0, named = 0, bad = 0;
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	for (unsigned i = 0; i < 300 && bad < 3; i++) {
		uint32_t n;

		write_chunk(i + 1);
		if (!load(L)) {
			bad++;
			continue;
		}
		read_names(top_of(L));
		known += compare(text, &n);
		named += n;
	}
	printf("%u of %u named\n", known, named);
	CHECK(named > 3000 && known > named / 2);
}

/* ------------------------------------------------------------ damaged code */

static void spoil(void *at, size_t size)
{
	for (unsigned n = chance(3); n > 0 && size > 0; n--)
		((uint8_t *)at)[chance((unsigned)size)] = (uint8_t)chance(256);
}

static void *copy(uint64_t from, size_t size)
{
	void *const to = malloc(size);

	if (size > 0)
		memcpy(to, (const void *)from, size);
	return to;
}

#if WEFT_LUA_ABI == 21
static void move(char *p, uint64_t from, uint32_t where)
{
	uint64_t at;

	memcpy(&at, p + where, 8);
	at += at == 0 ? 0 : (uint64_t)p - from;
	memcpy(p + where, &at, 8);
}

static void read_damaged(uint64_t at)
{
	const uint32_t codes = layout_half(at + PROTO_CODES);
	const uint32_t total = layout_half(at + PROTO_TOTAL);
	const uint32_t less = chance(codes);
	uint32_t left = CODE_LOOKS;
	char *const p = copy(at, total);

	move(p, at, PROTO_CHILD);
	move(p, at, PROTO_UPVALUE);
	move(p, at, PROTO_LINE_INFO);
	move(p, at, PROTO_LOCAL);
	for (int i = 0; i < 8; i++)
		spoil(p + PROTO_SIZE, 4 * (size_t)codes);
	if (chance(2) == 0) { /* names of variables lie behind all else */
		const size_t end = layout_word((uint64_t)p + PROTO_LINE_INFO) ?
			layout_word((uint64_t)p + PROTO_LINE_INFO) -
			(uint64_t)p : total;

		for (int i = 0; i < 8; i++)
			spoil(p + end, total - end);
	}
	if (chance(3) == 0)
		memcpy(p + PROTO_CODES, &less, 4);
	p[PROTO_UPVALUES] = (char)chance(256);
	code_each((uint64_t)p, &left, note, NULL);
	free(p);
}
#else
/* An array of the prototype, of a length that may be damaged and is told. */
static void *cut(char *p, uint32_t where, uint32_t length, size_t size)
{
	uint32_t n = layout_half((uint64_t)p + length);
	void *to;

	if (chance(3) == 0 && n > 0)
		n = chance(n);
	to = copy(layout_word((uint64_t)p + where), n * size);
	memcpy(p + where, &to, 8);
	memcpy(p + length, &n, 4);
	return to;
}

static void read_damaged(uint64_t at)
{
	char *const p = copy(at, WEFT_LUA_ABI == 52 ? 128 : 120);
	uint32_t left = chance(4) == 0 ? chance(300) : CODE_LOOKS;
	void *const part[] = {
		cut(p, PROTO_CODE, PROTO_CODES, 4),
		cut(p, PROTO_CONSTANT, PROTO_CONSTANTS, 16),
		cut(p, PROTO_CHILD, PROTO_CHILDREN, 8),
		cut(p, PROTO_LOCAL, PROTO_LOCALS, 16),
		cut(p, PROTO_UPVALUE, PROTO_UPVALUES,
		    WEFT_LUA_ABI == 51 ? 8 : 16),
	};

	for (int i = 0; i < 8; i++)
		spoil(part[0], 4 * (size_t)layout_half((uint64_t)p +
						       PROTO_CODES));
	for (uint32_t i = 0; i < layout_half((uint64_t)p + PROTO_LOCALS); i++)
		spoil((char *)part[3] + 16 * (size_t)i + 8, 8);
	code_each((uint64_t)p, &left, note, NULL);
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		free(part[i]);
	free(p);
}
#endif

/* It is read within its bounds: the address sanitizer says so. */
void test_lua_code_that_is_damaged_is_read_within_its_bounds(void)
{
	lua_State *const L = luaL_newstate();
	unsigned read = 0;

	luaL_openlibs(L);
	for (unsigned i = 0; i < 60; i++) {
		struct proto_tree t;
		uint64_t at;

		write_chunk(i + 1);
		if (!load(L))
			break;
		read_names(top_of(L));
		proto_tree_begin(&t, at = top_of(L));
		for (; at != 0; at = proto_tree_next(&t)) {
			for (int k = 0; k < 20; k++, read++)
				read_damaged(at);
		}
	}
	printf("%u damaged functions\n", read);
	CHECK(read > 10000);
}
