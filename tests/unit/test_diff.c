/* test_diff.c - planted changes between made-up sessions: the right function,
 * the right reason, the right figure.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge.h"
#include "analyzer/merge/diff.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

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
};

static void add(struct merge *sum, const struct program *p)
{
	struct session *const s = sessions_new(NS_PER_S, "main");
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
		sessions_calls(s, w, leaf, p->works * p->leaves,
			       p->works * p->leaves * p->leaf_ns);
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
		add(sum, &p);
	}
	return merge_end(sum);
}

static const struct program plain = { 1, 64, 50, 4, 200, 0, 30, 0 };

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

void test_diff_of_the_same_is_nothing(void)
{
	struct session *const a = sessions_of(plain, 3);
	struct diff *const d = diff_new(a, a);

	CHECK_EQ(d->count, 0);
	CHECK(d->before > 0 && d->before <= d->after);
	diff_free(d);
	session_free(a);
}
