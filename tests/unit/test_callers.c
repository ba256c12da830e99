/* test_callers.c - the graph of callers: by hand, and against sums over paths
 * on random trees.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/callers.h"
#include "analyzer/tables/flat.h"
#include "analyzer/base/mem.h"
#include "tests/test.h"
#include "tests/unit/tree_text.h"

/* "a>b calls+recursive self total suspended, total_of suspended_of" lines of
 * the arcs into a function, itself, and out of it. */
static char shown[4096];

/* The arc that a row is made of. */
static const struct callers_arc *arc_of(const struct callers *c,
					const struct callers_row *row)
{
	const bool is_callee = !strcmp(row->relation, "callee") ||
			       !strcmp(row->relation, "resumed");
	const bool resumes = !strncmp(row->relation, "resume", 6);
	const func_id from = is_callee ? row->of : row->f.func;
	const func_id to = is_callee ? row->f.func : row->of;
	size_t i = 0;

	while (c->arcs[i].from != from || c->arcs[i].of.func != to ||
	       c->arcs[i].resumes != resumes)
		i++;
	return &c->arcs[i];
}

static void show_rows(struct session *s, const struct callers *c, func_id f,
		      bool of_callees)
{
	size_t count;
	struct callers_row *const rows = callers_rows(c, f, of_callees,
		metric_find(callers_views, "total"), &count);

	for (size_t i = 0; i < count; i++) {
		const struct callers_arc *const a = arc_of(c, &rows[i]);
		char *const end = shown + strlen(shown);

		snprintf(end, (size_t)(shown + sizeof(shown) - end),
			 "%s%s%s %" PRIu64 "+%" PRIu64 " %" PRIu64 " %" PRIu64
			 " %" PRIu64 ", %" PRIu64 " %" PRIu64 "\n",
			 a->from == 0 ? "" : func_get(s->funcs, a->from)->name,
			 a->resumes ? "~>" : ">",
			 func_get(s->funcs, a->of.func)->name,
			 a->of.calls - a->of.recursive, a->of.recursive,
			 a->of.self, a->of.total, a->of.suspended,
			 a->there.total, a->suspended_of);
	}
	mem_free(rows);
}

static const char *show(const char *tree, const char *name)
{
	struct session *const s = tree_text_read(tree);
	const func_id f = func_special(s->funcs, name);
	struct callers *const c = callers_new(s->cct, func_count(s->funcs));
	const struct figures *const own = &c->of[f];

	shown[0] = '\0';
	show_rows(s, c, f, false);
	snprintf(shown + strlen(shown), 200, "%s %" PRIu64 "+%" PRIu64 " %"
		 PRIu64 " %" PRIu64 " %" PRIu64 "\n", name,
		 own->calls - own->recursive, own->recursive, own->self,
		 own->total, own->suspended);
	show_rows(s, c, f, true);
	callers_free(c);
	session_free(s);
	return shown;
}

void test_callers_of_plain_calls(void)
{
	static const char tree[] =
		"0;main 1 1 0\n"
		"0;main;a 2 10 0\n"
		"0;main;a;f 3 100 0\n"
		"0;main;a;f;x 4 1000 5\n"
		"0;main;f 5 10000 0\n"
		"0;main;f;x 6 100000 6\n"
		"0;main;f;y 7 1000000 0\n"
		"1;f 8 10000000 0\n";

	CHECK_STR(show(tree, "f"),
		  ">f 8+0 10000000 10000000 0, 10000000 0\n"
		  "main>f 5+0 10000 1110000 6, 1110000 6\n"
		  "a>f 3+0 100 1100 5, 1100 5\n"
		  "f 16+0 10010100 11111100 11\n"
		  "f>y 7+0 1000000 1000000 0, 1000000 0\n"
		  "f>x 10+0 101000 101000 11, 101000 11\n");
	CHECK_STR(show(tree, "x"),
		  "f>x 10+0 101000 101000 11, 101000 11\n"
		  "x 10+0 101000 101000 11\n");
	CHECK_STR(show(tree, "nobody"), "nobody 0+0 0 0 0\n");
}

