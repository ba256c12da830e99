/* test_out_plot.c - plots of hostile names. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/out/out_plot.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static double bars[][4] = {
	{ 0, 1, 4.6, 5.4 }, { 0, 0.9, 3.6, 4.4 }, { 0, 0.8, 2.6, 3.4 },
	{ 0, 0.7, 1.6, 2.4 }, { 0, 0, 0.6, 1.4 },
};

#define HOSTILE(X) \
	X(5, "'; system('touch /tmp/weft-pwned'); set label '") \
	X(4, "`touch /tmp/weft-pwned`") \
	X(3, "<script>&amp;\"\x1b]0;x\x07") \
	X(2, "a_{b}^2 {/Symbol x} @macro $1 %d 100% \\n") \
	X(1, "\xe2\x80\xae\xff\xef\xbf\xbe")
#define TIC(at, text) { at, text },
#define LABEL(at, text) { 0.5, at, text },
static const struct out_tic tics[] = { HOSTILE(TIC) };
static const struct out_label labels[] = { HOSTILE(LABEL) };

/* Each hostile text once in each place that takes one. */
static const struct out_layer layers[] = {
	{ OUT_BOX, "'; system('touch /tmp/weft-pwned'); '", 0x2f6690, bars, 5,
	  5, "`touch /tmp/weft-pwned`'" },
	{ OUT_LINE, "`touch /tmp/weft-pwned`", 0x80f0a04b, bars, 5, 5, NULL },
	{ OUT_LINE, NULL, 0, bars, 5, 5, NULL },
	{ OUT_AREA, "<script>", 0, bars, 5, 5, NULL },
	{ OUT_ARROW, "\n", 0, bars, 5, 5, NULL },
	{ OUT_BOX, "nothing", 0, NULL, 0, 0, NULL },
};
static const struct out_plot plot = {
	"t'it\"le <b>", "no'te `touch /tmp/weft-pwned`", 1400, 300, true,
	{ "x `touch /tmp/weft-pwned`", 0, 2, false, false, tics, 5 },
	{ NULL, 0, 6, false, true, tics, 5 }, layers, 6, labels, 5
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

void test_out_plot_draws_hostile_names(void)
{
	static char text[1 << 20];
	const char *const file = test_file("", 0);

	need_gnuplot();
	unlink("/tmp/weft-pwned");
	if (!CHECK(out_plot_draw(&plot, file, OUT_PLOT_SVG, NULL) == 0))
		err_print(stderr, "plot");
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

void test_out_plot_leaves_nothing_when_it_fails(void)
{
	const char *const path = getenv("PATH");
	char *const before = strdup(!path ? "" : path);
	const char *const file = test_file("", 0);

	unlink(file);
	setenv("PATH", "/nonexistent", 1);
	CHECK(out_plot_draw(&plot, file, OUT_PLOT_SVG, NULL) == -1);
	setenv("PATH", before, 1);
	free(before);
	err_clear();
	CHECK(access(file, F_OK) != 0);
	CHECK(out_plot_draw(&plot, "/nonexistent/x.svg", OUT_PLOT_SVG,
			    NULL) == -1);
	err_clear();
}
