/* test_flat.c - the flat table and merged trees.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/model/cct.h"
#include "analyzer/tables/flat.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <stdlib.h>

static const struct flat_row *row(struct session *s, const struct flat *r,
				  const char *name)
{
	static const struct flat_row none;
	const func_id f = func_special(s->funcs, name);

	for (size_t i = 0; i < r->count; i++)
		if (r->rows[i].f.func == f)
			return &r->rows[i];
	return &none;
}

/* Thread 0: f > g > f > h, and g > coroutine (f > g). Thread 1: f. */
static struct session *sample(void)
{
	struct session *const s = session_new(0);
	const node_id r = cct_root(s->cct, 0), q = cct_root(s->cct, 1);
	const node_id f = sessions_node(s, r, "f", 0, 1, 1, 0);
	const node_id g = sessions_node(s, f, "g", 0, 2, 10, 0);
	const node_id f2 = sessions_node(s, g, "f", 0, 3, 100, 0);
	const node_id body = sessions_node(s, g, "f", CCT_BODY, 1, 2000, 30);

	cct_get(s->cct, r)->self = 7;
	sessions_node(s, f2, "h", 0, 4, 1000, 0);
	sessions_node(s, body, "g", 0, 1, 20000, 500);
	cct_time(s->cct, sessions_node(s, q, "f", 0, 1, 5, 0), 5);
	return s;
}

void test_flat_counts_outermost_activations(void)
{
	struct session *const s = sample();
	struct flat *const r = flat_new(s, NULL);

	CHECK_EQ(r->count, 3);
	CHECK_EQ(row(s, r, "f")->f.calls, 6);
	CHECK_EQ(row(s, r, "f")->f.self, 2106);
	CHECK_EQ(row(s, r, "f")->f.total, 23111 + 5);
	CHECK_EQ(row(s, r, "g")->f.total, 23110);
	CHECK_EQ(row(s, r, "g")->f.self, 20010);
	CHECK_EQ(row(s, r, "h")->f.total, 1000);
	/* Each coroutine's own outermost activation. */
	CHECK_EQ(row(s, r, "f")->f.suspended, 530);
	CHECK_EQ(row(s, r, "g")->f.suspended, 500);
	CHECK_EQ(r->root_self, 7);
	CHECK_EQ(r->self, 23116);
	CHECK_EQ(r->calls, 13);
	CHECK_EQ(row(s, r, "f")->min, 5);
	CHECK_EQ(r->rows[0].f.func, func_special(s->funcs, "g"));
	flat_sort(r, metric_find(flat_views, "calls"));
	CHECK_EQ(r->rows[0].f.func, func_special(s->funcs, "f"));
	flat_free(r);
	session_free(s);
}

/* Of the first row, in ticks. */
static uint64_t mean(const struct flat *t)
{
	struct metric_value v;

	metric_get(metric_find(flat_views, "mean"),
		   &(struct metric_source){ t->session, t, false },
		   t->rows, &v);
	return v.count;
}

void test_flat_of_one_thread(void)
{
	struct session *const s = sample();
	struct flat *const r = flat_new(s, &(struct flat_options){
		.sort = metric_find(flat_views, "total"),
		.thread = 1 });

	CHECK_EQ(r->count, 1);
	CHECK_EQ(r->rows[0].f.total, 5);
	CHECK_EQ(r->root_self, 0);
	CHECK_EQ(mean(r), 5);
	flat_free(r);
	session_free(s);
}

void test_flat_of_nothing(void)
{
	struct session *const s = session_new(0);
	struct flat *const r = flat_new(s, &(struct flat_options){
		.sort = metric_find(flat_views, "total"),
		.thread = CCT_ALL_THREADS });

	CHECK_EQ(r->count, 0);
	flat_free(r);
	session_free(s);
}

static uint64_t root_total(struct cct *t, node_id root)
{
	const size_t n = cct_count(t) + 1;
	uint64_t *const total = malloc(2 * n * sizeof(*total));
	uint64_t result;

	cct_totals(t, total, total + n);
	result = total[root];
	free(total);
	return result;
}

void test_merge_puts_threads_together(void)
{
	struct session *const s = sample();
	struct cct *const t = cct_reroot(s->cct, &(struct cct_reroot){
		.thread = CCT_ALL_THREADS });
	const node_id r = cct_first_root(t);
	const node_id f = cct_child(t, r, func_special(s->funcs, "f"), 0);

	CHECK_EQ(cct_get(t, r)->sibling, 0);
	CHECK_EQ(cct_get(t, f)->calls, 2);
	CHECK_EQ(root_total(t, r), 23123);
	CHECK_EQ(cct_count(t), 7);
	cct_free(t);
	session_free(s);
}

void test_merge_keeps_threads_apart(void)
{
	struct session *const s = sample();
	struct cct *const t = cct_reroot(s->cct, &(struct cct_reroot){
		.by_thread = 1, .thread = CCT_ALL_THREADS });
	struct cct *const u = cct_reroot(s->cct, &(struct cct_reroot){
		.by_thread = 1, .thread = 1 });

	CHECK_EQ(root_total(t, cct_root(t, 0)), 23118);
	CHECK_EQ(root_total(t, cct_root(t, 1)), 5);
	CHECK_EQ(root_total(u, cct_root(u, 1)), 5);
	CHECK_EQ(cct_count(u), 2);
	cct_free(t);
	cct_free(u);
	session_free(s);
}

void test_merge_roots_coroutines_at_their_bodies(void)
{
	struct session *const s = sample();
	struct cct *const t = cct_reroot(s->cct, &(struct cct_reroot){
		.by_coroutine = 1, .thread = CCT_ALL_THREADS });
	const node_id r = cct_first_root(t);
	const node_id body = cct_child(t, r, func_special(s->funcs, "f"),
				       CCT_BODY);
	const node_id f = cct_child(t, r, func_special(s->funcs, "f"), 0);

	/* Two functions at the top, and no other root. */
	CHECK_EQ(cct_get(t, body)->self, 2000);
	CHECK_EQ(root_total(t, r), 23123);
	CHECK_EQ(root_total(t, body), 22000);
	CHECK_EQ(root_total(t, f), 1116);
	CHECK_EQ(root_total(t, body) + root_total(t, f) +
		 cct_get(t, r)->self, 23123);
	CHECK_EQ(cct_get(t, r)->sibling, 0);
	cct_free(t);
	session_free(s);
}

void test_flat_groups_count_the_outermost(void)
{
	struct session *const s = sample();
	struct flat *const r = flat_new(s, &(struct flat_options){
		GROUP_BODY, NULL, CCT_ALL_THREADS });

	CHECK_EQ(r->count, 2);
	CHECK_STR(flat_name(r, &r->rows[0]), "f");
	CHECK_EQ(r->rows[0].f.total, 22000);
	CHECK_EQ(r->rows[0].f.suspended, 530);
	CHECK_STR(flat_name(r, &r->rows[1]), "[no coroutine]");
	CHECK_EQ(r->rows[1].f.total, 23116);
	CHECK_EQ(r->rows[1].f.self, 1116);
	CHECK_EQ(r->self + r->root_self, 23123);
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
		.sort = metric_find(flat_views, "name"),
		.thread = CCT_ALL_THREADS });

	for (size_t i = 1; i < r->count; i++)
		CHECK(strcmp(flat_name(r, &r->rows[i - 1]),
			     flat_name(r, &r->rows[i])) < 0);
	flat_free(r);
	session_free(s);
}
