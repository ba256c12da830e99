/* test_cct.c - the calling-context tree: paths, totals, the bound, grafting.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/cct.h"
#include "tests/test.h"

#include <stdlib.h>

static node_id path(struct cct *t, node_id root, const func_id *f, size_t n)
{
	while (n--)
		root = cct_child(t, root, *f++, 0);
	return root;
}

void test_cct_finds_paths_again(void)
{
	struct cct *const t = cct_new(10000);
	const func_id a[] = { 1, 2, 3 }, b[] = { 1, 3, 2 };
	const node_id r = cct_root(t, 0);
	const node_id x = path(t, r, a, 3), y = path(t, r, b, 3);

	CHECK(x != y);
	CHECK_EQ(path(t, r, a, 3), x);
	CHECK_EQ(cct_root(t, 0), r);
	CHECK(cct_root(t, 1) != r);
	CHECK(cct_child(t, r, 1, CCT_BODY) != cct_child(t, r, 1, 0));
	CHECK(cct_valid(t));
	for (func_id f = 1; f < 5000; f++)
		cct_child(t, r, f, 0);
	CHECK_EQ(path(t, r, a, 3), x);
	CHECK(cct_valid(t));
	cct_free(t);
}

void test_cct_totals_stop_at_a_body(void)
{
	struct cct *const t = cct_new(100);
	const node_id r = cct_root(t, 0);
	const node_id f = cct_child(t, r, 1, 0);
	const node_id g = cct_child(t, f, 2, CCT_BODY);
	const node_id h = cct_child(t, g, 3, 0);
	uint64_t total[8], susp[8];

	cct_get(t, f)->self = 1;
	cct_get(t, g)->self = 10;
	cct_get(t, h)->self = 100;
	cct_get(t, f)->suspended = 5;
	cct_get(t, g)->suspended = 7;
	cct_get(t, h)->suspended = 9;
	cct_totals(t, total, susp);
	CHECK_EQ(total[r], 111);
	CHECK_EQ(total[g], 110);
	CHECK_EQ(susp[g], 16);
	CHECK_EQ(susp[f], 5);
	cct_free(t);
}

/* Below "(deeper)", each function has one node. */
void test_cct_folds_what_is_too_much(void)
{
	struct cct *const t = cct_new(4);
	const node_id r = cct_root(t, 0);
	const node_id f = cct_child(t, r, 1, 0);
	node_id d, deeper;

	cct_set_deeper(t, 99);
	cct_child(t, cct_child(t, f, 2, 0), 3, 0);
	d = cct_child(t, cct_child(t, f, 2, 0), 4, 0);
	deeper = cct_get(t, d)->parent;
	CHECK_EQ(cct_get(t, d)->func, 4);
	CHECK_EQ(cct_get(t, deeper)->func, 99);
	CHECK(cct_get(t, deeper)->flags & CCT_OMITTED);
	CHECK_EQ(cct_get(t, deeper)->parent, f);
	CHECK_EQ(cct_child(t, cct_child(t, d, 5, 0), 4, 0), d);
	CHECK_EQ(cct_child(t, d, 99, CCT_OMITTED), deeper);
	CHECK_EQ(cct_deeper(t), 4);
	CHECK_EQ(cct_child(t, f, 4, 0), d);
	CHECK_EQ(cct_deeper(t), 4);
	CHECK_EQ(cct_count(t), 7);
	CHECK(cct_valid(t));
	cct_free(t);
}

/* A body has a "(deeper)" of its own, so that no thread sleeps with it; but
 * bodies that resume each other do not make more and more of them. */
void test_cct_folds_coroutines(void)
{
	struct cct *const t = cct_new(2);
	const node_id f = cct_child(t, cct_root(t, 0), 1, 0);
	node_id body, in, other;

	cct_set_deeper(t, 99);
	body = cct_child(t, f, 2, CCT_BODY);
	in = cct_child(t, body, 1, 0);
	CHECK(in != f);
	CHECK_EQ(cct_get(t, cct_get(t, in)->parent)->parent, body);
	other = cct_child(t, in, 3, CCT_BODY);
	CHECK_EQ(cct_get(t, other)->parent, cct_get(t, body)->parent);
	CHECK_EQ(cct_child(t, other, 2, CCT_BODY), body);
	CHECK(cct_valid(t));
	cct_free(t);
}

