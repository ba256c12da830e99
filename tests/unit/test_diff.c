/* test_diff.c - planted changes between made-up sessions: the right function,
 * the right reason, the right figure.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge.h"
#include "analyzer/merge/diff.h"
#include "analyzer/merge/diff_match.h"
#include "analyzer/profile/profile.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <math.h>

#define NS_PER_S UINT64_C(1000000000)

/* main calls work, which calls leaf; main calls other. */
struct program {
	uint8_t build;
	uint64_t offset;        /* of all functions, in this build */
	uint64_t works, leaves; /* calls of work; of leaf by one work */
	uint64_t leaf_ns;
	uint64_t others;        /* calls of leaf by other */
	uint64_t sleep;         /* of work, a call */
	uint64_t noise;         /* self of main */
	/* Of leaf, a call: off the CPU, not known to be on or off, and off it
	 * without a core. */
	uint64_t off, unknown, ready;
	bool has_cpu;
	/* How much sessions differ in leaf's calls, and in its fastest one. */
	uint64_t spread, fastest_spread;
	uint64_t step;          /* 0 to 4: the session's place in the spread */
};

static void add_leaf(struct session *s, node_id w, func_id leaf,
		     const struct program *p)
{
	const uint64_t calls = p->works * p->leaves;
	const node_id id = sessions_calls(s, w, leaf, calls,
		calls * (p->leaf_ns + p->step * p->spread));

	cct_time(s->cct, id, p->leaf_ns + p->step * p->fastest_spread);
	if (p->has_cpu)
		cct_put_cpu(s->cct, id, (struct cct_cpu){
			calls * p->off, calls * p->unknown,
			calls * p->ready });
}

static void add(struct merge *sum, const struct program *p)
{
	struct session *const s = sessions_new(NS_PER_S, "main");

	if (p->has_cpu)
		cct_collect_cpu(s->cct);

	const node_id root = cct_root(s->cct, 0);
	const func_id leaf = sessions_func(s, p->build, p->offset, "leaf");
	const func_id work = sessions_func(s, p->build, p->offset + 16, "work");
	const func_id other = sessions_func(s, p->build, p->offset + 32,
					    "other");
	const node_id m = sessions_calls(s, root, sessions_func(s, p->build,
		p->offset + 48, "main"), 1, 1000 + p->noise);
	const node_id w = sessions_calls(s, m, work, p->works, p->works * 100);
	const node_id o = sessions_calls(s, m, other, 10, 500);

	cct_get(s->cct, w)->suspended = p->works * p->sleep;
	if (p->leaves)
		add_leaf(s, w, leaf, p);
	if (p->others)
		sessions_calls(s, o, leaf, 10 * p->others,
			       10 * p->others * p->leaf_ns);
	merge_add(sum, s);
	session_free(s);
}

static struct session *sessions_of(struct program p, int n)
{
	struct merge *const sum = merge_new();

	for (int i = 0; i < n; i++) {
		p.noise = (uint64_t)(i * i) * 700 % 1900;
		p.step = (uint64_t)(i * i) * 7 % 5;
		add(sum, &p);
	}
	return merge_end(sum);
}

static const struct program plain = {
	.build = 1, .offset = 64, .works = 50, .leaves = 4, .leaf_ns = 200,
	.sleep = 30 };

/* The only row of leaf between two programs, four sessions each: it must have
 * one, if any; without one the reason is DIFF_REASONS. */
static struct diff_row leaf_row(const struct program *before,
				const struct program *after, bool *has_cpu)
{
	struct session *const a = sessions_of(*before, 4);
	struct session *const b = sessions_of(*after, 4);
	struct diff *const d = diff_new(a, b);
	struct diff_row found = { .reason = DIFF_REASONS };

	for (size_t i = 0; i < d->count; i++)
		if (strcmp(func_get(b->funcs, d->rows[i].after)->name,
			   "leaf") == 0) {
			CHECK_EQ(found.reason, DIFF_REASONS);
			found = d->rows[i];
		}
	if (has_cpu)
		*has_cpu = d->has_cpu;
	diff_free(d);
	session_free(a);
	session_free(b);
	return found;
}

