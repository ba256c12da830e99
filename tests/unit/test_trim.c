/* test_trim.c - which functions a recording could do without.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/trim.h"
#include "analyzer/model/cct.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

/* A call in which no tick passed is the shortest there is: nothing is taken off
 * the others, whichever comes first. */
void test_trim_takes_off_the_shortest_call_also_of_no_ticks(void)
{
	static const struct trim_options all = { 1e9, 0 };

	for (int first = 0; first < 2; first++) {
		struct session *const s = session_new(0);
		const node_id r = cct_root(s->cct, 0);
		const char *const name[] = { "f", "g" };
		struct trim *t;

		for (int i = 0; i < 2; i++) {
			const node_id n = sessions_node(s, r,
							name[i ^ first], 0, 2,
							50, 0);

			cct_time(s->cct, n, (i ^ first) == 0 ? 0 : 20);
			cct_time(s->cct, n, (i ^ first) == 0 ? 50 : 30);
		}
		t = trim_new(s, &all);
		CHECK_EQ(t->cost[0], 0);
		CHECK_EQ(t->all_net, 100);
		trim_free(t);
		session_free(s);
	}
}

/* The text for gcc's list, or "" if there is none. */
static const char *text_of(const char *name, enum func_kind kind)
{
	static char text[TRIM_NAME];
	struct func f = { .name = name, .kind = kind };

	return trim_gcc_name(&f, text, sizeof(text)) ? text : "";
}

void test_trim_names_functions_as_gcc_does(void)
{
	static const char *const names[][2] = {
		{ "c_name", "c_name" }, { "c_name.part.0", "c_name" },
		{ "deep::step(long)", "deep::step" },
		{ "gear::~gear()", "gear::~gear" },
		{ "(anonymous namespace)::hidden(long)", "hidden" },
		{ "a::(anonymous namespace)::hidden(long)", "hidden" },
		{ "long half<int>(int)", "half" },
		{ "std::pair<int, long>::add(int) const", "add" },
		{ "void f<(kind)1>(sieve<(bool (*)(long))0>)", "f" },
		{ "f[abi:cxx11](int)", "f" },
		{ "gear::operator()(long)", "" },
		{ "operator new(unsigned long)", "" },
		{ "local(long)::box::lift(long)", "" },
		{ "local(long)::{lambda(long)#1}::operator()(long)", "" },
		{ "give(long)::f(int) const", "" },
		{ "f(int), g", "" }, { "_Z1fv", "" }, { "f<", "" }, { "", "" },
		{ "f[clone", "" }, { "$(rm)", "" }, { "a,b", "" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(text_of(names[i][0], FUNC_NATIVE), names[i][1]);
	CHECK_STR(text_of("c_name", FUNC_LUA), "");
}
