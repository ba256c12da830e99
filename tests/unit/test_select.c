/* test_select.c - parts of a tree, patterns, and groups of a ranking.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/filter.h"
#include "tests/test.h"

#include <string.h>

static node_id add(struct session *s, node_id parent, const char *name,
		   uint32_t flags, uint64_t calls, ticks self, ticks susp)
{
	const node_id id = cct_child(s->cct, parent,
				     func_special(s->funcs, name), flags);
	struct cct_node *const n = cct_get(s->cct, id);

	n->calls += calls;
	n->self += self;
	n->suspended += susp;
	return id;
}

/* main > f > g > f > h, and main > ~body > g; the root's own self is 7. */
static struct session *sample(void)
{
	struct session *const s = session_new(0);
	const node_id r = cct_root(s->cct, 0);
	const node_id m = add(s, r, "main", 0, 1, 1, 0);
	const node_id f = add(s, m, "f", 0, 2, 10, 0);
	const node_id g = add(s, f, "g", 0, 3, 100, 0);
	const node_id f2 = add(s, g, "f", 0, 4, 1000, 0);
	const node_id body = add(s, m, "body", CCT_BODY, 1, 20000, 300);

	cct_get(s->cct, r)->self = 7;
	add(s, f2, "h", 0, 5, 10000, 0);
	add(s, body, "g", 0, 1, 200000, 4000);
	return s;
}

static struct flat_row row(struct session *s, const char *name)
{
	struct flat *const r = flat_new(s, NULL);
	struct flat_row found = { 0 };

	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(flat_name(r, &r->rows[i]), name))
			found = r->rows[i];
	flat_free(r);
	return found;
}

static struct session *selected(struct filter o, struct filter_sums *sums)
{
	struct session *const s = sample();
	/* func_special fills in the name. */
	*sums = filter_apply(s, &o, 0);

	CHECK(cct_valid(s->cct));
	CHECK_EQ(sums->whole_self, 231118);
	CHECK_EQ(sums->whole_calls, 17);
	return s;
}

void test_select_under_starts_at_the_outermost(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .under = "g" },
					   &sums);

	CHECK_EQ(sums.self, 211100);
	CHECK_EQ(sums.calls, 3 + 4 + 5 + 1);
	CHECK_EQ(row(s, "f").f.total, 11000);
	CHECK_EQ(row(s, "g").f.total, 211100);
	CHECK_EQ(row(s, "main").f.calls, 0);
	CHECK_EQ(row(s, "g").f.suspended, 4000);
	session_free(s);
}

void test_select_focus_shows_callers_without_their_own(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .focus = "h" },
					   &sums);

	CHECK_EQ(sums.self, 10000);
	CHECK_EQ(row(s, "main").f.total, 10000);
	CHECK_EQ(row(s, "main").f.self, 0);
	CHECK_EQ(row(s, "main").f.calls, 0);
	CHECK_EQ(row(s, "f").f.total, 10000);
	CHECK_EQ(row(s, "body").group, 0);
	session_free(s);
}

void test_select_skip_gives_self_to_the_caller(void)
{
	struct filter_sums sums;
	struct session *const s = selected((struct filter){ .skip = "f|body" },
					   &sums);

	CHECK_EQ(sums.self, sums.whole_self);
	CHECK_EQ(row(s, "main").f.self, 1 + 10 + 20000);
	CHECK_EQ(row(s, "main").f.suspended, 0);
	CHECK_EQ(row(s, "g").f.self, 100 + 1000 + 200000);
	CHECK_EQ(row(s, "g").f.suspended, 4000);
	CHECK_EQ(row(s, "f").group, 0);
	CHECK_EQ(row(s, "h").f.total, 10000);
	session_free(s);
}

void test_select_patterns(void)
{
	CHECK(filter_match_text("abc", "abc"));
	CHECK(!filter_match_text("abc", "ab"));
	CHECK(filter_match_text("abc", "a*"));
	CHECK(filter_match_text("abc", "*b*"));
	CHECK(filter_match_text("abc", "x|?b?"));
	CHECK(!filter_match_text("abc", "x|?b"));
	CHECK(filter_match_text("", "*"));
	CHECK(filter_match_text("", ""));
	CHECK(!filter_match_text("a", ""));
	CHECK(filter_match_text("aXbXc", "a*X*c"));
	CHECK(!filter_match_text("aXbX", "a*X*c"));
}

void test_select_names_without_what_is_behind(void)
{
	struct session *const s = session_new(0);
	const func_id lua = func_special(s->funcs, "handle <app.lua:12>");
	const func_id cpp = func_special(s->funcs, "ns::f(int, char*)");

	CHECK(filter_match_func(s, lua, "handle"));
	CHECK(filter_match_func(s, lua, "*app.lua:12>"));
	CHECK(filter_match_func(s, cpp, "ns::f"));
	CHECK(filter_match_func(s, cpp, "ns::f(int, char*)"));
	CHECK(!filter_match_func(s, cpp, "f"));
	CHECK(!filter_match_func(s, cpp, "module=*"));
	session_free(s);
}

void test_flat_groups_count_the_outermost(void)
{
	struct session *const s = sample();
	struct flat *const r = flat_new(s, &(struct flat_options){
		GROUP_BODY, NULL, CCT_ALL_THREADS });

	CHECK_EQ(r->count, 2);
	CHECK_STR(flat_name(r, &r->rows[0]), "body");
	CHECK_EQ(r->rows[0].f.total, 220000);
	CHECK_EQ(r->rows[0].f.suspended, 4300);
	CHECK_STR(flat_name(r, &r->rows[1]), "[no coroutine]");
	CHECK_EQ(r->rows[1].f.total, 231111);
	CHECK_EQ(r->rows[1].f.self, 11111);
	CHECK_EQ(r->self + r->root_self, 231118);
	flat_free(r);
	session_free(s);
}

void test_flat_labels_of_a_process_win(void)
{
	struct session *const s = session_new(0);
	struct process processes[] = { { .recording = 9, .path = "" },
				       { .recording = 9, .path = "" } };
	struct label labels[] = {
		{ 9, 0, "zone", "x" }, { 9, 0, "app", "a" },
		{ 9, 2, "zone", "y" }, { 9, 2, "zone", "z" },
		{ 8, 0, "other", "recording" } };
	char name[GROUP_NAME];

	s->processes = processes;
	s->process_count = 2;
	s->labels = labels;
	s->label_count = 5;
	CHECK_STR(group_name_labels(s, 0, name), "app=a zone=x");
	CHECK_STR(group_name_labels(s, 1, name), "app=a zone=z");
	s->label_count = 0;
	CHECK_STR(group_name_labels(s, 1, name), "[no label]");
	s->processes = NULL;
	s->labels = NULL;
	session_free(s);
}

void test_flat_sorts_by_name(void)
{
	struct session *const s = sample();
	struct flat *const r = flat_new(s, &(struct flat_options){
		.sort = metric_find(&flat_view, "name"),
		.thread = CCT_ALL_THREADS });

	for (size_t i = 1; i < r->count; i++)
		CHECK(strcmp(flat_name(r, &r->rows[i - 1]),
			     flat_name(r, &r->rows[i])) < 0);
	flat_free(r);
	session_free(s);
}