void test_cct_remembers_the_shortest_and_longest_call(void)
{
	struct cct *const t = cct_new(100);
	const node_id f = cct_child(t, cct_root(t, 0), 1, 0);

	CHECK(!(cct_get(t, f)->flags & CCT_TIMED));
	cct_time(t, f, 0);
	CHECK_EQ(cct_get(t, f)->min, 0);
	cct_time(t, f, 5);
	cct_time(t, f, 3);
	CHECK_EQ(cct_get(t, f)->min, 0);
	CHECK_EQ(cct_get(t, f)->max, 5);
	CHECK_EQ(cct_child(t, cct_root(t, 0), 1, 0), f);
	cct_free(t);
}

void test_cct_grafts_a_tree_onto_another(void)
{
	struct cct *const a = cct_new(100), *const b = cct_new(100);
	const func_id p[] = { 1, 2 };
	const node_id ra = cct_root(a, 0), rb = cct_root(b, 0);
	const node_id other = cct_root(b, 1);
	node_id at;

	cct_get(a, path(a, ra, p, 2))->calls = 1;
	cct_get(b, path(b, rb, p, 2))->calls = 2;
	cct_time(b, path(b, rb, p, 2), 8);
	cct_get(b, path(b, rb, p, 2))->suspended = 6;
	cct_get(b, rb)->self = 3;
	cct_get(b, cct_child(b, other, 7, 0))->calls = 4;
	cct_graft(a, ra, b, rb);
	CHECK_EQ(cct_get(a, path(a, ra, p, 2))->calls, 3);
	CHECK_EQ(cct_get(a, path(a, ra, p, 2))->max, 8);
	CHECK_EQ(cct_get(a, path(a, ra, p, 2))->suspended, 6);
	CHECK_EQ(cct_get(a, ra)->self, 3);
	CHECK_EQ(cct_count(a), 3);
	at = cct_child(a, ra, 1, 0);
	cct_graft(a, at, b, other);
	CHECK_EQ(cct_get(a, cct_child(a, at, 7, 0))->calls, 4);
	CHECK(cct_valid(a));
	cct_free(a);
	cct_free(b);
}

/* Of a worker's tree without samples, the same time is unsampled as if another
 * thread of its had some: what was spent on the CPU. */
void test_cct_joins_a_tree_without_samples(void)
{
	for (int late = 0; late < 2; late++) {
		struct cct *const whole = cct_new(10), *const t = cct_new(10);
		const node_id id = cct_root(t, 0);

		cct_collect_cpu(t);
		cct_get(t, id)->self = 10;
		cct_put_cpu(t, id, (struct cct_cpu){ .off = 7 });
		if (late)
			cct_collect_samples(t);
		cct_collect_cpu(whole);
		cct_collect_samples(whole);
		cct_add(whole, cct_root(whole, 0), t, id);
		CHECK_EQ(cct_sampled_of(whole, 1)->unsampled, 3);
		CHECK_EQ(cct_sampled_of(whole, 1)->raw, 10);
		cct_free(whole);
		cct_free(t);
	}
}

/* A million frames deep: nothing recurses. */
void test_cct_may_be_deep(void)
{
	struct cct *const t = cct_new(1 << 20), *const u = cct_new(1 << 20);
	const size_t n = 1000000;
	uint64_t *const total = malloc(2 * (n + 2) * sizeof(*total));
	node_id at = cct_root(t, 0);

	for (size_t i = 0; i < n; i++) {
		at = cct_child(t, at, 1, 0);
		cct_get(t, at)->self = 1;
	}
	cct_totals(t, total, total + n + 2);
	CHECK_EQ(total[1], n);
	cct_graft(u, cct_root(u, 0), t, 1);
	CHECK_EQ(cct_count(u), n + 1);
	free(total);
	cct_free(t);
	cct_free(u);
}
