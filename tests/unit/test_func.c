/* test_func.c - a function is the same function wherever it is met.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/func.h"
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

void test_func_lua_is_source_and_lines(void)
{
	struct func_table *const t = func_table_new();
	const func_id f = func_lua(t, "@x.lua", 6, 6, 77, 1, 9, "");

	CHECK_EQ(func_lua(t, "@x.lua", 6, 6, 77, 1, 9, "name"), f);
	CHECK_STR(func_get(t, f)->hint, "name");
	CHECK_EQ(func_lua(t, "@x.lua", 6, 6, 77, 1, 9, "later"), f);
	CHECK_STR(func_get(t, f)->hint, "name");
	CHECK(func_lua(t, "@x.lua", 6, 6, 77, 2, 9, "") != f);
	CHECK(func_lua(t, "@x.lua", 6, 6, 77, 1, 8, "") != f);
	/* Long texts that begin alike are told apart by their hash. */
	CHECK(func_lua(t, "@x.lua", 6, 900, 78, 1, 9, "") !=
	      func_lua(t, "@x.lua", 6, 900, 79, 1, 9, ""));
	CHECK_STR(func_language(func_get(t, f)), "lua");
	CHECK_STR(func_get(t, f)->source, "@x.lua");
	func_table_free(t);
}

void test_func_names_tell_marks_and_specials_apart(void)
{
	struct func_table *const t = func_table_new();
	const func_id m = func_mark(t, "x"), s = func_special(t, "x");

	CHECK(m != s);
	CHECK_EQ(func_mark(t, "x"), m);
	CHECK_EQ(func_special(t, "x"), s);
	CHECK(func_mark(t, "y") != m);
	CHECK_STR(func_get(t, s)->name, "x");
	CHECK_STR(func_language(func_get(t, s)), "");
	CHECK_STR(func_language(func_get(t, m)), "mark");
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
