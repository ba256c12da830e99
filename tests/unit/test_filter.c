/* test_filter.c - parts of a tree, and functions by what a person calls them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/filter.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

/* main > f > g > f > h, and main > ~body > g; the root's own self is 7. */
static struct session *sample(void)
{
	struct session *const s = session_new(0);
	const node_id r = cct_root(s->cct, 0);
	const node_id m = sessions_node(s, r, "main", 0, 1, 1, 0);
	const node_id f = sessions_node(s, m, "f", 0, 2, 10, 0);
	const node_id g = sessions_node(s, f, "g", 0, 3, 100, 0);
	const node_id f2 = sessions_node(s, g, "f", 0, 4, 1000, 0);
	const node_id body = sessions_node(s, m, "body", CCT_BODY, 1, 20000,
					   300);

	cct_get(s->cct, r)->self = 7;
	sessions_node(s, f2, "h", 0, 5, 10000, 0);
	sessions_node(s, body, "g", 0, 1, 200000, 4000);
	return s;
}

static struct flat_row row(struct session *s, const char *name)
{
	struct flat *const r = flat_new(s, NULL);
	struct flat_row found = { 0 };

	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(flat_name(r, &r->rows[i]), name))
			found = r->rows[i];
	flat_free(r);
	return found;
}

static struct session *selected(struct filter o, struct filter_sums *sums)
{
	struct session *const s = sample();
	/* func_special fills in the name. */
	*sums = filter_apply(s, &o, 0);

	CHECK(cct_valid(s->cct));
	CHECK_EQ(sums->whole_self, 231118);
	CHECK_EQ(sums->whole_calls, 17);
	return s;
}

void test_filter_under_starts_at_the_outermost(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .under = "g" },
					   &sums);

	CHECK_EQ(sums.self, 211100);
	CHECK_EQ(sums.calls, 3 + 4 + 5 + 1);
	CHECK_EQ(row(s, "f").f.total, 11000);
	CHECK_EQ(row(s, "g").f.total, 211100);
	CHECK_EQ(row(s, "main").f.calls, 0);
	CHECK_EQ(row(s, "g").f.suspended, 4000);
	session_free(s);
}

void test_filter_focus_shows_callers_without_their_own(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .focus = "h" },
					   &sums);

	CHECK_EQ(sums.self, 10000);
	CHECK_EQ(row(s, "main").f.total, 10000);
	CHECK_EQ(row(s, "main").f.self, 0);
	CHECK_EQ(row(s, "main").f.calls, 0);
	CHECK_EQ(row(s, "f").f.total, 10000);
	CHECK_EQ(row(s, "body").group, 0);
	session_free(s);
}

void test_filter_skip_gives_self_to_the_caller(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .skip = "f|body" },
					   &sums);

	CHECK_EQ(sums.self, sums.whole_self);
	CHECK_EQ(row(s, "main").f.self, 1 + 10 + 20000);
	CHECK_EQ(row(s, "main").f.suspended, 0);
	CHECK_EQ(row(s, "g").f.self, 100 + 1000 + 200000);
	CHECK_EQ(row(s, "g").f.suspended, 4000);
	CHECK_EQ(row(s, "f").group, 0);
	CHECK_EQ(row(s, "h").f.total, 10000);
	session_free(s);
}

void test_filter_patterns(void)
{
	CHECK(filter_match_text("abc", "abc"));
	CHECK(!filter_match_text("abc", "ab"));
	CHECK(filter_match_text("abc", "a*"));
	CHECK(filter_match_text("abc", "*b*"));
	CHECK(filter_match_text("abc", "x|?b?"));
	CHECK(!filter_match_text("abc", "x|?b"));
	CHECK(filter_match_text("", "*"));
	CHECK(filter_match_text("", ""));
	CHECK(!filter_match_text("a", ""));
	CHECK(filter_match_text("aXbXc", "a*X*c"));
	CHECK(!filter_match_text("aXbX", "a*X*c"));
}

void test_filter_names_without_what_is_behind(void)
{
	struct session *const s = session_new(0);
	const func_id lua = func_special(s->funcs, "handle <app.lua:12>");
	const func_id cpp = func_special(s->funcs, "ns::f(int, char*)");

	CHECK(filter_match_func(s, lua, "handle"));
	CHECK(filter_match_func(s, lua, "*app.lua:12>"));
	CHECK(filter_match_func(s, cpp, "ns::f"));
	CHECK(filter_match_func(s, cpp, "ns::f(int, char*)"));
	CHECK(!filter_match_func(s, cpp, "f"));
	CHECK(!filter_match_func(s, cpp, "module=*"));
	session_free(s);
}

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
	uint8_t *all;

	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < COUNT; i++)
		if (filter_match_func(s, func_special(s->funcs, names[i]),
				      pattern))
			found[count++] = (char)('0' + i);
	all = filter_match_funcs(s, pattern);
	for (func_id f = 1; f <= COUNT; f++)
		CHECK_EQ(all[f], filter_match_func(s, f, pattern));
	mem_free(all);
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
	CHECK_STR(picked("fg||main chunk|x|f?|fg|file=f|<x>"), "3678");
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
		uint8_t *all;

		snprintf(name, sizeof(name), "%s <x.lua:3>", cases[i].hint);
		func_get(s->funcs, f)->name = name;
		CHECK_EQ(filter_match_func(s, f, cases[i].pattern),
			 cases[i].is_it);
		all = filter_match_funcs(s, cases[i].pattern);
		CHECK_EQ(all[f], cases[i].is_it);
		mem_free(all);
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
