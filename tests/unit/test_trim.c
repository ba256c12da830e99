/* test_trim.c - which functions a recording could do without.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/trim.h"
#include "analyzer/model/cct.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

/* A call in which no tick passed is the shortest there is: nothing is taken off
 * the others, whichever comes first. */
void test_trim_takes_off_the_shortest_call_also_of_no_ticks(void)
{
	static const struct trim_options all = { 1e9, 0 };

	for (int first = 0; first < 2; first++) {
		struct session *const s = session_new(0);
		const node_id r = cct_root(s->cct, 0);
		const char *const name[] = { "f", "g" };
		struct trim *t;

		for (int i = 0; i < 2; i++) {
			const node_id n = sessions_node(s, r,
							name[i ^ first], 0, 2,
							50, 0);

			cct_time(s->cct, n, (i ^ first) == 0 ? 0 : 20);
			cct_time(s->cct, n, (i ^ first) == 0 ? 50 : 30);
		}
		t = trim_new(s, &all);
		CHECK_EQ(t->cost[0], 0);
		CHECK_EQ(t->all_net, 100);
		trim_free(t);
		session_free(s);
	}
}

static void made_call(struct session *s, const char *name, uint64_t calls,
		      ticks self)
{
	static uint64_t offset;

	sessions_calls(s, cct_root(s->cct, 0),
		       sessions_func(s, 1, offset += 64, name), calls, self);
}

/* What trim_choose_gcc makes of a function, by its name. */
static enum trim_gcc choice_of(const struct trim *t, const char *name)
{
	for (size_t i = 0; i < t->count + t->kept_count; i++) {
		const struct trim_row *const r = i < t->count ? &t->rows[i] :
			&t->kept[i - t->count];

		if (!strcmp(func_get(t->session->funcs, r->f.func)->name, name))
			return r->gcc;
	}
	return (enum trim_gcc)-1;
}

/* gcc finds a name in others': they may go with it if they took little time,
 * all of them together, and if it is sure that gcc finds it there. */
void test_trim_lets_little_go_with_a_name_for_gcc(void)
{
	static const struct trim_options often = { 1e9, 0.01 };
	static const struct {
		const char *name;
		uint64_t calls;
		ticks self;
		enum trim_gcc gcc;
	} made[] = {
		{ "get", 2000, 2000, TRIM_LISTED },
		{ "get_all", 1, 30, TRIM_FOUND },
		{ "get_value", 2000, 2000, TRIM_FOUND },
		{ "step", 2000, 2000, TRIM_COSTLY },
		{ "step_over", 1, 900, TRIM_STAYS },
		/* after get_all and nearest, it is too much */
		{ "put", 1000, 2000, TRIM_COSTLY },
		{ "put_all", 1, 80, TRIM_STAYS },
		/* gcc does not write the template's values */
		{ "turn(int)", 2000, 2000, TRIM_COSTLY },
		{ "long pair<turned>::add(int)", 1, 0, TRIM_STAYS },
		{ "(anonymous namespace)::near(int)", 2000, 2000, TRIM_LISTED },
		{ "(anonymous namespace)::nearest(int)", 1, 20, TRIM_FOUND },
		{ "gear::operator()(int)", 2000, 2000, TRIM_UNNAMED },
		{ "work", 1, 8000, TRIM_STAYS },
	};
	struct session *const s = sessions_new(1000000000, "t");
	struct trim *t;

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		made_call(s, made[i].name, made[i].calls, made[i].self);
	t = trim_new(s, &often);
	CHECK_EQ(t->kept_count, 6);
	t->all_net = 10000; /* 1% of it is 100 */
	trim_choose_gcc(t, 0.01);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		CHECK_EQ(choice_of(t, made[i].name), made[i].gcc);
	trim_free(t);
	session_free(s);
}
