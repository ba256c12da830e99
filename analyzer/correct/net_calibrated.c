/* net_calibrated.c - takes a constant off for each call. It is the same for all
 * functions, though what a hook costs depends on the code around it, so that
 * the error is larger than the constant.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include "tracepoints/chunk.h"

#include <math.h>
#include <stdlib.h>

/* No machine needs more for the hooks of a native call, ns. */
#define COST_MOST 10000.0

/* Parts of what a function's calls should have cost, by programs that know
 * their times (docs/times.md). All hooks together may cost so much more or
 * less, one standard deviation. And hooks read the clock before work around
 * them is done, so that time moves between caller and callee, by more than the
 * hooks take. */
#define MISFIT 0.3
#define MISPLACED 2.0

/* To count a call costs so much of what its records do (docs/decisions.md,
 * "A budget is kept by the recorder"). */
#define COUNTED 0.5

/* What a Lua call costs beside a native one, in it and in its caller: Lua calls
 * the hook through code of its own. It is measured where there are programs
 * that know their times, not where the recording was made. */
struct lua_cost { uint32_t abi; double received, made; };

static const struct lua_cost lua_costs[] = {
	{ VM_LUA51, 2.6, 3.6 }, { VM_LUA52, 1.9, 3.3 },
	{ VM_LUA53, 1.3, 2.1 }, { VM_LUA54, 1.6, 2.5 },
	{ VM_LUAJIT, 3.9, 4.7 },
};
enum { LUA_COSTS = sizeof(lua_costs) / sizeof(lua_costs[0]) };

/* Of the session's Lua states, on average; of all versions, if there is none
 * that is known. */
static struct lua_cost lua_cost_of(const struct session *s)
{
	struct lua_cost sum = { 0 }, all = { 0 };
	double n = 0;

	for (int i = 0; i < LUA_COSTS; i++) {
		all.received += lua_costs[i].received / (double)LUA_COSTS;
		all.made += lua_costs[i].made / (double)LUA_COSTS;
		for (size_t k = 0; k < s->vm_count; k++) {
			if (s->vms[k].abi != lua_costs[i].abi)
				continue;
			sum.received += lua_costs[i].received;
			sum.made += lua_costs[i].made;
			n++;
		}
	}
	return n == 0 ? all :
	       (struct lua_cost){ 0, sum.received / n, sum.made / n };
}

bool net_calibrated_cost(const struct session *s, struct call_cost *c)
{
	const char *const note = session_note(s, "cost.native");
	const struct lua_cost lua = lua_cost_of(s);
	char *end;
	double cost, spread;

	if (!note)
		return false;
	cost = strtod(note, &end);
	spread = strtod(end, NULL);
	if (!(cost > 0 && cost < COST_MOST && spread >= 0 && spread < cost))
		return false;
	*c = (struct call_cost){ cost, hypot(cost * MISFIT, spread),
				 cost * COUNTED, cost / 2 * lua.received,
				 cost / 2 * lua.made };
	return true;
}

/* A normal distribution of which only the part above 0 is possible: its mean
 * and variance. */
static void cut_at_zero(double *mean, double *variance)
{
	const double sigma = sqrt(*variance), x = *mean / sigma;
	const double above = 0.5 * erfc(-x / sqrt(2));
	const double h = exp(-x * x / 2) / sqrt(2 * 3.14159265358979) / above;

	if (x > 6)
		return;
	if (x < -6) {
		*mean = sigma / -x;
		*variance = *mean * *mean;
		return;
	}
	*mean = sigma * (x + h);
	*variance *= 1 - x * h - h * h;
}

/* All in ticks. */
struct node { double known, cost; };
struct function {
	double known, cost;    /* time on the CPU; what calls cost of it */
	double left;           /* of its nodes, where it costs less than all */
	double net;
	double edge, rough;    /* its standard errors: by its calls, and by
	                        * interrupts and the like */
};

struct work {
	struct session *s;
	struct node *node;
	struct function *function;
	double native, received, made; /* ticks of a call's one end: native,
	                                * Lua's */
};

/* Lua tells of what its functions call, and of who calls them. A counted call
 * has no clock in it: all of its cost is its caller's. */
