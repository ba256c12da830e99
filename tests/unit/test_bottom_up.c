/* test_bottom_up.c - trees as lines, from the root down and from functions up.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/bottom_up.h"
#include "analyzer/model/cct.h"
#include "analyzer/tables/tree.h"
#include "analyzer/base/mem.h"
#include "tests/test.h"
#include "tests/unit/tree_text.h"

enum { DOWN, UP, BY_COROUTINE = 2, BY_THREAD = 4 };

/* What a view prints of a tree. The caller frees nothing: the last result is
 * kept until the next. */
static const char *show(const char *tree, enum recursion_kind what, int how,
			const char *key, size_t depth)
{
	static struct tree_text t;
	struct session *const s = tree_text_read(tree);
	struct cct *const cct = cct_reroot(s->cct, &(struct cct_reroot){
		(how & BY_THREAD) != 0, (how & BY_COROUTINE) != 0,
		CCT_ALL_THREADS });
	struct recursion *const fold = recursion_new(cct, what,
						     func_count(s->funcs));
	struct top_down *const down = top_down_new(fold);
	struct bottom_up *const up = bottom_up_new(fold,
						   func_count(s->funcs));
	const struct tree_source source = how & UP ?
		bottom_up_source(up) : top_down_source(down);

	CHECK(cct_valid(fold->tree));
	/* The second time it must say the same. */
	for (int i = 0; i < 2; i++) {
		t = (struct tree_text){ .s = s, .depth = depth };
		tree_each(&source, metric_find(tree_views, key),
			  tree_text_row, &t);
	}
	bottom_up_free(up);
	top_down_free(down);
	recursion_free(fold);
	cct_free(cct);
	session_free(s);
	return t.text;
}

static const char calls[] =
	"0 0 1 0\n"
	"0;main 1 10 0\n"
	"0;main;a 2 20 0\n"
	"0;main;a;c 3 100 0\n"
	"0;main;b 4 40 0\n"
	"0;main;b;c 5 200 0\n"
	"1;c 1 1000 0\n";

void test_bottom_up_lists_callers_below_functions(void)
{
	CHECK_STR(show(calls, RECURSION_NONE, UP, "self", 0),
		  "root 0+0 1371 1371 0\n"
		  ".c 9+0 1300 1300 0\n"
		  "..outside 1+0 1000 1000 0\n"
		  "..b 5+0 200 200 0\n"
		  "...main 5+0 200 200 0\n"
		  "....outside 5+0 200 200 0\n"
		  "..a 3+0 100 100 0\n"
		  "...main 3+0 100 100 0\n"
		  "....outside 3+0 100 100 0\n"
		  ".b 4+0 40 240 0\n"
		  "..main 4+0 40 240 0\n"
		  "...outside 4+0 40 240 0\n"
		  ".a 2+0 20 120 0\n"
		  "..main 2+0 20 120 0\n"
		  "...outside 2+0 20 120 0\n"
		  ".main 1+0 10 370 0\n"
		  "..outside 1+0 10 370 0\n"
		  ".outside 0+0 1 1 0\n");
}

void test_bottom_up_keeps_threads_apart(void)
{
	CHECK_STR(show(calls, RECURSION_NONE, UP | BY_THREAD, "calls", 1),
		  "root 0+0 371 371 0\n"
		  ".c 8+0 300 300 0\n"
		  ".b 4+0 40 240 0\n"
		  ".a 2+0 20 120 0\n"
		  ".main 1+0 10 370 0\n"
		  ".outside 0+0 1 1 0\n"
		  "root 0+0 1000 1000 0\n"
		  ".c 1+0 1000 1000 0\n");
}

