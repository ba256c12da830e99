/* test_out_table.c - tables and CSV rows. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_table.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static const struct out_column columns[] = {
	{ .title = "self", .align = OUT_RIGHT },
	{ .title = "less", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "least", .align = OUT_LEFT, .drop = 2, .drop_empty = 1 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 8 },
};

static void check_table(const char *const *cells, size_t count, size_t width,
			const char *expected)
{
	struct out_table *const table = out_table_new(columns, 4);
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++)
		out_table_cell(table, cells[i]);
	out_table_print(table, to, width);
	fclose(to);
	CHECK_STR(text, expected);
	free(text);
	out_table_free(table);
}

static const char *const rows[] = {
	"1", "22", "abc", "a_long_function",
	"333", "4", "-", "f",
};

void test_out_table_is_as_wide_as_need_be(void)
{
	check_table(rows, 8, 0,
		    "self  less  least  function\n"
		    "   1    22  abc    a_long_function\n"
		    " 333     4  -      f\n");
}

void test_out_table_fits_a_terminal(void)
{
	/* First the long names are cut, then columns are left out. */
	check_table(rows, 8, 29,
		    "self  less  least  function\n"
		    "   1    22  abc    a_long_...\n"
		    " 333     4  -      f\n");
	check_table(rows, 8, 26,
		    "self  less  function\n"
		    "   1    22  a_long_func...\n"
		    " 333     4  f\n");
	check_table(rows, 8, 14,
		    "self  function\n"
		    "   1  a_lon...\n"
		    " 333  f\n");
}

/* Of a name of C++ the function stays, and what it is made of; of another one
 * its beginning and its tail. */
void test_out_table_keeps_what_a_function_is_called(void)
{
	static const struct out_column names[] = {
		{ .title = "function", .align = OUT_LEFT, .shrink = 8,
		  .is_name = true } };
	static const char *const cells[] = {
		"main", "  ~ void company::detail::pool_of<int>::take(long)",
		"  company::detail::implementation::insert<int, long>(int)",
		"a_function_of_lua::with_a_name <app.lua:12>" };
	struct out_table *const table = out_table_new(names, 1);
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	for (size_t i = 0; i < 4; i++)
		out_table_cell(table, cells[i]);
	out_table_print(table, to, 26);
	fclose(to);
	CHECK_STR(text, "function\n"
		  "main\n"
		  "  ~ ...<int>::take\n"
		  "  insert<int, long>\n"
		  "a_function... <app.lua:12>\n");
	free(text);
	out_table_free(table);
}

void test_out_table_leaves_out_empty_columns(void)
{
	static const char *const cells[] = { "1", "2", "-", "f", "1", "2", "",
					     "\x1bg" };

	check_table(cells, 8, 0,
		    "self  less  function\n"
		    "   1     2  f\n"
		    "   1     2  \\x1bg\n");
	check_table(cells, 0, 0, "self  less  function\n");
}

/* A row of 50 columns: their numbers. */
void test_out_table_has_as_many_columns_as_are_asked_for(void)
{
	enum { MANY = 50 };
	struct out_column wide[MANY];
	char title[MANY][4], wanted[1024] = "", *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);
	struct out_table *const table = out_table_new(wide, MANY);

	for (int i = 0; i < MANY; i++) {
		snprintf(title[i], sizeof(title[i]), "%d", i + 10);
		wide[i] = (struct out_column){ .title = title[i] };
		out_table_cell(table, title[i]);
		strcat(strcat(wanted, i > 0 ? "  " : ""), title[i]);
	}
	out_table_print(table, to, 0);
	fclose(to);
	/* The titles, then the row, each with a line end. */
	CHECK_EQ(size, 2 * (strlen(wanted) + 1));
	CHECK(strncmp(text, wanted, strlen(wanted)) == 0);
	CHECK(strncmp(strchr(text, '\n') + 1, wanted, strlen(wanted)) == 0);
	free(text);
	out_table_free(table);
}

void test_out_csv_writes_rows(void)
{
	char *text = NULL;
	size_t size;
	struct out_csv csv = { open_memstream(&text, &size), 0 };

	out_csv_text(&csv, "a,b");
	out_csv_number(&csv, UINT64_MAX);
	out_csv_text(&csv, "");
	out_csv_end(&csv);
	out_csv_number(&csv, 1);
	out_csv_end(&csv);
	fclose(csv.to);
	CHECK_STR(text, "\"a,b\",18446744073709551615,\n1\n");
	free(text);
}