static void add_calls(struct work *w, node_id id)
{
	struct cct *const t = w->s->cct;
	const struct cct_node *const n = cct_get(t, id);
	const struct cct_node *const caller = cct_get(t, n->parent);
	const uint64_t untimed = cct_counted_of(t, id).untimed;
	const double calls = (double)(n->calls - untimed);
	const bool is_lua =
		func_get(w->s->funcs, n->func)->kind == FUNC_LUA ||
		func_get(w->s->funcs, caller->func)->kind == FUNC_LUA;
	const double received = is_lua ? w->received : w->native;
	const double made = is_lua ? w->made : w->native;

	w->node[id].cost += received * calls;
	w->node[n->parent].cost += made * calls +
				   COUNTED * (received + made) *
				   (double)untimed;
}

static double left_of(const struct node *n)
{
	return fmax(n->known - n->cost, n->known / 100);
}

static void add_nodes(struct work *w)
{
	struct cct *const t = w->s->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const uint64_t self = cct_get(t, id)->self;
		const uint64_t off = cct_cpu_of(t, id).off;

		w->node[id].known = off < self ? (double)(self - off) : 0;
		w->s->net.raw += (ticks)w->node[id].known;
		if (cct_get(t, id)->parent)
			add_calls(w, id);
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct node *const n = &w->node[id];
		struct function *const f =
			&w->function[cct_get(t, id)->func];

		f->known += n->known;
		f->cost += n->cost;
		f->left += left_of(n);
	}
}

/* Raw times are right to 1 % beside the probes: interrupts, and the like. */
static void estimate(struct function *f)
{
	const double wild = MISFIT * f->cost;
	double variance;

	f->rough = 0.01 * f->known;
	f->edge = MISPLACED * f->cost;
	if (f->known <= 0)
		return;
	f->net = f->known - f->cost;
	variance = wild * wild + f->rough * f->rough;
	cut_at_zero(&f->net, &variance);
}

/* A function's nodes add up to it, but none is more than was recorded. A node's
 * error is by its own calls and its own time. */
static void divide(const struct work *w, node_id id)
{
	struct cct *const t = w->s->cct;
	struct cct_node *const n = cct_get(t, id);
	const struct function *const f = &w->function[n->func];
	const double part = f->left > 0 ? left_of(&w->node[id]) / f->left : 0;
	const double cost = f->cost > 0 ? w->node[id].cost / f->cost : 0;
	const double known = f->known > 0 ? w->node[id].known / f->known : 0;
	struct cct_sampled *const of = cct_sampled_of(t, id);
	struct cct_cpu cpu = cct_cpu_of(t, id);
	const uint64_t off = cpu.off < n->self ? cpu.off : n->self;

	of->raw = n->self;
	of->variance = f->edge * f->edge * cost + f->rough * f->rough * known;
	n->self = off + (uint64_t)fmin(f->net * part + 0.5,
				       w->node[id].known);
	if (!cct_has_cpu(t))
		return;
	if (cpu.off + cpu.unknown > n->self)
		cpu.unknown = n->self > cpu.off ? n->self - cpu.off : 0;
	cct_put_cpu(t, id, cpu);
}

bool net_calibrated_apply(struct session *s)
{
	const double ns = (double)s->tick_hz / 1e9;
	struct cct *const t = s->cct;
	struct work w = { .s = s };
	struct call_cost cost;

	if (!net_calibrated_cost(s, &cost))
		return false;
	w.native = cost.native / 2 * ns;
	w.received = cost.lua_received * ns;
	w.made = cost.lua_made * ns;
	s->net.raw = 0;
	w.node = mem_alloc((cct_count(t) + 1) * sizeof(*w.node));
	w.function = mem_alloc((func_count(s->funcs) + 1) *
			       sizeof(*w.function));
	cct_collect_samples(t);
	add_nodes(&w);
	for (func_id id = 0; id <= func_count(s->funcs); id++)
		estimate(&w.function[id]);
	for (node_id id = 1; id <= cct_count(t); id++)
		divide(&w, id);
	mem_free_all(w.node, w.function);
	cct_set_net(t, true);
	return true;
}