void test_top_down_lists_callees_below_callers(void)
{
	CHECK_STR(show(calls, RECURSION_NONE, DOWN, "total", 2),
		  "root 0+0 1 1371 0\n"
		  ".c 1+0 1000 1000 0\n"
		  ".main 1+0 10 370 0\n"
		  "..b 4+0 40 240 0\n"
		  "..a 2+0 20 120 0\n");
	CHECK_STR(show(calls, RECURSION_NONE, DOWN, "self", 2),
		  "root 0+0 1 1371 0\n"
		  ".c 1+0 1000 1000 0\n"
		  ".main 1+0 10 370 0\n"
		  "..b 4+0 40 240 0\n"
		  "..a 2+0 20 120 0\n");
}

/* a calls itself twice, then b calls a again. */
static const char recursion[] =
	"0;a 1 1 0\n"
	"0;a;a 2 10 0\n"
	"0;a;a;a 4 100 0\n"
	"0;a;a;a;b 8 1000 0\n"
	"0;a;b 16 10000 0\n"
	"0;a;b;a 32 100000 0\n"
	"0;a;b;a;c 64 1000000 0\n";

void test_fold_shows_direct_recursion_once(void)
{
	CHECK_STR(show(recursion, RECURSION_DIRECT, DOWN, "total", 0),
		  "root 0+0 0 1111111 0\n"
		  ".ax3 1+6 111 1111111 0\n"
		  "..b 24+0 11000 1111000 0\n"
		  "...a 0+32 100000 1100000 0\n"
		  "....c 64+0 1000000 1000000 0\n");
}

void test_fold_shows_mutual_recursion_once(void)
{
	CHECK_STR(show(recursion, RECURSION_ALL, DOWN, "total", 0),
		  "root 0+0 0 1111111 0\n"
		  ".ax3 1+38 100111 1111111 0\n"
		  "..c 64+0 1000000 1000000 0\n"
		  "..b 24+0 11000 11000 0\n");
}

void test_fold_of_nothing_keeps_the_tree(void)
{
	CHECK_STR(show(recursion, RECURSION_NONE, DOWN, "total", 3),
		  "root 0+0 0 1111111 0\n"
		  ".a 1+0 1 1111111 0\n"
		  "..b 16+0 10000 1110000 0\n"
		  "...a 0+32 100000 1100000 0\n"
		  "..a 0+2 10 1110 0\n"
		  "...a 0+4 100 1100 0\n");
}

/* Each total is that of outermost calls: a's is all there is, once. */
void test_bottom_up_counts_outermost_activations(void)
{
	CHECK_STR(show(recursion, RECURSION_NONE, UP, "total", 2),
		  "root 0+0 1111111 1111111 0\n"
		  ".a 1+38 100111 1111111 0\n"
		  "..outside 1+0 1 1111111 0\n"
		  "..a 0+6 110 0 0\n"
		  "..b 0+32 100000 0 0\n"
		  ".b 24+0 11000 1111000 0\n"
		  "..a 24+0 11000 1111000 0\n"
		  ".c 64+0 1000000 1000000 0\n"
		  "..a 64+0 1000000 1000000 0\n");
	CHECK_STR(show(recursion, RECURSION_DIRECT, UP, "self", 2),
		  "root 0+0 1111111 1111111 0\n"
		  ".c 64+0 1000000 1000000 0\n"
		  "..a 64+0 1000000 1000000 0\n"
		  ".ax3 1+38 100111 1111111 0\n"
		  "..b 0+32 100000 0 0\n"
		  "..outside 1+6 111 1111111 0\n"
		  ".b 24+0 11000 1111000 0\n"
		  "..ax3 24+0 11000 1111000 0\n");
}

/* a resumes a coroutine whose body is a too, which waits in y. */
static const char coroutine[] =
	"0;a 1 1 0\n"
	"0;a;~a 1 10 7\n"
	"0;a;~a;a 1 100 0\n"
	"0;a;~a;a;y 5 1000 70\n"
	"0;b 1 10000 0\n"
	"0;b;~a 0 100000 0\n"
	"0;b;~a;[9] 0 0 700\n";

