/* test_out_name.c - long names of C++ functions are cut to what tells them
 * apart.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_name.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, " \
	       "std::allocator<char> >"

static const struct { size_t columns; const char *name, *cut; } cases[] = {
	{ 50, "a::b<c>::d(e)", "a::b<c>::d(e)" },
	{ 30, "void company::subsystem::module::run(int, char const*)",
	  "run" },
	{ 40, "std::vector<std::pair<int, " STRING " >, std::allocator<"
	  "std::pair<int, " STRING " > > >::push_back(std::pair<int, "
	  STRING " >&&)", "...<pair<int, string>>::push_back" },
	{ 30, "std::map<" STRING ", std::vector<int> >::insert(int)",
	  "...<string,...or<int>>::insert" },
	{ 40, "bool company::less_of_all<" STRING ">(" STRING " const&)",
	  "less_of_all<string>" },
	{ 30, "company::subsystem::point<int>::operator<(point const&) const",
	  "...<int>::operator<" },
	{ 30, "std::function<void (int)>::operator()(int, long, long) const",
	  "...<void (int)>::operator()" },
	{ 40, "bool __gnu_cxx::operator!=<" STRING "*, int>(int, " STRING ")",
	  "operator!=<string*, int>" },
	{ 40, "bool std::operator< <char, std::char_traits<char> >(int, int)",
	  "operator< <char>" },
	{ 40, "std::vector<" STRING " >::operator[](unsigned long, int)",
	  "...<string>::operator[]" },
	{ 40, "std::function<void (int, long, " STRING ")>::operator bool() "
	  "const", "...<void (int... string)>::operator bool" },
	{ 30, "company::(anonymous namespace)::handle_it(int, int)",
	  "handle_it" },
	{ 30, "a::f(int)::{lambda(int)#1}::operator()(int, int) const",
	  "a::f(int)::{la...t, int) const" },
	/* None of C++, or nothing that can be taken apart. */
	{ 20, "unbalanced::name<of<what", "unbalance...<of<what" },
	{ 20, "a plain name that is long", "a plain n... is long" },
	{ 20, "::::::::::::::::::::::::::::", NULL },
	{ 20, "<><><><><>::<><><><><><><><>", NULL },
	{ 20, "operator<<<<<<<<<<<<<<<<<<<::", NULL },
	{ 20, "x::y(((((((((((((((((((((((((", NULL },
	{ 20, "x::>>>>>>>>>>>>>>>>>>>>>>>>>)", NULL },
};

void test_out_name_keeps_what_the_function_is_called(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *const cut = out_name_cut(cases[i].name,
					       cases[i].columns);

		CHECK(out_escape_width(cut) <= cases[i].columns);
		if (cases[i].cut)
			CHECK_STR(cut, cases[i].cut);
		mem_free(cut);
	}
}

/* Whatever the text, it is cut to the columns, and nothing else is read. */
void test_out_name_takes_any_text(void)
{
	static const char letters[] = "<>(){}[]: ,ab-operator::std::allocator<";
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		const size_t length = (size_t)rand_r(&seed) % 80;
		char *const text = calloc(1, length + 1), *cut;
		const size_t columns = (size_t)rand_r(&seed) % 60;

		for (size_t k = 0; k < length; k++)
			text[k] = letters[(size_t)rand_r(&seed) %
					  (sizeof(letters) - 1)];
		cut = out_name_cut(text, columns);
		CHECK(out_escape_width(cut) <= columns);
		mem_free(cut);
		free(text);
	}
}
