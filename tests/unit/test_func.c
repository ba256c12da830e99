/* test_func.c - a function is the same function wherever it is met.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/func.h"
#include "tracepoints/chunk.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

void test_func_modules_are_their_build_ids(void)
{
	struct func_table *const t = func_table_new();
	const uint8_t x[] = { 1, 2, 3 }, y[] = { 1, 2, 4 };
	const elf_id a = func_module(t, "/bin/a", x, 3, 100);

	CHECK_EQ(func_module(t, "/elsewhere/a", x, 3, 200), a);
	CHECK(func_module(t, "/bin/a", y, 3, 100) != a);
	CHECK(func_module(t, "/bin/a", x, 2, 100) != a);
	CHECK(func_module(t, "/bin/a", NULL, 0, 100) != a);
	CHECK_EQ(func_module(t, "/bin/a", NULL, 0, 100),
		 func_module(t, "/bin/a", NULL, 0, 100));
	CHECK(func_module(t, "/bin/a", NULL, 0, 101) !=
	      func_module(t, "/bin/a", NULL, 0, 100));
	CHECK_STR(func_elf(t, a)->path, "/bin/a");
	CHECK_EQ(func_elf(t, a)->build_id_size, 3);
	CHECK_STR(func_elf(t, 99)->path, "");
	func_table_free(t);
}

void test_func_knows_the_files_of_lua(void)
{
	static const char *const of_lua[] = { "/usr/bin/lua", "/usr/bin/lua5.4",
		"/usr/lib/liblua5.1.so.0.0.0", "/lib/liblua5.4-c++.so.0",
		"/lib/liblua.so.5.4", "/usr/bin/luajit-2.1.0-beta3",
		"/lib/libluajit-5.1.so.2.1.0", "lua5.3" };
	static const char *const others[] = { "/lib/liblua5.1-socket.so.2.0.0",
		"/lib/liblua5.3-lpeg.so.2", "/lib/libluasandbox.so",
		"/bin/lua_leaks", "/lib/luasql.so", "/bin/lua-server", "a" };
	struct func_table *const t = func_table_new();
	const size_t count = sizeof(of_lua) / sizeof(*of_lua);

	for (size_t i = 0; i < count; i++)
		CHECK(func_elf_is_lua(t, func_module(t, of_lua[i], NULL, 0,
						     1)));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!func_elf_is_lua(t, func_module(t, others[i], NULL, 0,
						      1)));
	CHECK(!func_elf_is_lua(t, 0));
	func_table_free(t);
}

void test_func_knows_what_is_a_librarys(void)
{
	static const char *const library[] = {
		"__gthread_mutex_lock(pthread_mutex_t*)", "std::mutex::lock()",
		"void std::__invoke_impl<void, void (*)()>(void (*&&)())",
		"std::result<void (*)()>::type std::invoke<f>(void (*&&)())",
		"__gnu_cxx::new_allocator<a b>::f()",
		"decltype (auto) std::__invoke<f (*)(int)>(f (*&&)(int))",
		"decltype(auto) std::get<0ul>(std::tuple<int>&)",
		"decltype ((declval<f>)()->run()) std::call<f>(f&&)",
		"decltype (((forward<f>)({parm#1}))()) std::run<f>(f&&)" };
	static const char *const own[] = { "lock", "stdin_read", "a::std::f()",
		"void run<std::less<int> >(int)", "std_lock(std::mutex&)",
		"std::vector<int> make(std::string const&)",
		"decltype (auto) std_visit<std::less<int> >(int)",
		"decltype(std::less<int>()) order(int)" };
	struct func_table *const t = func_table_new();
	const elf_id m = func_module(t, "/a", NULL, 0, 1);
	const func_id f = func_native(t, m, 16);

	for (size_t i = 0; i < sizeof(library) / sizeof(*library); i++) {
		func_get(t, f)->name = library[i];
		CHECK(func_is_library(t, f));
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		func_get(t, f)->name = own[i];
		CHECK(!func_is_library(t, f));
	}
	func_get(t, f)->name = "";
	func_table_free(t);
}

void test_func_native_is_module_and_offset(void)
{
	struct func_table *const t = func_table_new();
	const elf_id m = func_module(t, "/a", NULL, 0, 1);
	const elf_id n = func_module(t, "/b", NULL, 0, 1);
	const func_id f = func_native(t, m, 16);

	CHECK_EQ(func_native(t, m, 16), f);
	CHECK(func_native(t, n, 16) != f);
	CHECK(func_native(t, m, 17) != f);
	CHECK(func_code(t, 16) != f);
	CHECK_EQ(func_code(t, 16), func_code(t, 16));
	CHECK_STR(func_language(func_get(t, f)), "native");
	CHECK_STR(func_get(t, 0)->name, "");
	CHECK_STR(func_get(t, 12345)->source, "");
	func_table_free(t);
}

static func_id lua(struct func_table *t, struct func_origin o,
		   const char *hint)
{
	o.source = "@x.lua";
	o.stored = 6;
	return func_lua(t, &o, hint);
}

void test_func_lua_is_source_lines_and_ordinal(void)
{
	struct func_table *const t = func_table_new();
	const struct func_origin at = { .length = 6, .hash = 77, .line = 1,
					.last_line = 9 };
	struct func_origin other[5] = { at, at, at, at, at };
	const func_id f = lua(t, at, "");

	CHECK_EQ(lua(t, at, "name"), f);
	CHECK_STR(func_get(t, f)->hint, "name");
	CHECK_EQ(lua(t, at, "other"), f);
	CHECK_STR(func_get(t, f)->hint, "name");
	other[0].line = 2;
	other[1].last_line = 8;
	other[2].ordinal = 1;
	other[3].ordinal = CHUNK_ORDINAL_MAX;
	/* Long texts that begin alike are told apart by their hash. */
	other[4].hash = 78;
	for (size_t i = 0; i < 5; i++) {
		const func_id id = lua(t, other[i], "");

		CHECK_EQ(id, f + i + 1);
		CHECK_EQ(lua(t, other[i], ""), id);
		CHECK_EQ(func_like(t, func_get(t, id), 0), id);
	}
	CHECK_EQ(func_get(t, f)->ordinal, 0);
	CHECK_EQ(func_get(t, f + 3)->ordinal, 1);
	CHECK_STR(func_language(func_get(t, f)), "lua");
	CHECK_STR(func_get(t, f)->source, "@x.lua");
	func_table_free(t);
}