/* The first row between plain and another program is that. */
static void first_is(const struct program *p, int sessions, const char *name,
		     enum diff_reason reason, double added)
{
	struct session *const a = sessions_of(plain, sessions);
	struct session *const b = sessions_of(*p, sessions);
	struct diff *const d = diff_new(a, b);

	if (CHECK(d->count > 0)) {
		const struct diff_row *const row = &d->rows[0];

		CHECK_STR(func_get(b->funcs, row->after)->name, name);
		CHECK_EQ(row->reason, reason);
		CHECK(row->added > added - 1 && row->added < added + 1);
		CHECK(row->before > 0);
		CHECK(sessions < 2 ? row->chance < 0 :
		      row->chance >= 0 && row->chance < DIFF_CHANCE);
	}
	diff_free(d);
	session_free(a);
	session_free(b);
}

static void both_builds(struct program p, const char *name,
			enum diff_reason reason, double added)
{
	first_is(&p, 1, name, reason, added);
	first_is(&p, 4, name, reason, added);
	/* Another build: other offsets, other build-id. */
	p.build = 9;
	p.offset = 4096;
	first_is(&p, 4, name, reason, added);
}

void test_diff_names_who_is_called_more(void)
{
	struct program p = plain;

	/* work, with all its leaves; leaf is not to blame. */
	p.works = 100;
	both_builds(p, "work", DIFF_CALLED, 50 * (100 + 4 * 200));
	p = plain;
	p.leaves = 8;
	both_builds(p, "leaf", DIFF_CALLED, 50 * 4 * 200);
}

void test_diff_names_who_costs_more(void)
{
	struct program p = plain;

	p.leaf_ns = 240;
	both_builds(p, "leaf", DIFF_COST, 50 * 4 * 40);
}

void test_diff_names_a_new_caller(void)
{
	struct program p = plain;

	p.others = 5;
	both_builds(p, "leaf", DIFF_NEW_CALLER, 50 * 200);
}

void test_diff_names_who_sleeps_more(void)
{
	struct program p = plain;

	p.sleep = 500;
	both_builds(p, "work", DIFF_SLEEP, 50 * 470);
}

/* A leaf that waits in every call: its fastest call waits, too. */
void test_diff_lays_a_wait_at_one_door(void)
{
	struct program a = plain, b;
	struct diff_row row;

	a.has_cpu = true;
	a.off = 150;
	b = a;
	b.leaf_ns += 400;
	b.off += 400;
	row = leaf_row(&a, &b, NULL);
	CHECK_EQ(row.reason, DIFF_WAIT);
	CHECK(row.added == 50 * 4 * 400 && row.chance < DIFF_CHANCE);
}

/* On a busy machine a leaf has no core for longer; that is nobody's. */
void test_diff_does_not_blame_who_has_no_core(void)
{
	struct program a = plain, b;
	bool has_cpu = false;

	a.has_cpu = true;
	a.off = 150;
	b = a;
	b.leaf_ns += 4000;
	b.off += 4000;
	b.ready = 4000;
	CHECK_EQ(leaf_row(&a, &b, &has_cpu).reason, DIFF_REASONS);
	CHECK(has_cpu);
	/* Nor does it make other changes look small. */
	a = b;
	a.noise = 0;
	b.leaf_ns += 200;
	CHECK(leaf_row(&a, &b, NULL).share > 40);
}

