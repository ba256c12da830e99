/* test_select_match.c - functions by what a person calls them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/filter.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	"f", "f(int)", "f <app.lua:12>", "fg", "(anonymous namespace)::h(int)",
	"ns::op::operator()(int) const", "main chunk <a.lua>", "<x>", "f*",
};

enum { COUNT = sizeof(names) / sizeof(names[0]) };

/* The functions' positions above, as digits. */
static const char *picked(const char *pattern)
{
	static char found[COUNT + 1];
	struct session *const s = session_new(0);
	size_t count = 0;

	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < COUNT; i++)
		if (filter_match_func(s, func_special(s->funcs, names[i]),
				      pattern))
			found[count++] = (char)('0' + i);
	session_free(s);
	return found;
}

void test_filter_match_takes_a_name_without_parameters_or_source(void)
{
	CHECK_STR(picked("f"), "012");
	CHECK_STR(picked("f(int)"), "1");
	CHECK_STR(picked("f <app.lua:12>"), "2");
	CHECK_STR(picked("(anonymous namespace)::h"), "4");
	CHECK_STR(picked("ns::op::operator()"), "5");
	CHECK_STR(picked("main chunk"), "6");
	CHECK_STR(picked("<x>"), "7");
	CHECK_STR(picked("g"), "");
	CHECK_STR(picked(""), "");
}

void test_filter_match_takes_a_pattern(void)
{
	CHECK_STR(picked("f*"), "01238");
	CHECK_STR(picked("f?"), "38");
	CHECK_STR(picked("*h"), "4");
	CHECK_STR(picked("*a.lua>"), "6");
	CHECK_STR(picked("fg|main chunk"), "36");
	CHECK_STR(picked("*|x"), "012345678");
}

void test_filter_match_takes_the_last_part_of_a_lua_name(void)
{
	static const struct { const char *hint, *pattern; bool is_it; }
	cases[] = {
		{ "M.work", "work", true }, { "M.work", "M.work", true },
		{ "M.work", "w?rk", true }, { "M.work", "M", false },
		{ "M:method", "method", true }, { "fib", "fib", true },
		{ "fib", "ib", false }, { "M.work", "", false },
		{ "on(\"a.b\")", "on(\"a.b\")", true },
		{ "on(\"a.b\")", "b\")", false },
		{ "return of a.make", "make", false },
		{ "t.f(...)", "t.f(...)", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session *const s = session_new(0);
		const func_id f = func_lua(s->funcs, &(struct func_origin){
			"@x.lua", 6, 6, 1, 3, 4, 0 }, cases[i].hint);
		char name[64];

		snprintf(name, sizeof(name), "%s <x.lua:3>", cases[i].hint);
		func_get(s->funcs, f)->name = name;
		CHECK_EQ(filter_match_func(s, f, cases[i].pattern),
			 cases[i].is_it);
		session_free(s);
	}
}

void test_filter_of_a_thread_and_a_process_without_it_leaves_none(void)
{
	struct session *const s = sessions_new(1000, "worker");
	uint8_t *both = filter_threads(s, &(struct filter){
		.thread = "worker", .process = "5" });
	uint8_t *none = filter_threads(s, &(struct filter){
		.thread = "worker", .process = "6" });

	REQUIRE(both && none);
	CHECK_EQ(both[0], 1);
	CHECK_EQ(none[0], 0);
	mem_free(both);
	mem_free(none);
	session_free(s);
}
