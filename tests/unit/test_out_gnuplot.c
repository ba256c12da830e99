/* test_out_gnuplot.c - plots of hostile names. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/out/out_gnuplot.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const groups[] = { "native", "Lua" };

static const struct out_bar hostile[] = {
	{ "'; system('touch /tmp/weft-pwned'); set label '", "1 s", 1, 0 },
	{ "`touch /tmp/weft-pwned`", "0.9 s", 0.9, 1 },
	{ "<script>&amp;\"\x1b]0;x\x07", "0.8 s", 0.8, 0 },
	{ "a_{b}^2 {/Symbol x} @macro $1 %d 100% \\n", "0.7 s", 0.7, 1 },
	{ "\xe2\x80\xae\xff\xef\xbf\xbe", "0", 0, 0 },
};

static void need_gnuplot(void)
{
	if (system("command -v gnuplot >/dev/null") != 0)
		test_skip("gnuplot is not installed");
}

static void read_file(const char *path, char *to, size_t size)
{
	FILE *const from = fopen(path, "r");
	const size_t got = !from ? 0 : fread(to, 1, size - 1, from);

	to[got] = '\0';
	if (from)
		fclose(from);
}

void test_out_gnuplot_draws_hostile_names(void)
{
	static char text[1 << 20];
	const struct out_bars plot = { "t'it\"le <b>", "self time, seconds",
				       hostile, 5, groups, 2 };
	const char *const file = test_file("", 0);

	need_gnuplot();
	unlink("/tmp/weft-pwned");
	REQUIRE(out_gnuplot_bars(&plot, file, "svg") == 0);
	CHECK(access("/tmp/weft-pwned", F_OK) != 0);
	read_file(file, text, sizeof(text));
	CHECK(strstr(text, "</svg>") != NULL);
	CHECK(!strstr(text, "<script>&amp;\""));
	CHECK(strstr(text, "&lt;script>&amp;amp;") != NULL);
	CHECK(strstr(text, "`touch /tmp/weft-pwned`") != NULL);
	CHECK(strstr(text, "a_{b}^2 {/Symbol x} @macro $1 %d 100% \\n") !=
	      NULL);
	CHECK(!strchr(text, '\x1b'));
}

void test_out_gnuplot_leaves_nothing_when_it_fails(void)
{
	const struct out_bars plot = { "t", "x", hostile, 5, groups, 2 };
	const char *const path = getenv("PATH");
	char *const before = strdup(!path ? "" : path);
	const char *const file = test_file("", 0);

	unlink(file);
	setenv("PATH", "/nonexistent", 1);
	CHECK(out_gnuplot_bars(&plot, file, "svg") == -1);
	setenv("PATH", before, 1);
	free(before);
	err_clear();
	CHECK(access(file, F_OK) != 0);
	CHECK(out_gnuplot_bars(&plot, "/nonexistent/x.svg", "svg") == -1);
	err_clear();
}