/* f calls itself; only its first call has a total, which is its self times and
 * what it called at any level. */
void test_callers_of_recursion(void)
{
	static const char tree[] =
		"0;m 1 0 0\n"
		"0;m;f 2 1 0\n"
		"0;m;f;f 3 10 0\n"
		"0;m;f;f;f 4 100 0\n"
		"0;m;f;f;f;x 5 1000 0\n"
		"0;m;f;x 6 10000 0\n";

	CHECK_STR(show(tree, "f"),
		  "m>f 2+0 1 11111 0, 11111 0\n"
		  "f>f 0+7 110 0 0, 0 0\n"
		  "f 2+7 111 11111 0\n"
		  "f>x 11+0 11000 11000 0, 11000 0\n"
		  "f>f 0+7 110 0 0, 0 0\n");
}

/* f and g call each other. What f spent in g ends where f is entered again. */
void test_callers_of_mutual_recursion(void)
{
	static const char tree[] =
		"0;m 1 0 0\n"
		"0;m;f 1 1 0\n"
		"0;m;f;g 2 10 0\n"
		"0;m;f;g;f 3 100 0\n"
		"0;m;f;g;f;g 4 1000 7\n"
		"0;m;g 5 10000 0\n"
		"0;m;g;f 6 100000 0\n";

	CHECK_STR(show(tree, "f"),
		  "g>f 6+3 100100 100000 0, 100100 0\n"
		  "m>f 1+0 1 1111 7, 1111 7\n"
		  "f 7+3 100101 101111 7\n"
		  "f>g 2+4 1010 1110 7, 1010 7\n");
	CHECK_STR(show(tree, "g"),
		  "m>g 5+0 10000 110000 0, 110000 0\n"
		  "f>g 2+4 1010 1110 7, 1010 7\n"
		  "g 7+4 11010 111110 7\n"
		  "g>f 6+3 100100 100000 0, 100100 0\n");
}

/* A body is resumed, not called; what its coroutine slept is no sleep of the
 * resumer's, even where it calls the resumer's function. */
void test_callers_of_coroutines(void)
{
	static const char tree[] =
		"0;f 1 1 2\n"
		"0;f;~b 1 10 20\n"
		"0;f;~b;f 1 100 200\n"
		"0;f;~b;f;[9] 0 1000 2000\n"
		"0;f;b 1 10000 20000\n";

	CHECK_STR(show(tree, "f"),
		  ">f 1+0 1 11111 20002, 11111 20002\n"
		  "b>f 0+1 100 0 2200, 1100 2200\n"
		  "f 1+1 101 11111 22202\n"
		  "f>b 1+0 10000 10000 20000, 10000 20000\n"
		  "f>[9] 0+0 1000 1000 2000, 1000 2000\n"
		  "f~>b 1+0 10 1110 2220, 10 20\n");
	CHECK_STR(show(tree, "b"),
		  "f>b 1+0 10000 10000 20000, 10000 20000\n"
		  "f~>b 1+0 10 1110 2220, 10 20\n"
		  "b 2+0 10010 11110 22220\n"
		  "b>f 0+1 100 0 2200, 1100 2200\n");
}

/* --- random trees ----------------------------------------------------- */

enum { FUNCS = 5, NODES = 120 };

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

static struct session *random_tree(uint32_t seed)
{
	struct session *const s = session_new(0);
	node_id at = cct_root(s->cct, 0);

	random_state = seed;
	cct_collect_cpu(s->cct);
	for (int i = 0; i < FUNCS; i++)
		func_special(s->funcs, (const char[]){ (char)('a' + i), 0 });
	for (int i = 0; i < NODES; i++) {
		struct cct_node *n;

		if (random_below(4) == 0)
			at = random_below(2) ? cct_root(s->cct, random_below(2))
			     : 1 + random_below((uint32_t)cct_count(s->cct));
		at = cct_child(s->cct, at, 1 + random_below(FUNCS),
			       random_below(5) == 0 ? CCT_BODY : 0);
		n = cct_get(s->cct, at);
		n->calls += random_below(10);
		n->self += random_below(1000);
		n->suspended += random_below(100);
		cct_put_cpu(s->cct, at, (struct cct_cpu){
			.off = n->self / 2, .ready = n->self / 3 });
	}
	return s;
}