/* The order of the rows of one session, and of four, on each side. */
void test_diff_puts_causes_first(void)
{
	struct program a = plain, b;

	a.has_cpu = true;
	a.off = 100;
	b = a;
	b.leaf_ns += 10 + 400;
	b.off += 400;
	b.sleep += 5000;
	for (int n = 1; n <= 4; n += 3) {
		struct session *const x = sessions_of(a, n);
		struct session *const y = sessions_of(b, n);
		struct diff *const d = diff_new(x, y);

		if (CHECK_EQ(d->count, 3)) {
			CHECK_EQ(d->rows[n == 4].reason, DIFF_COST);
			CHECK_EQ(d->rows[n == 1].reason, DIFF_WAIT);
			CHECK_EQ(d->rows[2].reason, DIFF_SLEEP);
		}
		diff_free(d);
		session_free(x);
		session_free(y);
	}
}

void test_diff_compares_the_fastest_calls(void)
{
	struct program a = plain, b;
	struct diff_row row;

	a.spread = 10;
	b = a;
	b.leaf_ns += 5;
	row = leaf_row(&a, &b, NULL);
	CHECK(row.reason == DIFF_COST && row.is_fastest);
	CHECK(row.added == 50 * 4 * 5 && row.chance < DIFF_CHANCE);
	/* If these may be chance, too, the means are told. */
	a.fastest_spread = b.fastest_spread = 5;
	b.leaf_ns = a.leaf_ns + 2;
	row = leaf_row(&a, &b, NULL);
	CHECK(row.reason == DIFF_COST && !row.is_fastest);
	CHECK(row.chance > DIFF_CHANCE);
}

void test_diff_shares_are_of_self(void)
{
	struct program a = plain, b;
	struct session *before, *after;
	struct diff *d;

	a.sleep = 1000000;
	b = a;
	b.leaf_ns *= 4;
	CHECK(leaf_row(&a, &b, NULL).share > 200);
	b = a;
	b.sleep *= 2;
	before = sessions_of(a, 2);
	after = sessions_of(b, 2);
	d = diff_new(before, after);
	CHECK(d->count == 1 && d->rows[0].reason == DIFF_SLEEP);
	CHECK(d->rows[0].share > 99 && d->rows[0].share < 101);
	diff_free(d);
	session_free(before);
	session_free(after);
}

/* What waits nearly all the time, and works twice as long. */
void test_diff_shares_are_of_cpu_time(void)
{
	struct program a = plain, b;
	struct diff_row row;
	bool has_cpu;

	a.has_cpu = true;
	a.off = 100 * a.leaf_ns;
	a.leaf_ns += a.off;
	b = a;
	b.leaf_ns += plain.leaf_ns;
	row = leaf_row(&a, &b, &has_cpu);
	CHECK(has_cpu && row.reason == DIFF_COST && row.share > 25);
	b = a;
	b.leaf_ns += a.off;
	b.off *= 2;
	row = leaf_row(&a, &b, &has_cpu);
	CHECK(row.reason == DIFF_WAIT && row.share > 80 && row.share <= 100);
}

/* One that waits and is called twice as often: what its calls work and what
 * they wait are told apart, each as a share of its own whole. Work has no
 * calls here but those. */
void test_diff_charges_calls_with_work_and_waits(void)
{
	struct program a = plain, b;

	a.has_cpu = true;
	a.off = 100 * a.leaf_ns;
	a.leaf_ns += a.off;
	b = a;
	b.leaves *= 2;

	struct session *const x = sessions_of(a, 1);
	struct session *const y = sessions_of(b, 1);
	struct diff *const d = diff_new(x, y);
	const double calls = 50 * 4;

	if (CHECK_EQ(d->count, 2)) {
		CHECK_EQ(d->rows[0].reason, DIFF_CALLED);
		CHECK(d->rows[0].added == calls * (double)plain.leaf_ns);
		CHECK(d->rows[0].share > 80 && d->rows[0].share < 100);
		CHECK_EQ(d->rows[1].reason, DIFF_MORE_WAITS);
		CHECK(d->rows[1].added == calls * (double)a.off);
		CHECK(d->rows[1].share > 90 && d->rows[1].share < 100);
	}
	diff_free(d);
	session_free(x);
	session_free(y);
}

