/* test_division.c - times of a reference that are divided among stacks: tables
 * have the error of that, too, whatever stacks a row adds up.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/correct/correct.h"
#include "analyzer/tables/bottom_up.h"
#include "analyzer/tables/callers.h"
#include "analyzer/tables/filter.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/tree.h"
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000) /* ticks: the clock has 1 GHz */

/* main calls OUTER functions, each of these all of MIDDLE others, and each of
 * these f, which calls leaf. */
enum { OUTER = 2, MIDDLE = 3, STACKS = OUTER * MIDDLE };
enum { PROBE, IN_F, IN_LEAF, PLACES };
enum { OFTEN = 50 };    /* samples of the reference in a ms */

static struct session *s;
static func_id f, leaf, middle[MIDDLE], outer[OUTER];
static double of_f[OUTER][MIDDLE], of_leaf[OUTER][MIDDLE]; /* ms */
static uint64_t state = 88172645463325252;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* How many events, of so many on average. */
static unsigned poisson(double mean)
{
	double t = -log(uniform());
	unsigned n = 0;

	for (; t < mean; n++)
		t -= log(uniform());
	return n;
}

static void sample(node_id id, uint32_t place, unsigned n)
{
	while (n-- > 0)
		cct_add_sample(s->cct, &(struct cct_sample){
			.node = id, .place = place, .period = (uint32_t)MS });
}

/* Calls that cost 40 ns, of a function that takes so long; what is seen of
 * both, a time each ms. */
static node_id add_drawn(node_id parent, func_id func, uint32_t place,
			 double *ms)
{
	const node_id id = cct_child(s->cct, parent, func, 0);
	const double calls = 1e6 * uniform(), cost = calls * 40e-6;

	*ms = 20 * exp(3 * uniform());
	cct_get(s->cct, id)->calls = (uint64_t)calls;
	cct_get(s->cct, id)->self = (uint64_t)((*ms + cost) * (double)MS);
	sample(id, place, poisson(*ms));
	sample(id, PROBE, poisson(cost));
	return id;
}

static node_id add(node_id parent, func_id func)
{
	const node_id id = cct_child(s->cct, parent, func, 0);

	cct_get(s->cct, id)->calls = 1000;
	return id;
}

static void refer(uint32_t place, double ms)
{
	struct reference *const r = &s->reference;
	const unsigned n = poisson(OFTEN * ms);

	r->at[r->count++] = (struct reference_count){
		1, 0, n, (double)n * (double)MS / OFTEN, place, 0 };
	r->samples += n;
	r->ns += (double)n * (double)MS / OFTEN;
}

static void begin(void)
{
	static const uint8_t build[20] = { 1 };
	elf_id elf;
	char name[] = "a";

	s = session_new(0);
	s->tick_hz = 1000000000;
	s->places = mem_alloc(PLACES * sizeof(*s->places));
	s->place_count = PLACES;
	elf = func_module(s->funcs, "/bin/made-up", build, sizeof(build),
			  4096);
	f = func_native(s->funcs, elf, 16);
	leaf = func_native(s->funcs, elf, 32);
	for (int i = 0; i < MIDDLE; i++, name[0]++)
		middle[i] = func_native(s->funcs, elf, 64 + 16 * (uint64_t)i);
	for (int i = 0; i < OUTER; i++)
		outer[i] = func_native(s->funcs, elf, 640 + 16 * (uint64_t)i);
	s->places[PROBE] = (struct code_place){ .module = elf,
						.kind = PLACE_PROBE };
	s->places[IN_F] = (struct code_place){ .module = elf, .offset = 16,
		.kind = PLACE_OWN, .func = f };
	s->places[IN_LEAF] = (struct code_place){ .module = elf, .offset = 32,
		.kind = PLACE_OWN, .func = leaf };
	cct_collect_samples(s->cct);
}

static void draw(void)
{
	const node_id root = cct_root(s->cct, 0);
	double sum_f = 0, sum_leaf = 0;

	for (int o = 0; o < OUTER; o++) {
		const node_id top = add(root, outer[o]);

		for (int m = 0; m < MIDDLE; m++) {
			const node_id at = add_drawn(add(top, middle[m]), f,
						     IN_F, &of_f[o][m]);

			add_drawn(at, leaf, IN_LEAF, &of_leaf[o][m]);
			sum_f += of_f[o][m];
			sum_leaf += of_leaf[o][m];
		}
	}
	s->reference.kind = REFERENCE_RUN;
	s->reference.at = mem_alloc(2 * sizeof(*s->reference.at));
	refer(IN_F, sum_f);
	refer(IN_LEAF, sum_leaf);
	net_place(s);
	net_apply(s);
	reference_apply(s, s->text);
	REQUIRE(s->net.is_net == NET_REFERENCE);
}

