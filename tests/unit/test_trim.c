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