/* As report, diff takes times off the CPU if they are known for nine tenths of
 * the time. */
void test_diff_needs_nine_tenths_of_switches(void)
{
	struct program a = plain, b;
	bool has_cpu = false;

	a.has_cpu = true;
	b = a;
	b.leaf_ns += 50;
	b.off += 50;
	CHECK_EQ(leaf_row(&a, &b, &has_cpu).reason, DIFF_WAIT);
	CHECK(has_cpu);
	b.unknown = 100;
	CHECK_EQ(leaf_row(&a, &b, &has_cpu).reason, DIFF_COST);
	CHECK(!has_cpu);
}

void test_diff_of_the_same_is_nothing(void)
{
	struct session *const a = sessions_of(plain, 3);
	struct diff *const d = diff_new(a, a);

	CHECK_EQ(d->count, 0);
	CHECK(d->time[0] > 0 && d->time[0] <= d->time[1]);
	diff_free(d);
	session_free(a);
}

/* host runs hot and warm, of which there are ticks alone, each of 10 us; hot
 * calls leaf. */
static struct session *sampled(uint64_t hot, uint64_t warm, uint64_t leaves)
{
	struct merge *const sum = merge_new();
	struct session *const s = sessions_new(NS_PER_S, "main");
	const node_id host = sessions_calls(s, cct_root(s->cct, 0),
		sessions_func(s, 1, 16, "host"), 1, 1000);
	const func_id lua[2] = { sessions_func(s, 1, 32, "hot"),
				 sessions_func(s, 1, 48, "warm") };
	const uint64_t times[2] = { hot, warm };

	for (int i = 0; i < 2; i++) {
		const node_id id = sessions_calls(s, host, lua[i], 0,
						  times[i] * 10000);

		func_get(s->funcs, lua[i])->noted = 1;
		cct_note(s->cct, id, times[i], times[i] * 10000);
		if (i == 0)
			sessions_calls(s, id, sessions_func(s, 1, 64, "leaf"),
				       leaves, leaves * 10000);
	}
	merge_add(sum, s);
	session_free(s);
	return merge_end(sum);
}

/* What it takes, with its error, by ticks; and calls from it are those of what
 * runs it. */
void test_diff_has_rows_of_sampled_functions(void)
{
	struct session *const a = sampled(100, 100, 40);
	struct session *const b = sampled(200, 110, 80);
	struct diff *const d = diff_new(a, b);

	if (CHECK_EQ(d->count, 3)) {
		CHECK_STR(func_get(b->funcs, d->rows[0].after)->name, "hot");
		CHECK_EQ(d->rows[0].reason, DIFF_SAMPLED);
		CHECK(d->rows[0].was == 1e6 && d->rows[0].added == 1e6);
		CHECK(d->rows[0].error > 173000 && d->rows[0].error < 173300);
		CHECK(d->rows[0].chance < 0);
		CHECK_STR(func_get(b->funcs, d->rows[1].after)->name, "leaf");
		CHECK_EQ(d->rows[1].reason, DIFF_CALLED);
		CHECK(d->rows[1].added == 40 * 10000);
		CHECK_STR(func_get(b->funcs, d->rows[1].caller_after)->name,
			  "host");
		CHECK_STR(func_get(b->funcs, d->rows[2].after)->name, "warm");
		CHECK(d->rows[2].chance > DIFF_CHANCE);
	}
	diff_free(d);
	session_free(a);
	session_free(b);
}

/* main calls poll, which calls check each time; by a reference, both took so
 * many us, each known to 1 us. */
static uint64_t off_us; /* poll had no core for so long besides */