/* What a caller has of a callee, from the definition: every node's own figures
 * go to the nearest activation of f above it and the branch taken there. */
struct of { ticks total, suspended, own_suspended; };

static void take(struct cct *t, func_id f, node_id id, struct of *callee,
		 struct of *own)
{
	const struct cct_node *const n = cct_get(t, id);
	node_id branch = 0, up = id;
	int bodies = 0;

	for (; up != 0 && cct_get(t, up)->func != f;
	     branch = up, up = cct_get(t, up)->parent)
		bodies += (cct_get(t, up)->flags & CCT_BODY) != 0;
	if (up == 0)
		return;
	if (branch == 0) {
		own->total += n->self;
		own->suspended += n->suspended;
		return;
	}
	const struct cct_node *const b = cct_get(t, branch);
	struct of *const to = &callee[b->func * 2 +
				      ((b->flags & CCT_BODY) != 0)];

	to->total += n->self;
	if (bodies == ((b->flags & CCT_BODY) != 0))
		to->suspended += n->suspended;
}

static void check_callees(struct session *s, const struct callers *c,
			  func_id f)
{
	struct of callee[2 * FUNCS + 2] = { { 0 } }, own = { 0 };
	struct figures sum = { 0 };
	ticks total, suspended;
	size_t count;
	struct callers_row *const rows = callers_rows(c, f, true,
		metric_find(callers_views, "calls"), &count);

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		take(s->cct, f, id, callee, &own);
	total = own.total;
	suspended = own.suspended;
	for (size_t i = 0; i < count; i++) {
		const struct of *const o = &callee[rows[i].f.func * 2 +
			(strcmp(rows[i].relation, "resumed") == 0)];

		CHECK_EQ(rows[i].f.total, o->total);
		CHECK_EQ(rows[i].f.suspended, o->suspended);
		figures_add(&sum, &rows[i].f);
		total += rows[i].f.total;
		suspended += strcmp(rows[i].relation, "callee") ? 0 :
			     rows[i].f.suspended;
	}
	CHECK_EQ(sum.total_cpu + c->of[f].cpu, c->of[f].total_cpu);
	CHECK_EQ(sum.total_off + c->of[f].off, c->of[f].total_off);
	CHECK_EQ(sum.total_ready + c->of[f].ready, c->of[f].total_ready);
	CHECK_EQ(own.total, c->of[f].self);
	CHECK_EQ(total, c->of[f].total);
	CHECK_EQ(suspended, c->of[f].suspended);
	mem_free(rows);
}

static void check_callers(const struct callers *c, const struct flat_row *row)
{
	struct figures sum = { 0 };
	size_t count;
	struct callers_row *const rows = callers_rows(c, row->f.func, false,
		metric_find(callers_views, "self"), &count);

	for (size_t i = 0; i < count; i++)
		figures_add(&sum, &rows[i].f);
	CHECK_EQ(sum.calls, row->f.calls);
	CHECK_EQ(sum.self, row->f.self);
	CHECK_EQ(sum.total, row->f.total);
	CHECK_EQ(sum.suspended, row->f.suspended);
	CHECK_EQ(sum.cpu, row->f.cpu);
	CHECK_EQ(sum.total_cpu, row->f.total_cpu);
	CHECK_EQ(sum.total_off, row->f.total_off);
	CHECK_EQ(sum.total_ready, row->f.total_ready);
	CHECK_EQ(sum.recursive, c->of[row->f.func].recursive);
	mem_free(rows);
}

void test_callers_add_up_on_random_trees(void)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct session *const s = random_tree(seed);
		struct callers *const c = callers_new(s->cct,
						      func_count(s->funcs));
		struct flat *const r = flat_new(s, NULL);

		CHECK(cct_valid(s->cct));
		for (size_t i = 0; i < r->count; i++) {
			check_callers(c, &r->rows[i]);
			check_callees(s, c, r->rows[i].f.func);
		}
		flat_free(r);
		callers_free(c);
		session_free(s);
	}
}
