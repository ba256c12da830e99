/* test_table.c - how values look in a table for people.
 * links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/table.h"
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

struct row {
	struct figures f;
	uint64_t part, least;
};

static METRIC_GETTER(get_part)
{
	v->count = ((const struct row *)row)->part;
	v->whole = 100;
}

static METRIC_GETTER(get_least)
{
	v->count = ((const struct row *)row)->least;
	v->is_least = v->count > 0;
}

static const struct metric metrics[] = {
	METRIC_SELF,
	METRIC_SELF_ERROR,
	{ "part", METRIC_SHARE, .get = get_part },
	{ "least", METRIC_TIME, .get = get_least },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "self,self-error,part,least", "self"
};

/* What is printed for the row. */
static const char *printed(const struct row *row)
{
	static char text[1000];
	struct session *const s = session_new(1000000000);
	struct table t = { .source = { .session = s } };
	FILE *const file = tmpfile();
	const int out = dup(STDOUT_FILENO);
	size_t size;

	cct_collect_samples(s->cct);
	cct_set_net(s->cct, true);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	table_choose_fixed(&t, &view, NULL);
	table_print(&t, row, 1, sizeof(*row), 1, "rows");
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	fclose(file);
	session_free(s);
	return text;
}

/* An error above the time, which may be 0, is shown as a time. A share above
 * the whole would be a mistake, which is not to be hidden. */
void test_table_says_more_than_all_of_errors_only(void)
{
	const struct row above = { .f = { .self = 10, .self_variance = 400 },
				   .part = 120 };
	const struct row below = { .f = { .self = 10, .self_variance = 4 },
				   .part = 12 };

	const struct row none = { .f = { .self_variance = 400 }, .part = 12 };

	CHECK(strstr(printed(&above), "10.0 ns  20.0 ns  120.0%"));
	CHECK(strstr(printed(&none), "-  20.0 ns  12.0%"));
	CHECK(strstr(printed(&below), "10.0 ns  20.0%  12.0%"));
}

/* A time that is only known to be longer has a unit, too. */
void test_table_shows_what_a_time_is_at_least(void)
{
	const struct row row = { .f = { .self = 10 }, .part = 12,
				 .least = 301707 };

	CHECK(strstr(printed(&row), "12.0%  >301.7 us"));
}