/* How often the truth lies inside twice the error, and inside a quarter. */
struct tally { unsigned inside, near, all; };

static void count(struct tally *t, double is, double error, double ms)
{
	const double off = fabs(is - ms * (double)MS);

	t->all++;
	t->inside += off <= 2 * error;
	t->near += off <= error / 4;
}

static double error_of(const struct metric_view *view, const char *metric,
		       const void *row)
{
	struct metric_value v;

	metric_get(metric_find(view, metric),
		   &(struct metric_source){ s, NULL, false }, row, &v);
	return (double)v.count;
}

static void check_tally(const char *what, const struct tally *t)
{
	printf("note: %s: %u of %u inside 2 errors, %u inside 1/4\n", what,
	       t->inside, t->all, t->near);
	/* 95 %, less what may be chance. */
	CHECK(t->inside >= t->all * 94 / 100);
	CHECK(t->near < t->all / 2);
}

/* ---- tables ------------------------------------------------------------- */

static void each_time(void (*look)(struct tally *), const char *what)
{
	struct tally t = { 0, 0, 0 };

	for (int time = 0; time < 300; time++) {
		begin();
		draw();
		look(&t);
		session_free(s);
	}
	check_tally(what, &t);
}

/* The scale is wrong by as much in both functions of a total. */
void test_division_scale_is_common_to_all_of_a_total(void)
{
	struct flat *table;

	begin();
	draw();
	s->reference.scale = 1;
	s->reference.error = 0.1;
	table = flat_new(s, NULL);
	for (size_t i = 0; i < table->count; i++) {
		const struct flat_row *const row = &table->rows[i];
		const double part = error_of(flat_views, "total-error", row) /
				    (double)row->f.total;

		if (row->f.func == f)
			CHECK(part >= 0.1 && part < 0.11);
	}
	flat_free(table);
	session_free(s);
}

/* f's calls by one function come from OUTER stacks. */
static void look_at_callers(struct tally *t)
{
	struct callers *const c = callers_new(s->cct, func_count(s->funcs));
	size_t n;
	struct callers_row *const rows = callers_rows(c, f, false,
		metric_find(callers_views, "calls"), &n);

	CHECK_EQ(n, MIDDLE);
	for (size_t i = 0; i < n; i++) {
		double self = 0, total = 0;
		int m = 0;

		while (middle[m] != rows[i].f.func)
			m++;
		for (int o = 0; o < OUTER; o++) {
			self += of_f[o][m];
			total += of_f[o][m] + of_leaf[o][m];
		}
		count(t, (double)rows[i].f.self,
		      error_of(callers_views, "self-error", &rows[i]), self);
		count(t, (double)rows[i].f.total,
		      error_of(callers_views, "total-error", &rows[i]), total);
	}
	mem_free(rows);
	callers_free(c);
}

void test_division_has_an_error_in_callers(void)
{
	each_time(look_at_callers, "callers");
}

/* leaf, and from there up; the rows that end in a function of the middle. */
static struct tally *up_tally;

static bool look_at_row(void *path, const struct tree_row *row)
{
	func_id *const at = path;
	double self = 0;

	at[row->depth < 8 ? row->depth : 7] = row->f.func;
	for (int m = 0; m < MIDDLE; m++) {
		if (row->depth != 3 || at[1] != leaf || at[2] != f ||
		    at[3] != middle[m])
			continue;
		for (int o = 0; o < OUTER; o++)
			self += of_leaf[o][m];
		count(up_tally, (double)row->f.self,
		      error_of(&tree_bottom_up_views[METRIC_BY_TIME],
			       "self-error", row), self);
	}
	return true;
}

static void look_at_bottom_up(struct tally *t)
{
	struct recursion *const fold = recursion_new(s->cct, RECURSION_NONE,
						     func_count(s->funcs));
	struct bottom_up *const up = bottom_up_new(fold,
						   func_count(s->funcs));
	const struct tree_source source = bottom_up_source(up);
	const unsigned before = t->all;
	func_id path[8] = { 0 };

	up_tally = t;
	tree_each(&source, metric_find(&tree_bottom_up_views[METRIC_BY_TIME],
				       "self"), look_at_row, path);
	CHECK_EQ(t->all - before, MIDDLE);
	bottom_up_free(up);
	recursion_free(fold);
}