static struct session *polled(uint64_t calls, uint64_t poll_us,
			      uint64_t check_us)
{
	struct merge *const sum = merge_new();
	struct session *const s = sessions_new(NS_PER_S, "main");
	node_id id;

	cct_collect_cpu(s->cct);
	cct_collect_samples(s->cct);
	id = sessions_calls(s, cct_root(s->cct, 0),
			    sessions_func(s, 1, 16, "main"), 1, 0);
	id = sessions_calls(s, id, sessions_func(s, 1, 32, "poll"), calls,
			    (poll_us + off_us) * 1000);
	cct_put_cpu(s->cct, id, (struct cct_cpu){
		.off = off_us * 1000, .ready = off_us * 1000 });
	cct_sampled_of(s->cct, id)->variance = 1000.0 * 1000;
	id = sessions_calls(s, id, sessions_func(s, 1, 48, "check"), calls,
			    check_us * 1000);
	cct_sampled_of(s->cct, id)->variance = 1000.0 * 1000;
	cct_set_net(s->cct, true);
	s->net.is_net = NET_REFERENCE;
	merge_add(sum, s);
	session_free(s);
	return merge_end(sum);
}

static void check_row(const struct diff_row *row, enum diff_reason reason,
		      double us, const char *words)
{
	CHECK_EQ(row->reason, reason);
	CHECK(fabs(row->added - 1000 * us) < 1);
	CHECK_STR(diff_reason_words(row), words);
}

/* Recorded, a loop polled nearly as often, as that took longer; unrecorded, it
 * ran half as long again. Its callee was called as often as it. */
void test_diff_does_not_divide_a_reference_by_calls_that_contradict_it(void)
{
	struct session *const a = polled(1000, 100, 50);
	struct session *const b = polled(1090, 150, 75);
	struct diff *const d = diff_new(a, b);

	if (CHECK_EQ(d->count, 2)) {
		check_row(&d->rows[0], DIFF_SAMPLED, 50,
			  "takes more in more calls");
		check_row(&d->rows[1], DIFF_SAMPLED, 25,
			  "takes more in more calls");
		CHECK(fabs(d->rows[0].error - 1000 * sqrt(2)) < 30);
	}
	CHECK(fabs(d->time[1] - d->time[0] - 75000) < 1);
	CHECK(fabs(d->error[0] - 1000 * sqrt(2)) < 1);
	diff_free(d);
	session_free(a);
	session_free(b);
}

/* Calls that explain what changed still do. */
void test_diff_divides_a_reference_by_calls_that_agree(void)
{
	struct session *const a = polled(1000, 100, 50);
	struct session *const twice = polled(2000, 201, 99);
	struct session *const slower = polled(1000, 100, 75);
	struct diff *d = diff_new(a, twice);

	if (CHECK(d->count > 0))
		check_row(&d->rows[0], DIFF_CALLED, 150, "called more");
	for (size_t i = 1; i < d->count; i++)
		CHECK(d->rows[i].chance > DIFF_CHANCE);
	diff_free(d);
	d = diff_new(a, slower);
	if (CHECK_EQ(d->count, 1)) {
		check_row(&d->rows[0], DIFF_COST, 25, "costs more a call");
		CHECK(fabs(d->rows[0].error - 1000 * sqrt(2)) < 30);
	}
	diff_free(d);
	session_free(a);
	session_free(twice);
	session_free(slower);
}

/* That sessions waited for a core for unequal times is no chance of theirs. */
void test_diff_knows_the_chance_of_what_calls_contradict(void)
{
	struct merge *const sums[] = { merge_new(), merge_new() };
	struct session *side[2];
	struct diff *d;

	for (uint64_t i = 0; i < 8; i++) {
		struct session *s;

		off_us = i * i * 7 % 5 * 200;
		s = polled(1000 + i % 2 * 90, 100 + i % 2 * 50 + i / 3, 50);
		merge_add(sums[i % 2], s);
		session_free(s);
	}
	off_us = 0;
	side[0] = merge_end(sums[0]);
	side[1] = merge_end(sums[1]);
	d = diff_new(side[0], side[1]);
	CHECK(d->has_cpu);
	if (CHECK(d->count > 0)) {
		CHECK_EQ(d->rows[0].reason, DIFF_SAMPLED);
		CHECK(d->rows[0].chance >= 0 &&
		      d->rows[0].chance < DIFF_CHANCE);
	}
	diff_free(d);
	session_free(side[0]);
	session_free(side[1]);
}

