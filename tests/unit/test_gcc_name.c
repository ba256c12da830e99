/* test_gcc_name.c - what gcc calls a function, by its demangled name. The names
 * that gcc has here are those that it writes with -fdump-tree-cfg.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/gcc_name.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

/* The text for the list; "" if there is none. gcc has it in its own name. */
static const struct {
	const char *name, *text, *gcc;
} named[] = {
	{ "step", "step", "step" },
	{ "deep::step(long)", "deep::step", "deep::step" },
	{ "pair_of<int, long>::add(int, long)", "add",
	  "pair_of<int, long int>::add" },
	{ "long deep::half<int>(int)", "deep::half", "deep::half<int>" },
	{ "derived::~derived()", "derived::~derived", "derived::~derived" },
	{ "box::operator()(int) const", "", "box::operator()" },
	{ "box::operator std::pair<int, int>()", "",
	  "box::operator std::pair<int, int>" },
	{ "bool std::operator< <int>(int)", "", "std::operator< <int>" },
	/* values with brackets */
	{ "int en<(E)1>(int)", "en", "en<A>" },
	{ "pr<(E)1, &(pos(int))>::f(int)", "f", "pr<A, pos>::f" },
	{ "less<&(A::operator<(A const&)), (3>2)>::f(int)", "f",
	  "less<&A::operator<, true>::f" },
	{ "std::function<int (int)>::call(int) const", "call",
	  "std::function<int(int)>::call" },
	/* namespaces without a name */
	{ "(anonymous namespace)::near(int)", "near", "{anonymous}::near" },
	{ "a::(anonymous namespace)::b::c(int)", "b::c",
	  "a::{anonymous}::b::c" },
	{ "void (anonymous namespace)::g<int>(int)", "g",
	  "{anonymous}::g<int>" },
	/* in other functions */
	{ "ns::f(int)::box::in::lift(int)", "box::in::lift",
	  "ns::f(int)::box::in::lift" },
	{ "ns::f(int) const::{lambda(int)#1}::_FUN(int)", "_FUN",
	  "ns::f(int) const::<lambda(int)>::_FUN" },
	{ "main::{lambda(int)#1}::operator()(int) const", "",
	  "main(int, char**)::<lambda(int)>::operator()" },
	{ "main::box::lift(int)", "box::lift", "main()::box::lift" },
	{ "._anon_130::an()", "an", "<unnamed struct>::an" },
	/* what is around the name */
	{ "int (*retfp<int>(int))(int)", "retfp", "retfp<int>" },
	{ "decltype ((fp)+(1)) autor<int>(int)", "autor", "autor<int>" },
	{ "decltype(auto) visit<int>(int)", "visit", "visit<int>" },
	{ "tagged[abi:cxx11](int)", "tagged", "tagged" },
	{ "iter<int*>::advance[friend](iter<int*> const&)", "advance",
	  "advance" },
	{ "virtual thunk to vb::v(int)", "vb::v", "vb::v" },
	{ "int one<int>(int) requires integral<int>", "one", "one<int>" },
	/* what the compiler appended */
	{ "step.part.0", "step", "step" },
	{ "step.constprop.0.isra.0", "step", "step" },
	{ "step.cold", "step", "step" },
	{ "deep::step(long) [clone .part.0]", "deep::step", "deep::step" },
	/* no names */
	{ "_Z3oneIiQ8integralIT_EES0_S0_", "", "one<int>" },
	{ "libstep.so+0x1f", "", "" },
	{ "half<int", "", "" }, { "operator", "", "" }, { "", "", "" },
	{ ")(", "", "" }, { "<>><", "", "" }, { "a[friend]", "a", "a" },
};

void test_gcc_name_is_a_part_of_what_gcc_has(void)
{
	char text[64];

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (!gcc_name_text(named[i].name, text, sizeof(text)))
			text[0] = '\0';
		if (strcmp(text, named[i].text) != 0)
			printf("note: %s\n", named[i].name);
		CHECK_STR(text, named[i].text);
		CHECK(strstr(named[i].gcc, text));
	}
	CHECK(!gcc_name_text("twelve_bytes", text, 12));
	CHECK(gcc_name_text("twelve_bytes", text, 13));
}