void test_division_has_an_error_bottom_up(void)
{
	each_time(look_at_bottom_up, "bottom-up");
}

/* Of all that one function of the outside calls: f's stacks, and leaf's. */
static void look_at_functions(struct tally *t)
{
	struct flat *const table = flat_new(s, NULL);

	for (size_t i = 0; i < table->count; i++) {
		const struct flat_row *const row = &table->rows[i];
		double total = 0;

		if (row->f.func == f || row->f.func == leaf)
			CHECK(cct_division_variance(&row->f.division) <
			      1e-6 * row->f.self_variance);
		for (int o = 0; o < OUTER; o++)
			for (int m = 0; m < MIDDLE; m++)
				total += outer[o] == row->f.func ?
					 of_f[o][m] + of_leaf[o][m] : 0;
		if (total > 0)
			count(t, (double)row->f.total,
			      sqrt(row->f.total_variance +
				   row->f.below_variance), total);
	}
	flat_free(table);
}

/* Of rows with several stacks: f, with all of leaf, whose parts are no matter;
 * and its callers. */
static void look_at_several(struct tally *t)
{
	struct flat *const table = flat_new(s, NULL);
	struct callers *const c = callers_new(s->cct, func_count(s->funcs));
	const struct callers_row own = callers_own(c, f);

	for (size_t i = 0; i < table->count; i++) {
		const struct flat_row *const row = &table->rows[i];
		const bool is_f = row->f.func == f;
		double total = 0;

		for (int o = 0; o < OUTER; o++)
			for (int m = 0; m < MIDDLE; m++)
				total += is_f || middle[m] == row->f.func ?
					 of_f[o][m] + of_leaf[o][m] : 0;
		if (is_f || row->f.func == middle[0])
			count(t, (double)row->f.total,
			      error_of(flat_views, "total-error", row), total);
		if (is_f)
			count(t, (double)own.f.total,
			      error_of(callers_views, "total-error", &own),
			      total);
	}
	callers_free(c);
	flat_free(table);
}

void test_division_has_no_error_of_what_a_total_has_all_of(void)
{
	each_time(look_at_several, "totals of several stacks");
}

void test_division_has_an_error_in_totals(void)
{
	each_time(look_at_functions, "totals");
}

/* All that there is of a function is below the root. */
void test_division_of_all_is_exact(void)
{
	double *below;

	begin();
	draw();
	below = cct_division_below(s->cct);
	CHECK(below[cct_first_root(s->cct)] < 1e6);
	CHECK(below[cct_get(s->cct, cct_first_root(s->cct))->child] > 1e12);
	mem_free(below);
	session_free(s);
}

/* What --skip does with f and leaf: their time is a caller's. */
static void look_at_skipped(struct tally *t)
{
	for (node_id top = cct_get(s->cct, cct_first_root(s->cct))->child;
	     top != 0; top = cct_get(s->cct, top)->sibling) {
		struct cct_division sum = { .all = 0 };
		double variance = 0, ms = 0, self = 0;
		node_id of = cct_get(s->cct, top)->child;
		int o = 0;

		for (; of != 0; of = cct_get(s->cct, of)->sibling) {
			const node_id at[] = { cct_get(s->cct, of)->child,
				cct_get(s->cct, cct_get(s->cct, of)->child)
					->child };

			for (int i = 0; i < 2; i++) {
				cct_division_add(&sum, &cct_sampled_of(s->cct,
					at[i])->division);
				variance += cct_sampled_of(s->cct, at[i])
						    ->variance;
				self += (double)cct_get(s->cct, at[i])->self;
			}
		}
		while (outer[o] != cct_get(s->cct, top)->func)
			o++;
		for (int m = 0; m < MIDDLE; m++)
			ms += of_f[o][m] + of_leaf[o][m];
		count(t, self, sqrt(variance + cct_division_variance(&sum)),
		      ms);
	}
}

void test_division_has_an_error_of_what_is_skipped(void)
{
	each_time(look_at_skipped, "skipped");
}