/* The error of a side is how much its sessions differ; of one, of samples. */
void test_diff_has_an_error_of_the_whole(void)
{
	struct merge *const sum = merge_new();
	struct session *const a = polled(1000, 100, 50);
	struct session *both;
	struct diff *d;

	for (uint64_t us = 100; us <= 130; us += 30) {
		struct session *const s = polled(1000, us, 50);

		merge_add(sum, s);
		session_free(s);
	}
	both = merge_end(sum);
	d = diff_new(a, both);
	CHECK(fabs(d->error[0] - 1000 * sqrt(2)) < 1);
	CHECK(fabs(d->error[1] - 15000) < 1);
	diff_free(d);
	session_free(a);
	session_free(both);
}

/* The session as a profile has it. */
static struct session *read_back(struct session *s)
{
	const struct profile_about about = { .comment_count = 0 };
	const char *const path = test_file("", 0);
	FILE *const file = fopen(path, "we");
	const bool is_written = file && profile_write(file, s, &about) == 0;

	if (file)
		fclose(file);
	return CHECK(is_written) ? profile_read(path) : NULL;
}

/* One more tick in ten is no change, from a trace or a profile. Where a side
 * does not have the ticks, the error is not known, instead of half of it. */
void test_diff_knows_errors_of_profiles(void)
{
	struct session *const before = sampled(100, 100, 40);
	struct session *const after = sampled(110, 110, 40);
	struct session *const a = read_back(before), *const b =
		read_back(after);
	struct session *const sides[][2] = {
		{ before, after }, { a, b }, { a, after }, { before, b } };

	REQUIRE(a && b);
	for (size_t i = 0; i < 8; i++) {
		struct diff *d;

		if (i == 4)
			for (node_id id = 1; id <= cct_count(a->cct); id++)
				cct_note(a->cct, id, -cct_counted_of(a->cct,
							id).noted, 0);
		d = diff_new(sides[i % 4][0], sides[i % 4][1]);
		if (CHECK_EQ(d->count, 2)) {
			const struct diff_row *const r = d->rows;
			const bool is_known = i < 5 || i == 7;

			CHECK_EQ(r->reason, DIFF_SAMPLED);
			CHECK(is_known ? r->error > 144000 && r->error < 145000
				       : r->error == 0);
			CHECK(is_known ? r->chance > DIFF_CHANCE
				       : r->chance < 0);
		}
		diff_free(d);
	}
	session_free(before);
	session_free(after);
	session_free(a);
	session_free(b);
}

/* A function of Lua: its file, its first line, and its name, "" for none. */
struct script { const char *source, *name; uint32_t line; };

static struct session *scripts(const struct script *list, func_id *ids)
{
	struct session *const s = sessions_new(NS_PER_S, "main");

	for (; list->source; list++)
		*ids++ = func_lua(s->funcs, &(struct func_origin){
			.source = list->source, .line = list->line,
			.stored = strlen(list->source),
			.length = strlen(list->source),
			.last_line = list->line ? list->line + 2 : 0 },
			list->name);
	return s;
}

/* want: for each function before, the number of its own after; -1: none. */
static void matched(const struct script *before, const struct script *after,
		    const int *want)
{
	func_id was[16], is[16];
	struct session *const sides[2] = { scripts(before, was),
					   scripts(after, is) };
	struct diff_matches m;

	diff_match_init(&m, sides);
	for (int i = 0; before[i].source; i++)
		CHECK_EQ(m.list[m.of[0][was[i]]].id[1],
			 want[i] < 0 ? 0 : is[want[i]]);
	diff_match_fini(&m);
	session_free(sides[0]);
	session_free(sides[1]);
}

