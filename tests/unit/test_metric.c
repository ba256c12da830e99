/* test_metric.c - which columns a table has, what they are called, and how rows
 * are sorted by them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/tables/metric.h"
#include "tests/test.h"

#include <string.h>

struct row { struct figures f; uint32_t small; bool flag; const char *name; };

static const struct metric metrics[] = {
	METRIC_SELF,
	METRIC_TOTAL,
	{ "off-cpu", METRIC_TIME, METRIC_SORTS | METRIC_RISES,
	  METRIC_AT(struct row, f.suspended) },
	{ "small", METRIC_NUMBER, METRIC_OF_THREAD,
	  METRIC_AT(struct row, small) },
	{ "flag", METRIC_NUMBER, METRIC_AT(struct row, flag) },
	{ "word", METRIC_TEXT, METRIC_AT(struct row, name) },
	{ "name", METRIC_TEXT, METRIC_SORTS | METRIC_NAME, "function",
	  "function", METRIC_AT(struct row, name) },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "self,word,name", "name,self"
};

/* The keys of the columns that are chosen, or "refused". */
static const char *keys(const char *names, const struct metric *sort,
			unsigned lacks, bool csv)
{
	static char text[200];
	struct metric_columns c;

	text[0] = '\0';
	if (metric_choose(&c, &view, &(struct metric_choice){
			  names, sort, lacks, csv }) != 0) {
		err_clear();
		return "refused";
	}
	for (size_t i = 0; i < c.count; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, c.column[i].key);
	}
	return text;
}

void test_metric_columns_are_chosen(void)
{
	CHECK_STR(keys(NULL, NULL, 0, false), "self_ns word function");
	CHECK_STR(keys("total,self", NULL, 0, false),
		  "total_ns self_ns function");
	CHECK_STR(keys("name,self", NULL, 0, false), "self_ns function");
	CHECK_STR(keys("all", NULL, METRIC_OF_THREAD, false),
		  "self_ns total_ns off_cpu_ns flag word function");
	CHECK_STR(keys("self,nothing", NULL, 0, false), "refused");
	CHECK_STR(keys("small", NULL, METRIC_OF_THREAD, false), "refused");
	CHECK_STR(keys("", NULL, 0, false), "refused");
}

/* Figures stand before the texts at the end, texts before the name. */
void test_metric_columns_beside_the_usual_ones(void)
{
	CHECK_STR(keys("+total,flag", NULL, 0, false),
		  "self_ns total_ns flag word function");
	CHECK_STR(keys("+self", NULL, 0, false), "self_ns word function");
	CHECK_STR(keys(NULL, metric_find(&view, "total"), 0, false),
		  "self_ns total_ns word function");
	CHECK_STR(keys("flag", metric_find(&view, "total"), 0, false),
		  "flag function");
}

void test_metric_columns_of_csv(void)
{
	CHECK_STR(keys(NULL, NULL, 0, true), "function self_ns");
	CHECK_STR(keys("+small,word", NULL, 0, true),
		  "function self_ns small word");
	CHECK_STR(keys("off-cpu", NULL, 0, true), "off_cpu_ns");
}

void test_metric_reads_and_compares(void)
{
	const struct row a = { { .self = 2, .suspended = 2 }, 7, true, "b" };
	const struct row b = { { .self = 1, .suspended = 1 }, 0, false, "a" };
	struct metric_value v;

	metric_get(metric_find(&view, "small"), NULL, &a, &v);
	CHECK_EQ(v.count, 7);
	metric_get(metric_find(&view, "flag"), NULL, &a, &v);
	CHECK_EQ(v.count, 1);
	/* Figures fall, unless they rise; texts rise. */
	CHECK(metric_compare(metric_find(&view, "self"), NULL, &a, &b) < 0);
	CHECK(metric_compare(metric_find(&view, "off-cpu"), NULL, &a, &b) > 0);
	CHECK(metric_compare(metric_find(&view, "name"), NULL, &a, &b) > 0);
	CHECK(metric_compare(metric_find(&view, "total"), NULL, &a, &b) == 0);
	CHECK_STR(metric_sorting(metrics, 2)->name, "off-cpu");
	CHECK(!metric_sorting(metrics, 4));
	CHECK(!metric_find(&view, "nothing"));
}