/* f and leaf are skipped, and what calls f, if all is so. */
static void skip(bool all)
{
	const struct filter filter = { .skip = all ? "f|leaf|middle*|outer*" :
						     "f|leaf" };

	func_get(s->funcs, f)->name = "f";
	func_get(s->funcs, leaf)->name = "leaf";
	for (int i = 0; i < MIDDLE; i++)
		func_get(s->funcs, middle[i])->name = "middle";
	for (int i = 0; i < OUTER; i++)
		func_get(s->funcs, outer[i])->name = "outer";
	filter_apply(s, &filter, 0);
}

/* Their parts that cancel below a caller's caller do so after --skip, too. */
static void look_at_totals(struct tally *t)
{
	double *const before = cct_division_below(s->cct);
	struct node_totals totals;
	node_id id = cct_get(s->cct, cct_first_root(s->cct))->child;
	double was[OUTER];

	for (int i = 0; i < OUTER; i++, id = cct_get(s->cct, id)->sibling)
		was[cct_get(s->cct, id)->func == outer[1]] = before[id];
	mem_free(before);
	skip(false);
	node_totals_init(&totals, s->cct);
	CHECK(totals.below[cct_first_root(s->cct)] < 1e6);
	id = cct_get(s->cct, cct_first_root(s->cct))->child;
	for (int i = 0; i < OUTER; i++, id = cct_get(s->cct, id)->sibling) {
		const int o = cct_get(s->cct, id)->func == outer[1];
		double ms = 0;

		CHECK(fabs(totals.below[id] - was[o]) <= 1e-6 * was[o]);
		for (int m = 0; m < MIDDLE; m++)
			ms += of_f[o][m] + of_leaf[o][m];
		count(t, (double)totals.total[id],
		      sqrt(totals.variance[id] + totals.below[id]), ms);
	}
	node_totals_fini(&totals);
}

void test_division_of_what_is_skipped_cancels_in_totals(void)
{
	each_time(look_at_totals, "totals of what is skipped");
}

void test_division_of_all_that_is_skipped_is_exact(void)
{
	struct cct_division of = { .all = 0 };

	begin();
	draw();
	skip(true);
	cct_division_add_given(&of, s->cct, cct_first_root(s->cct));
	CHECK(of.all > 0 && cct_division_variance(&of) < 1e6);
	session_free(s);
}

/* f's calls cost all that they took, and the reference tells what f takes: it
 * may lie in any stack, and no more than all of it does. */
void test_division_doubts_no_more_than_the_whole(void)
{
	node_id root, at[OUTER];

	begin();
	root = cct_root(s->cct, 0);
	for (int o = 0; o < OUTER; o++) {
		at[o] = add(add(root, outer[o]), f);
		cct_get(s->cct, at[o])->self = 40 * MS + MS / 2;
		cct_get(s->cct, at[o])->calls = 1000000;
		sample(at[o], PROBE, 40);
	}
	at[0] = add(root, leaf);
	cct_get(s->cct, at[0])->self = 200 * MS;
	sample(at[0], IN_LEAF, 200);
	at[0] = cct_get(s->cct, cct_get(s->cct, root)->child)->child;
	s->reference.kind = REFERENCE_RUN;
	s->reference.at = mem_alloc(2 * sizeof(*s->reference.at));
	refer(IN_F, 20);
	refer(IN_LEAF, 200);
	net_place(s);
	net_apply(s);
	reference_apply(s, s->text);
	REQUIRE(s->net.is_net == NET_REFERENCE);
	for (int o = 0; o < OUTER; o++)
		CHECK(cct_division_variance(&cct_sampled_of(s->cct, at[o])
			->division) < 30.0 * MS * 30 * MS);
	session_free(s);
}

/* f and leaf took so long, and half of that in the reference, which is of such
 * a kind, and of such a build; of another one, libc is the same. */
static void apply_half(uint32_t kind, bool is_same_run, bool is_other_build,
		       double ms)
{
	static const uint8_t other[20] = { 2 }, libc[20] = { 3 };
	node_id at;

	begin();
	at = add(add(cct_root(s->cct, 0), outer[0]), f);
	cct_get(s->cct, at)->self = (uint64_t)(ms * (double)MS);
	sample(at, IN_F, (unsigned)ms);
	at = add(at, leaf);
	cct_get(s->cct, at)->self = (uint64_t)(ms * (double)MS);
	sample(at, IN_LEAF, (unsigned)ms);
	s->reference.kind = kind;
	s->reference.is_same_run = is_same_run;
	s->reference.at = mem_alloc(2 * sizeof(*s->reference.at));
	refer(IN_F, ms * 0.45);
	refer(IN_LEAF, ms * 0.45);
	if (is_other_build) {
		s->reference.at[0].module = func_module(s->funcs, "/bin/plain",
			other, sizeof(other), 4096);
		s->reference.at[1].module = func_module(s->funcs,
			"/lib/libc.so.6", libc, sizeof(libc), 4096);
		func_get(s->funcs, func_native(s->funcs,
			 s->reference.at[1].module, 16))->name = "read";
		s->reference.at[0].func = f;
		s->reference.at[1].func = leaf;
	}
	net_place(s);
	net_apply(s);
	reference_apply(s, s->text);
}