/* Folders with a version: the more of two paths is the same, the sooner. Of two
 * functions of a name in one file, the first is the first. */
void test_diff_matches_lua_of_another_folder(void)
{
	matched((const struct script[]){
		{ "@/opt/shop-1.2/init.lua", "new", 5 },
		{ "@/opt/shop-1.2/cart/init.lua", "new", 9 },
		{ "@/opt/shop-1.2/cart/init.lua", "", 30 },
		{ "@/opt/shop-1.2/cart/init.lua", "", 0 },
		{ "@/opt/shop-1.2/price.lua", "twice", 20 },
		{ "@/opt/shop-1.2/price.lua", "twice", 10 },
		{ "@/usr/share/lua/init.lua", "new", 5 }, { 0 } },
		(const struct script[]){
		{ "@/opt/shop-1.3/cart/init.lua", "new", 19 },
		{ "@/usr/share/lua/init.lua", "new", 5 },
		{ "@/opt/shop-1.3/init.lua", "new", 5 },
		{ "@/opt/shop-1.3/price.lua", "twice", 20 },
		{ "@/opt/shop-1.3/price.lua", "twice", 30 },
		{ "@/opt/shop-1.3/cart/init.lua", "", 30 },
		{ "@/opt/shop-1.3/cart/init.lua", "", 0 }, { 0 } },
		(const int[]){ 2, 0, 5, 6, 4, 3, 1 });
}

/* Files without a common name: by name alone, if there is one of it. What a
 * file of both sides lacks did not run there. */
void test_diff_matches_lua_of_another_file(void)
{
	matched((const struct script[]){
		{ "@old.lua", "parse", 5 }, { "@old.lua", "", 0 },
		{ "@old.lua", "get", 15 }, { "@a.lua", "get", 1 },
		{ "@both.lua", "idle", 3 }, { "@both.lua", "run", 7 },
		{ "@old.lua", "", 40 }, { 0 } },
		(const struct script[]){
		{ "@new.lua", "parse", 9 }, { "@new.lua", "", 0 },
		{ "@new.lua", "get", 15 }, { "@b.lua", "get", 1 },
		{ "@new.lua", "idle", 3 }, { "@both.lua", "run", 8 },
		{ "@new.lua", "", 40 }, { 0 } },
		(const int[]){ 0, 1, -1, -1, -1, 5, -1 });
}

/* Whose is whose is not known: nobody's. */
void test_diff_does_not_match_what_is_ambiguous(void)
{
	matched((const struct script[]){
		{ "@x/a/init.lua", "new", 5 }, { "@x/b/init.lua", "new", 50 },
		{ "@x/list.lua", "each", 10 }, { "@x/list.lua", "each", 30 },
		{ 0 } },
		(const struct script[]){
		{ "@y/a/init.lua", "new", 6 }, { "@y/c/init.lua", "new", 60 },
		{ "@y/list.lua", "each", 20 }, { 0 } },
		(const int[]){ 0, -1, -1, -1 });
}

/* Lua functions under another name in the same place, and the only one without
 * a name on another line; of two without a name, nobody knows. */
void test_diff_matches_lua_of_another_name_or_line(void)
{
	matched((const struct script[]){
		{ "@a.lua", "load", 5 }, { "@a.lua", "", 10 },
		{ "@b.lua", "", 10 }, { "@b.lua", "", 20 },
		{ "@b.lua", "", 0 }, { 0 } },
		(const struct script[]){
		{ "@a.lua", "", 12 }, { "@a.lua", "read", 5 },
		{ "@b.lua", "", 30 }, { "@b.lua", "", 40 },
		{ "@b.lua", "", 0 }, { 0 } },
		(const int[]){ 1, 0, -1, -1, 4 });
}

/* One function for each name, in a build. */
static struct session *natives(uint8_t build, const char *const *names,
			       func_id *ids)
{
	struct session *const s = sessions_new(NS_PER_S, "main");

	for (uint64_t i = 0; names[i]; i++)
		ids[i] = sessions_func(s, build, 16 + 16 * i, names[i]);
	return s;
}

