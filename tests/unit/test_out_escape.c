/* test_out_escape.c - untrusted text on its way out. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "tests/test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_ESCAPED(fn, text, expected)                                      \
	do {                                                                   \
		char *const escaped = fn(text);                                \
		CHECK_STR(escaped, expected);                                  \
		mem_free(escaped);                                             \
	} while (0)

void test_out_escape_leaves_plain_text(void)
{
	CHECK_ESCAPED(out_escape_terminal, "", "");
	CHECK_ESCAPED(out_escape_terminal, "a b\\c \"d\" 'e'",
		      "a b\\c \"d\" 'e'");
	CHECK_ESCAPED(out_escape_terminal, "\xc3\xa9 \xe4\xb8\xad "
		      "\xf0\x9f\x98\x80", "\xc3\xa9 \xe4\xb8\xad "
		      "\xf0\x9f\x98\x80");
}

void test_out_escape_shows_controls(void)
{
	CHECK_ESCAPED(out_escape_terminal, "\x1b[2J\r\n\t\x7f",
		      "\\x1b[2J\\x0d\\x0a\\x09\\x7f");
	/* C1: U+009B is an escape sequence's start. */
	CHECK_ESCAPED(out_escape_terminal, "\xc2\x9b" "31m", "\\u009b31m");
	/* Bidirectional override, isolate, marks; line and paragraph ends. */
	CHECK_ESCAPED(out_escape_terminal, "\xe2\x80\xae", "\\u202e");
	CHECK_ESCAPED(out_escape_terminal, "\xe2\x81\xa6", "\\u2066");
	CHECK_ESCAPED(out_escape_terminal, "\xe2\x80\x8f", "\\u200f");
	CHECK_ESCAPED(out_escape_terminal, "\xe2\x80\xa8", "\\u2028");
	CHECK_ESCAPED(out_escape_terminal, "\xd8\x9c", "\\u061c");
	/* Noncharacters are no XML; tags are invisible. */
	CHECK_ESCAPED(out_escape_terminal, "\xef\xbf\xbe", "\\ufffe");
	CHECK_ESCAPED(out_escape_terminal, "\xf3\xa0\x81\x81", "\\U0e0041");
}

void test_out_escape_shows_bad_utf8(void)
{
	CHECK_ESCAPED(out_escape_terminal, "\x80 \xff", "\\x80 \\xff");
	/* Cut off, overlong, surrogate, beyond the last code point. */
	CHECK_ESCAPED(out_escape_terminal, "\xe4\xb8", "\\xe4\\xb8");
	CHECK_ESCAPED(out_escape_terminal, "\xc0\xaf", "\\xc0\\xaf");
	CHECK_ESCAPED(out_escape_terminal, "\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	CHECK_ESCAPED(out_escape_terminal, "\xed\xa0\x80", "\\xed\\xa0\\x80");
	CHECK_ESCAPED(out_escape_terminal, "\xf4\x90\x80\x80",
		      "\\xf4\\x90\\x80\\x80");
}

/* Whatever the bytes, nothing that moves a cursor comes out. */
void test_out_escape_is_safe_for_all_bytes(void)
{
	for (int a = 1; a < 256; a++) {
		for (int b = 1; b < 256; b++) {
			const char text[] = { (char)a, (char)b, 'x', '\0' };
			char *const escaped = out_escape_terminal(text);

			int hostile = 0;

			for (const char *at = escaped; *at != '\0'; at++)
				hostile += (unsigned char)*at < 0x20 ||
					   *at == 0x7f;
			CHECK_EQ(hostile, 0);
			CHECK(strlen(escaped) <= 12);
			mem_free(escaped);
		}
	}
}

void test_out_escape_quotes_csv(void)
{
	CHECK_ESCAPED(out_escape_csv, "plain name", "plain name");
	CHECK_ESCAPED(out_escape_csv, "f(int, \"x\")", "\"f(int, \"\"x\"\")\"");
	CHECK_ESCAPED(out_escape_csv, "two\nlines", "two\\x0alines");
	CHECK_ESCAPED(out_escape_csv, "=1+1", "\"'=1+1\"");
	CHECK_ESCAPED(out_escape_csv, "@SUM(A1)", "\"'@SUM(A1)\"");
	CHECK_ESCAPED(out_escape_csv, "-2", "\"'-2\"");
	CHECK_ESCAPED(out_escape_csv, "\t=1", "\"'\\x09=1\"");
	CHECK_ESCAPED(out_escape_csv, "", "");
}

void test_out_escape_quotes_gnuplot_and_troff(void)
{
	CHECK_ESCAPED(out_escape_gnuplot, "it's `date` \\n $x\n",
		      "it\u2019s `date` \\n $x\\x0a");
	CHECK_ESCAPED(out_escape_roff, ".so /etc/passwd",
		      "\\&.so /etc/passwd");
	CHECK_ESCAPED(out_escape_roff, "a-b \\n", "a\\-b \\en");
}

static void check_cut(const char *text, size_t width, int keep_end,
		      const char *expected)
{
	char *const cut = out_escape_cut(mem_copy(text), width, keep_end);

	CHECK_STR(cut, expected);
	mem_free(cut);
}

void test_out_escape_cuts_to_width(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	check_cut("function", 8, 0, "function");
	check_cut("function", 7, 0, "func...");
	check_cut("function", 7, 1, "...tion");
	check_cut("function", 2, 0, "..");
	check_cut("function", 0, 0, "");
	/* Two columns each: half a character is not shown. */
	check_cut("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 5, 0,
		  "\xe4\xb8\xad...");
	check_cut("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 4, 0, "...");
	check_cut("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 4, 1, "...");
	CHECK_EQ(out_escape_width("\xe4\xb8\xad" "e\xcc\x81"), 3);
}

static void check_cut_name(const char *text, size_t width,
			   const char *expected)
{
	char *const cut = out_escape_cut_name(mem_copy(text), width);

	CHECK_STR(cut, expected);
	mem_free(cut);
}

void test_out_escape_cuts_names_before_their_source(void)
{
	check_cut_name("on_request <app.lua:12>", 23,
		       "on_request <app.lua:12>");
	check_cut_name("on_request <app.lua:12>", 22,
		       "on_req... <app.lua:12>");
	check_cut_name("on_request <app.lua:12>", 20, "on_r... <app.lua:12>");
	check_cut_name("on_request <app.lua:12>", 19, "on_request <app....");
	check_cut_name("    on_request <app.lua:12>", 24,
		       "    on_r... <app.lua:12>");
	check_cut_name("    on_request <app.lua:12>", 23,
		       "    on_request <app....");
	check_cut_name("on_request (3 levels)", 20, "on_req... (3 levels)");
	check_cut_name("a<b>::f<c>", 8, "a<b>:...");
	CHECK(!out_escape_tail("f<void (int)>::g(int)"));
	CHECK(!out_escape_tail("f(g<void (int)>)"));
	check_cut_name(" <>", 2, "..");
	check_cut_name(">", 0, "");
	check_cut_name("", 0, "");
}

/* Line ends of the format stay, those of the arguments do not. */
void test_out_escape_prints(void)
{
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	out_print(to, "\n%s: %d\n\n", "a\nb\x1b", 3);
	out_print(to, "%s", "end\n");
	out_print(to, "\n");
	fclose(to);
	CHECK_STR(text, "\na\\x0ab\\x1b: 3\n\nend\\x0a\n");
	free(text);
}
