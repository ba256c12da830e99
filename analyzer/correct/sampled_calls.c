/* sampled_calls.c - a node for each function in which samples lie and of which
 * no call was recorded. Who called it within that code is not known: all of
 * them are callees of the recorded function.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A node's self before anything was taken out of it. */
struct before {
	double tick_each;      /* ticks a period of its samples */
	double variance_each;
};

/* Net self may be less than its samples, where what calls cost weighs as much,
 * and more, where it holds time that could not be sampled. */
static struct before *look_at_nodes(struct session *s, double period)
{
	struct cct *const t = s->cct;
	struct before *const all = mem_alloc((cct_count(t) + 1) *
					     sizeof(*all));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_sampled *const of = cct_sampled_of(t, id);
		const uint64_t self = cct_get(t, id)->self;
		const uint64_t off = cct_cpu_of(t, id).off;
		const double ran = off < self ? (double)(self - off) : 0;
		const uint32_t samples = of->own + of->other;

		if (samples == 0)
			continue;
		all[id].tick_each = fmin(ran / samples, period);
		all[id].variance_each = fmin(of->variance / samples,
					     period * period);
	}
	return all;
}

/* Code without a name, of nobody knows which callee. */
static func_id module_at(struct session *s, const struct code_place *p)
{
	const char *path, *base;
	char name[256];

	if (p->module == 0)
		return !counted_calls_are_all(s) ? 0 :
		       func_special(s->funcs, "[elsewhere] [sampled]");
	path = func_elf(s->funcs, p->module)->path;
	base = strrchr(path, '/');
	snprintf(name, sizeof(name), "[%.200s] [sampled]",
		 base ? base + 1 : path);
	return func_special(s->funcs, name);
}

func_id sampled_calls_func(struct session *s, const struct code_place *p,
			   struct arena *names)
{
	struct func *f;
	func_id id;

	if (p->module == 0)
		return p->offset > 0 ? 0 :
		       func_special(s->funcs, "[kernel] [sampled]");
	if (!p->name)
		return 0;
	id = func_native(s->funcs, p->module, p->begin);
	f = func_get(s->funcs, id);
	if (f->name[0] == '\0')
		f->name = arena_print(names, "%.1000s [sampled]", p->name);
	return id;
}

/* Take n periods out of the node's self and give them to its callee. */
static node_id move(struct cct *t, node_id from, func_id func, uint32_t n,
		    struct before before)
{
	const node_id id = cct_child(t, from, func, 0);
	struct cct_node *const node = cct_get(t, from);
	struct cct_sampled *const caller = cct_sampled_of(t, from);
	struct cct_sampled *const callee = cct_sampled_of(t, id);
	const double variance = n * before.variance_each;
	uint64_t took = (uint64_t)(n * before.tick_each);

	if (id == from)
		return id;
	if (took > node->self)
		took = node->self;
	node->self -= took;
	cct_get(t, id)->self += took;
	caller->variance = fmax(caller->variance - variance, 0);
	callee->variance += variance;
	caller->other -= n;
	callee->other += n;
	return id;
}

/* May calls without records lie between the sample's node and its code? A Lua
 * function has its own time in the code of Lua's library. */
static bool is_loose(const struct session *s, const struct cct_sample *at,
		     const uint8_t *marks)
{
	const func_id func = cct_get(s->cct, at->node)->func;

	return counted_calls_are_all(s) ||
	       (at->hides && marks && marks[func] != 0 &&
		func_get(s->funcs, func)->kind != FUNC_LUA);
}

/* What gets the sample's time; 0: its node keeps it. */
static func_id owner_of(struct session *s, const struct cct_sample *at,
			bool is_loose, struct arena *names)
{
	const struct code_place *const p = &s->places[at->place];
	const func_id func = p->kind != PLACE_OTHER ? 0 :
			     sampled_calls_func(s, p, names);

	return func || p->kind != PLACE_OTHER || !is_loose ? func :
	       module_at(s, p);
}

void sampled_calls_add(struct session *s, struct arena *names, bool all)
{
	struct cct *const t = s->cct;
	uint8_t *marks;
	struct before *before;

	if (!(s->net.is_net & (NET_SAMPLED | NET_REFERENCE)))
		return;
	before = look_at_nodes(s, (double)s->net.period *
			       (double)s->tick_hz / 1e9);
	marks = counted_calls_mark(s);
	for (size_t i = 0; i < cct_sample_count(t); i++) {
		struct cct_sample *const at = cct_sample_get(t, i);
		const uint32_t n = (uint32_t)((at->period + s->net.period / 2) /
					      s->net.period);
		const bool loose = is_loose(s, at, marks);
		const func_id to = !all && !loose ? 0 :
				   owner_of(s, at, loose, names);

		if (to && at->worth > 0)
			at->node = move(t, at->node, to, 1, (struct before){
				at->worth, (double)at->worth * at->worth });
		else if (to)
			at->node = move(t, at->node, to, n, before[at->node]);
	}
	mem_free_all(marks, before);
	cct_link_samples(t);
}