/* The work is as long as that of the reference, or it is told by long calls. */
void test_division_scale_is_known_or_there_is_none(void)
{
	apply_half(REFERENCE_RUN, false, false, 600);
	CHECK(s->reference.is_refused && !(s->net.is_net & NET_REFERENCE));
	session_free(s);
	apply_half(REFERENCE_RUN, false, true, 600);
	CHECK(!s->reference.is_refused);
	CHECK_EQ(s->net.is_net, NET_REFERENCE);
	session_free(s);
	/* Long calls tell that more was recorded, of the same command, too. */
	apply_half(REFERENCE_ONLY, true, false, 600);
	CHECK(!s->reference.is_same_run);
	CHECK_EQ(s->net.is_net, NET_REFERENCE | NET_FITTED);
	CHECK(fabs(s->reference.scale - 1 / 0.45) < 0.2);
	session_free(s);
}

/* All of it was in calls that say nothing of how long they took. */
void test_division_a_scale_that_nothing_tells_is_refused(void)
{
	for (int is_same_run = 0; is_same_run < 2; is_same_run++) {
		node_id at;

		begin();
		at = add(add(cct_root(s->cct, 0), outer[0]), f);
		cct_get(s->cct, at)->calls = 10000000;
		cct_get(s->cct, at)->self = 400 * MS;
		sample(at, IN_F, 40);
		sample(at, PROBE, 360);
		s->reference.kind = REFERENCE_ONLY;
		s->reference.is_same_run = is_same_run;
		s->reference.at = mem_alloc(2 * sizeof(*s->reference.at));
		refer(IN_F, 100);
		net_place(s);
		net_apply(s);
		reference_apply(s, s->text);
		CHECK_EQ(s->reference.is_refused, !is_same_run);
		CHECK_EQ(s->reference.is_same_run, is_same_run);
		CHECK_EQ(s->net.is_net == NET_REFERENCE, is_same_run);
		if (is_same_run)
			CHECK(cct_get(s->cct, at)->self > 90 * MS);
		session_free(s);
	}
}

/* Short calls alone, of which recording took so many ms, without switches for
 * so many, and a reference of 400 ms of f or of something else. */
static void short_calls(unsigned probes, unsigned unknown, uint32_t place)
{
	node_id at;

	begin();
	cct_collect_cpu(s->cct);
	at = add(add(cct_root(s->cct, 0), outer[0]), f);
	cct_get(s->cct, at)->calls = 10000000;
	cct_get(s->cct, at)->self = (200 + probes) * MS;
	cct_put_cpu(s->cct, at, (struct cct_cpu){ .unknown = unknown * MS });
	sample(at, IN_F, 200);
	sample(at, PROBE, probes);
	s->reference.kind = REFERENCE_OFF;
	s->reference.at = mem_alloc(2 * sizeof(*s->reference.at));
	refer(place, 400);
	net_place(s);
	net_apply(s);
	reference_apply(s, s->text);
}

/* The CPU time of both tells how much was recorded, of the same process or
 * build. */
void test_division_cpu_time_tells_the_scale_where_calls_are_short(void)
{
	for (unsigned probes = 0; probes <= 100; probes += 100) {
		short_calls(probes, 0, IN_F);
		CHECK_EQ(s->net.is_net, NET_REFERENCE | NET_FITTED);
		CHECK(s->reference.is_by_time);
		CHECK(fabs(s->reference.scale - 0.5) < 0.05);
		CHECK(s->reference.error >= 0.01 + probes / 1000.0);
		session_free(s);
	}
}

/* The program did something else meanwhile; or it may have slept. */
void test_division_cpu_time_tells_no_scale_of_other_work(void)
{
	short_calls(0, 0, IN_LEAF);
	CHECK(s->reference.is_refused);
	session_free(s);
	short_calls(0, 100, IN_F);
	CHECK(!s->reference.is_by_time);
	session_free(s);
}
