/* noted.c - the time of what sampled VMs noted. The recorded call below which a
 * Lua function stands has its time, as it had no record; as much of that as was
 * noted becomes the Lua function's.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <math.h>

/* The nodes of whose calls nothing is known, and whose time is their owner's,
 * the nearest node above that is not one of them. */
struct owners {
	node_id *of;             /* by node; itself: it is its own */
	double *ns;              /* by owner: noted below it, in all */
	uint64_t *ran;           /* by owner: ticks that it has to give */
};

static bool is_noted(struct cct *t, node_id id)
{
	return (cct_get(t, id)->flags & CCT_NOTED) != 0;
}

static struct owners find_owners(struct cct *t)
{
	const size_t n = cct_count(t) + 1;
	struct owners o = { mem_alloc(n * sizeof(*o.of)),
			    mem_alloc(n * sizeof(*o.ns)),
			    mem_alloc(n * sizeof(*o.ran)) };

	for (node_id id = 1; id < n; id++) {
		const uint64_t self = cct_get(t, id)->self;
		const uint64_t off = cct_cpu_of(t, id).off;

		o.of[id] = is_noted(t, id) ? o.of[cct_get(t, id)->parent] : id;
		o.ns[o.of[id]] += (double)cct_counted_of(t, id).noted_ns;
		o.ran[id] = self > off ? self - off : 0;
	}
	return o;
}

/* Part of the owner's times become the node's. The number of samples is as
 * uncertain as its root. */
static void give(struct cct *t, node_id owner, node_id id, double took)
{
	struct cct_sampled *const from = cct_sampled_of(t, owner);
	struct cct_sampled *const to = cct_sampled_of(t, id);
	const uint64_t self = cct_get(t, owner)->self;
	const double each = took / (double)cct_counted_of(t, id).noted;
	uint64_t raw;

	if (took > (double)self)
		took = (double)self;
	if (from && self > 0) {
		raw = (uint64_t)((double)from->raw * took / (double)self);
		from->raw -= raw;
		to->raw += raw;
		to->variance += each * took;
		from->variance = fmax(from->variance - each * took, 0);
	}
	cct_move_self(t, owner, id, (uint64_t)took);
}

void noted_apply(struct session *s)
{
	struct cct *const t = s->cct;
	const double rate = (double)s->tick_hz / 1e9;
	struct owners o;

	if (cct_counted_sum(t).noted == 0)
		return;
	o = find_owners(t);
	for (node_id id = 1; id <= cct_count(t); id++) {
		const node_id owner = o.of[id];
		const double all = o.ns[owner] * rate;
		const double part = all > (double)o.ran[owner] ?
				    (double)o.ran[owner] / all : 1;

		if (owner == id)
			continue;
		func_get(s->funcs, cct_get(t, id)->func)->noted = 1;
		if (owner > 0 && cct_counted_of(t, id).noted > 0)
			give(t, owner, id, part * rate *
			     (double)cct_counted_of(t, id).noted_ns);
	}
	mem_free_all(o.of, o.ns, o.ran);
}
