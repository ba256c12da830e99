/* hot_path_tree.c - the hot_path path through a call's tree.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/hot_path_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

static ticks time_of(const struct hot_path *in, node_id id, enum slow_key key)
{
	switch (key) {
	case SLOW_WALL:
		return in->total[id] + in->suspended[id];
	case SLOW_SUSPENDED:
		return in->suspended[id];
	case SLOW_TOTAL:
	case SLOW_SELF:
		break;
	}
	return in->total[id];
}

static node_id next(const struct hot_path *in, node_id id, enum slow_key key)
{
	node_id best = 0, child = cct_get(in->tree, id)->child;

	for (; child != 0; child = cct_get(in->tree, child)->sibling)
		if (best == 0 || time_of(in, child, key) >
				 time_of(in, best, key))
			best = child;
	return best;
}

struct hot_path_step *hot_path_steps(struct hot_path *in, size_t call,
				enum slow_key key, size_t *count)
{
	struct hot_path_step *steps = NULL;
	const size_t nodes = cct_count(in->tree) + 1;
	node_id id = in->root[call];
	size_t room = 0;
	ticks all;

	if (!in->total) {
		in->total = mem_alloc(nodes * sizeof(*in->total));
		in->suspended = mem_alloc(nodes * sizeof(*in->suspended));
		cct_totals(in->tree, in->total, in->suspended);
	}
	all = time_of(in, id, key);
	for (*count = 0; (id = next(in, id, key)) != 0; (*count)++) {
		const struct cct_node *const n = cct_get(in->tree, id);

		if (time_of(in, id, key) == 0 ||
		    time_of(in, id, key) < all / 10)
			break;
		vec_need(&steps, &room, *count + 1);
		steps[*count] = (struct hot_path_step){ n->func,
			(n->flags & CCT_BODY) != 0, n->calls, in->total[id],
			in->suspended[id] };
	}
	return steps;
}