enum { NO, MAYBE, SURE };

static int found_in(const char *name, const char *text)
{
	const char *const texts[] = { "another", text, "text" };
	struct gcc_texts *const t = gcc_texts_new(texts, 3);
	size_t count;
	const struct gcc_hit *const hits = gcc_texts_find(t, name, &count);
	int found = NO;

	for (size_t i = 0; i < count; i++)
		if (hits[i].text == 1)
			found = hits[i].is_sure ? SURE : MAYBE;
	gcc_texts_free(t);
	return found;
}

static const struct {
	const char *name, *text;
	int found;
} made[] = {
	{ "get_all", "get", SURE }, { "forget", "get", SURE },
	{ "ge", "get", NO }, { "geT", "get", NO },
	{ "deep::step_over(int)", "deep::step", SURE },
	{ "other::step(deep::step)", "deep::step", NO },
	/* not in parameters, nor in what is returned */
	{ "put(get)", "get", NO }, { "get put<int>(int)", "get", NO },
	/* values; what follows them is sure again */
	{ "pair<turned>::add(int)", "turn", MAYBE },
	{ "pr<(E)1, &(pos(int))>::f_all(int)", "f_all", SURE },
	{ "pr<(E)1, &(pos(int))>::f(int)", "pos", MAYBE },
	{ "pair<int>::add(turned)", "turn", NO },
	/* gcc has {anonymous} */
	{ "(anonymous namespace)::f(int)", "space", NO },
	{ "(anonymous namespace)::f(int)", "anonymous", SURE },
	{ "(anonymous namespace)::f(int)", "f", SURE },
	/* what was appended, or is never written */
	{ "step.part.0", "part", NO },
	{ "f(int) [clone .cold]", "cold", NO },
	{ "f[abi:cxx11](int)", "cxx", NO },
	{ "K::z::{lambda(int)#1}::run(int) const", "z", MAYBE },
	{ "K::z::{lambda(int)#1}::run(int) const", "run", SURE },
	{ "K::z::{lambda(int)#1}::run(int) const", "K", SURE },
	{ "iter<int>::advance[friend](int)", "iter", MAYBE },
	{ "main::{lambda()#1}::operator()() const", "char", MAYBE },
	{ "box::operator turned()", "turn", MAYBE },
	{ "box::operator()(turned)", "turn", NO },
	{ "box::operator()(turned)", "box", SURE },
	/* mangled names have the parts of names */
	{ "_ZN4deep4stepIiQ8integralIT_EEvv", "deep::step", MAYBE },
	{ "_ZNS1_4stepIiQ8integralIT_EEvv", "deep::step", MAYBE },
	{ "_ZN4deepD2EvQ8integralIT_E", "deep::~deep", MAYBE },
	{ "_ZN4deep4stepIiQ8integralIT_EEvv", "walk", NO },
};

void test_gcc_name_is_found_in_others(void)
{
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const int found = found_in(made[i].name, made[i].text);

		if (found != made[i].found)
			printf("note: %s in %s\n", made[i].text, made[i].name);
		CHECK_EQ(found, made[i].found);
	}
}

/* All that are found, each once, whatever their bytes are. */
void test_gcc_name_finds_many_texts_at_once(void)
{
	static const char *const texts[] = {
		"a", "ab", "abc", "abd", "b", "b", "\377", "\377\377", "c"
	};
	struct gcc_texts *const t = gcc_texts_new(texts, 9);
	size_t count, sum = 0;
	const struct gcc_hit *hits = gcc_texts_find(t, "xabcxab", &count);

	CHECK_EQ(count, 6);
	for (size_t i = 0; i < count; i++)
		sum += hits[i].text;
	CHECK_EQ(sum, 0 + 1 + 2 + 4 + 5 + 8);
	gcc_texts_find(t, "zzz", &count);
	CHECK_EQ(count, 0);
	hits = gcc_texts_find(t, "\377\377", &count);
	for (size_t i = sum = 0; i < count; i++)
		sum += hits[i].text / 6 * hits[i].text;
	CHECK_EQ(sum, 6 + 7 + 8); /* c is one of gcc's own words */
	gcc_texts_free(t);
}