void test_diff_matches_templates_with_other_arguments(void)
{
	static const char *const before[] = {
		"Cache<4>::get(int)", "A<B<1>, (2)>::operator<<(char)",
		"List<1>::add()", "List<2>::add()", "Pair<int>::operator->()",
		"gone<1>()", "Set<3>::operator<(int) const", NULL };
	static const char *const after[] = {
		"Set<4>::operator<(int) const", "Pair<long>::operator->()",
		"A<B<2> >::operator<<(char)", "List<3>::add()",
		"Cache<8>::get(int)", "come<1>()", NULL };
	const int want[] = { 4, 2, -1, -1, 1, -1, 0 };
	func_id was[8], is[8];
	struct session *const sides[2] = { natives(1, before, was),
					   natives(9, after, is) };
	struct diff_matches m;

	diff_match_init(&m, sides);
	for (int i = 0; before[i]; i++)
		CHECK_EQ(m.list[m.of[0][was[i]]].id[1],
			 want[i] < 0 ? 0 : is[want[i]]);
	diff_match_fini(&m);
	session_free(sides[0]);
	session_free(sides[1]);
}

/* main serves so many requests, of which some are long: 1 ms each, with a
 * standard error of a tenth of that. */
static struct session *served(uint64_t requests, uint64_t longs)
{
	struct session *const s = sessions_new(NS_PER_S, "main");
	const node_id main = sessions_calls(s, cct_root(s->cct, 0),
		sessions_func(s, 1, 16, "main"), 1, 1000000);
	const node_id serve = sessions_calls(s, main,
		sessions_func(s, 1, 32, "serve"), requests, requests * 1000);
	const node_id at = sessions_calls(s, serve,
		sessions_func(s, 1, 48, "long"), longs, longs * 1000000);

	cct_collect_samples(s->cct);
	cct_set_net(s->cct, true);
	cct_sampled_of(s->cct, at)->variance = (double)(longs * longs) * 1e10;
	return s;
}

/* The row of calls of long between two single sessions. */
static struct diff_row long_row(uint64_t requests, uint64_t before,
				uint64_t requests_after, uint64_t after)
{
	struct session *const a = served(requests, before);
	struct session *const b = served(requests_after, after);
	struct diff *const d = diff_new(a, b);
	struct diff_row found = { .reason = DIFF_REASONS };

	for (size_t i = 0; i < d->count; i++)
		if (d->rows[i].reason == DIFF_CALLED &&
		    strcmp(func_get(b->funcs, d->rows[i].after)->name,
			   "long") == 0)
			found = d->rows[i];
	diff_free(d);
	session_free(a);
	session_free(b);
	return found;
}

/* One long call in 2000 requests and one in 1000 may be chance; not twice as
 * many of 400. Where each request has as many, or requests are the same, counts
 * are no chance: there the cost of a call alone is not exact. */
void test_diff_knows_the_error_of_calls(void)
{
	struct diff_row row = long_row(2000, 1, 1000, 1);

	CHECK(row.reason == DIFF_CALLED && row.chance > 0.5);
	CHECK(row.rate[0] == 1 / 2000.0 && row.rate[1] == 1 / 1000.0);
	row = long_row(2000, 400, 1000, 400);
	CHECK(row.chance < 0);
	CHECK(fabs(row.added - 200e6) < 1e3);
	CHECK(fabs(row.error - hypot(20e6, sqrt(400 + 400 / 4) * 1e6)) < 1e3);
	row = long_row(2000, 2000, 1000, 2000);
	CHECK(row.chance < 0 && fabs(row.error - 100e6) < 1e3);
	row = long_row(1000, 1, 1000, 2);
	CHECK(row.chance < 0 && fabs(row.error - 0.1e6) < 1e3);
}