void test_func_names_tell_marks_and_specials_apart(void)
{
	struct func_table *const t = func_table_new();
	const func_id m = func_name(t, "x"), s = func_special(t, "x");

	CHECK(m != s);
	CHECK_EQ(func_name(t, "x"), m);
	CHECK_EQ(func_special(t, "x"), s);
	CHECK(func_name(t, "y") != m);
	CHECK_STR(func_get(t, s)->name, "x");
	CHECK_STR(func_language(func_get(t, s)), "");
	CHECK_STR(func_language(func_get(t, m)), "zone");
	func_table_free(t);
}

void test_func_tables_hold_many(void)
{
	struct func_table *const t = func_table_new();
	const elf_id m = func_module(t, "/a", NULL, 0, 1);

	for (uint64_t i = 0; i < 20000; i++)
		func_native(t, m, i * 16);
	CHECK_EQ(func_count(t), 20000);
	for (uint64_t i = 0; i < 20000; i++)
		CHECK_EQ(func_get(t, func_native(t, m, i * 16))->offset,
			 i * 16);
	CHECK_EQ(func_count(t), 20000);
	func_table_free(t);
}

/* Whatever the order in which they come. */
void test_func_hint_is_what_came_most_often(void)
{
	static const char *const came[] = { "b", "a", "c", "c", "a", "b", "c",
					    "", "b" };
	const size_t n = sizeof(came) / sizeof(came[0]);

	for (size_t first = 0; first < n; first++) {
		struct func_table *const t = func_table_new();
		const func_id f = func_native(t, 0, 1);

		for (size_t i = 0; i < n; i++)
			func_hint(t, f, came[(first + i) % n]);
		CHECK_STR(func_get(t, f)->hint, "b");
		func_hint(t, f, "c");
		CHECK_STR(func_get(t, f)->hint, "c");
		func_define(t, f, "defined");
		func_hint(t, f, "c");
		CHECK_STR(func_get(t, f)->hint, "defined");
		func_table_free(t);
	}
}
