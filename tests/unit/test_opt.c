/* test_opt.c - options as rows. links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/opt.h"
#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool flag;
static int choice;
static size_t number;
static double share, growth;
static const char *text, *list, *patterns;

static const char *const choices[] = { "first", "second", NULL };

static const struct opt more[] = {
	{ .type = OPT_TEXT, .letter = 't', .name = "text", .arg = "T",
	  .to = &text, .help = "some text" },
	{ .type = OPT_END }
};

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'f', .name = "flag", .to = &flag,
	  .help = "a flag" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "number", .arg = "N",
	  .to = &number, .help = "a number" },
	{ .type = OPT_SHARE, .name = "share", .arg = "P", .to = &share,
	  .help = "a share" },
	{ .type = OPT_GROWTH, .name = "growth", .arg = "P", .to = &growth,
	  .help = "more" },
	{ .type = OPT_CHOICE, .name = "choice", .arg = "C", .to = &choice,
	  .choices = choices, .help = "one of" },
	{ .type = OPT_LIST, .name = "list", .arg = "L", .to = &list,
	  .help = "once or more" },
	{ .type = OPT_PATTERNS, .name = "skip", .arg = "P", .to = &patterns,
	  .help = "once or more" },
	{ .type = OPT_MORE, .more = more },
	{ .type = OPT_END }
};

/* Parse a line of words; the operands are joined with | in got. */
static char got[200];

static int parse(const char *line)
{
	static char words[200];
	char *argv[20] = { NULL };
	int argc = 0, count;

	flag = false;
	choice = 0;
	number = 7;
	share = 0;
	text = NULL;
	strcpy(words, line);
	for (char *word = strtok(words, " "); word;
	     word = strtok(NULL, " "))
		argv[argc++] = word;
	count = opt_parse(opts, argc, argv);
	got[0] = '\0';
	for (int i = 0; i < count; i++)
		strcat(strcat(got, argv[i]), "|");
	return count;
}

void test_opt_sets_what_the_rows_say(void)
{
	CHECK_EQ(parse("x a --flag --number 12 b --share 2.5% --choice=second "
		       "-t hello c"), 3);
	CHECK_STR(got, "a|b|c|");
	CHECK_EQ(flag, 1);
	CHECK_EQ(number, 12);
	CHECK(share > 2.4 && share < 2.6);
	CHECK_EQ(choice, 1);
	CHECK_STR(text, "hello");
	CHECK_EQ(parse("x -fn3"), 0);
	CHECK_EQ(flag, 1);
	CHECK_EQ(number, 3);
	CHECK_EQ(parse("x -- --flag"), 1);
	CHECK_STR(got, "--flag|");
	CHECK_EQ(flag, 0);
	CHECK(parse("x --growth 150%") == 0 && growth > 149 && growth < 151);
}

void test_opt_refuses_nonsense(void)
{
	static const char *const lines[] = {
		"x --no-such", "x -z", "x --number", "x -n", "x --number x",
		"x --number -1", "x --number 99999999999999999999999",
		"x --number 1x", "x --choice third", "x --share 101",
		"x --growth x", "x --share -1", "x --share nan", "x --flag=1",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		CHECK_EQ(parse(lines[i]), -1);
		err_clear();
	}
	CHECK_EQ(number, 7);
}

static void count_row(void *ctx, const struct opt *row)
{
	char room[100];

	*(int *)ctx += 1;
	if (row->to == &choice)
		CHECK_STR(opt_help(row, room, sizeof(room)),
			  "one of: first, second (default: first)");
	if (row->to == &number)
		CHECK_STR(opt_help(row, room, sizeof(room)),
			  "a number (default: 7)");
	if (row->to == &text)
		CHECK_STR(opt_help(row, room, sizeof(room)), "some text");
	CHECK_EQ(strlen(opt_help(row, room, 5)) < 5, 1);
}

void test_opt_tells_of_every_row(void)
{
	int rows = 0;

	parse("x");
	opt_each(opts, count_row, &rows);
	CHECK_EQ(rows, 8);
}

void test_opt_adds_patterns_and_those_in_a_file(void)
{
	char line[64], path[] = "/tmp/test_opt-XXXXXX";
	const int fd = mkstemp(path);

	CHECK(fd >= 0 && dprintf(fd, "# no c\nc\n\n  d e|f\r\n@g") > 0);
	close(fd);
	snprintf(line, sizeof(line), "word --skip a|b --skip @%s --skip=h",
		 path);
	CHECK_EQ(parse(line), 0);
	CHECK_STR(patterns, "a|b|c|  d e|f|@g|h");
	unlink(path);
	CHECK_EQ(parse(line), -1);
	CHECK_EQ(parse("word --skip ||"), -1);
	err_clear();
}

void test_opt_joins_what_a_list_is_given(void)
{
	list = NULL;
	CHECK_EQ(parse("word --list a"), 0);
	CHECK_STR(list, "a");
	list = NULL;
	CHECK_EQ(parse("word --list a --list b:c --list=d"), 0);
	CHECK_STR(list, "a:b:c:d");
}

/* A range begins with the first tick that is printed as the time that is given,
 * and ends before it, whatever the clock: what weft dump prints is in. */
void test_opt_a_time_that_was_printed_is_in_the_range(void)
{
	static const uint64_t rates[] = { 2999999487, 1000000000, 3700000001,
					  24000000, 999999937 };
	struct thread thread = { .first = 7000000019 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const struct session s = {
			.tick_hz = rates[i], .base_tick = 5000000123,
			.base_mono = 777, .base_real = 1700000000000000001,
			.threads = &thread, .thread_count = 1 };

		for (ticks t = thread.first + 1; t < thread.first + 300; t++) {
			char date[40], span[40];
			ticks at = 0;

			snprintf(date, sizeof(date), "%llu",
				 (unsigned long long)session_real(&s, t));
			CHECK_EQ(time_argument_edge(&s, date, "from", &at), 0);
			CHECK(at <= t && session_real(&s, at) ==
					 session_real(&s, t));
			CHECK(at == thread.first || session_real(&s, at - 1) <
						    session_real(&s, t));
			snprintf(span, sizeof(span), "%lluns",
				 (unsigned long long)session_ns(&s,
							t - thread.first));
			CHECK_EQ(time_argument_edge(&s, span, "from", &at), 0);
			CHECK(at <= t && session_ns(&s, at - thread.first) ==
					 session_ns(&s, t - thread.first));
		}
	}
}