void test_fold_leaves_each_coroutine_by_itself(void)
{
	CHECK_STR(show(coroutine, RECURSION_ALL, DOWN, "total", 0),
		  "root 0+0 0 111111 0\n"
		  ".b 1+0 10000 110000 0\n"
		  "..~a 0+0 100000 100000 700\n"
		  "...[9] 0+0 0 0 700\n"
		  ".a 1+0 1 1111 0\n"
		  "..~ax2 0+2 110 1110 77\n"
		  "...y 5+0 1000 1000 70\n");
}

void test_bottom_up_tells_resumers_from_callers(void)
{
	CHECK_STR(show(coroutine, RECURSION_NONE, UP, "suspended", 3),
		  "root 0+0 111111 111111 0\n"
		  ".a 1+2 100111 101111 777\n"
		  "..~b 0+0 100000 100000 700\n"
		  "...outside 0+0 100000 100000 700\n"
		  "..~a 0+1 10 0 77\n"
		  "...outside 0+1 10 0 77\n"
		  "..outside 1+0 1 1111 0\n"
		  "..a 0+1 100 0 0\n"
		  "...~a 0+1 100 0 0\n"
		  ".[9] 0+0 0 0 700\n"
		  "..a 0+0 0 0 700\n"
		  "...~b 0+0 0 0 700\n"
		  ".y 5+0 1000 1000 70\n"
		  "..a 5+0 1000 1000 70\n"
		  "...a 5+0 1000 1000 70\n"
		  ".b 1+0 10000 110000 0\n"
		  "..outside 1+0 10000 110000 0\n");
}

/* Below roots of their own, coroutines are no longer part of what resumed
 * them: their a is an outermost one. */
void test_bottom_up_merges_resumers(void)
{
	CHECK_STR(show(coroutine, RECURSION_DIRECT, UP | BY_COROUTINE,
		       "self", 2),
		  "root 0+0 111111 111111 0\n"
		  ".ax2 2+1 100111 101111 777\n"
		  "..~outside 1+1 100110 101110 777\n"
		  "..outside 1+0 1 1 0\n"
		  ".b 1+0 10000 10000 0\n"
		  "..outside 1+0 10000 10000 0\n"
		  ".y 5+0 1000 1000 70\n"
		  "..ax2 5+0 1000 1000 70\n"
		  ".[9] 0+0 0 0 700\n"
		  "..ax2 0+0 0 0 700\n");
}

void test_bottom_up_of_nothing(void)
{
	CHECK_STR(show("", RECURSION_DIRECT, UP, "self", 0), "");
	CHECK_STR(show("3 0 5 0\n", RECURSION_DIRECT, UP, "self", 0),
		  "root 0+0 5 5 0\n"
		  ".outside 0+0 5 5 0\n");
}

/* Half a million levels of two functions that call each other: a bound on the
 * levels bounds the work, and nothing recurses. */
static bool visit_some(void *ctx, const struct tree_row *row)
{
	++*(size_t *)ctx;
	return row->depth < 50;
}

void test_bottom_up_goes_no_further_than_asked(void)
{
	struct session *const s = session_new(0);
	node_id at = cct_root(s->cct, 0);
	struct recursion *fold;
	struct bottom_up *b;
	size_t rows = 0;

	for (size_t i = 0; i < 500000; i++) {
		at = cct_child(s->cct, at, func_special(s->funcs, i % 2 ?
							"a" : "b"), 0);
		cct_get(s->cct, at)->self = 1;
	}
	fold = recursion_new(s->cct, RECURSION_DIRECT, func_count(s->funcs));
	b = bottom_up_new(fold, func_count(s->funcs));
	const struct tree_source source = bottom_up_source(b);

	tree_each(&source, metric_find(tree_views, "self"), visit_some, &rows);
	CHECK_EQ(rows, 1 + 2 * 50 + 49);
	bottom_up_free(b);
	recursion_free(fold);
	fold = recursion_new(s->cct, RECURSION_ALL, func_count(s->funcs));
	CHECK_EQ(cct_count(fold->tree), 3);
	CHECK_EQ(fold->levels[2], 250000);
	recursion_free(fold);
	session_free(s);
}
