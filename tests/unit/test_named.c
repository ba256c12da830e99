/* test_named.c - functions by what a person calls them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/named.h"
#include "analyzer/base/mem.h"
#include "tests/test.h"

#include <string.h>

static const char *const names[] = {
	"f", "f(int)", "f <app.lua:12>", "fg", "(anonymous namespace)::h(int)",
	"ns::op::operator()(int) const", "main chunk <a.lua>", "<x>", "f*",
};

enum { COUNT = sizeof(names) / sizeof(names[0]) };

/* The functions' positions above, as digits. */
static const char *picked(const char *name)
{
	static char found[COUNT + 1];
	struct func_table *const t = func_table_new();
	func_id first = 0, *ids;
	size_t count;

	for (size_t i = 0; i < COUNT; i++) {
		const func_id f = func_special(t, names[i]);

		first = i == 0 ? f : first;
	}
	ids = named_find(t, name, &count);
	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < count; i++)
		found[i] = (char)('0' + (ids[i] - first));
	mem_free(ids);
	func_table_free(t);
	return found;
}

void test_named_takes_a_name_without_parameters_or_source(void)
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

void test_named_takes_a_pattern_where_no_name_is_so(void)
{
	CHECK_STR(picked("f*"), "8");
	CHECK_STR(picked("f?"), "38");
	CHECK_STR(picked("*h"), "4");
	CHECK_STR(picked("*a.lua>"), "6");
	CHECK_STR(picked("[fg]"), "012");
}
