/* noted.c - the time of what sampled VMs noted. The recorded call below which a
 * Lua function stands has its time, as it had no record; as much of that as was
 * noted becomes the Lua function's. A reference says how much of it is Lua's.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <math.h>
#include <string.h>

/* The nodes of whose calls nothing is known, and whose time is their owner's,
 * the nearest node above that is not one of them. */
struct owners {
	node_id *of;             /* by node; itself: it is its own */
	struct owner {
		double noted;    /* ns, below it, in all */
		double ran;      /* ticks; their errors, and by notes that of
		                  * what it gave */
		double variance, divided, chance;
		double has, lua; /* of ran: most, and least, that are Lua's */
		double gave;     /* of ran: the part */
	} *at;                   /* by owner */
};

static bool is_noted(struct cct *t, node_id id)
{
	return (cct_get(t, id)->flags & CCT_NOTED) != 0;
}

/* Code of the library of Lua, by its names or by its file's. */
static bool is_lua(const struct session *s, const struct code_place *p)
{
	const char *const path = p->module ?
		func_elf(s->funcs, p->module)->path : "";
	const char *const base = strrchr(path, '/');

	return p->kind == PLACE_OTHER &&
	       (strncmp(base ? base + 1 : path, "liblua", 6) == 0 ||
		(p->name && (strncmp(p->name, "lj_", 3) == 0 ||
			     strncmp(p->name, "lua_", 4) == 0 ||
			     (strncmp(p->name, "lua", 3) == 0 &&
			      p->name[3] != '\0' && p->name[4] == '_'))));
}

/* What a reference says that owners ran of other code: that is all they give,
 * and what is Lua's of it is not theirs. */
static void add_reference(struct session *s, struct owners *o)
{
	struct cct *const t = s->cct;
	const double compiled = s->reference.compiled * s->reference.scale *
				(double)s->tick_hz / 1e9;
	const double all = (double)cct_counted_sum(t).noted_ns;

	for (node_id id = 1; id <= cct_count(t); id++) {
		struct owner *const at = &o->at[id];
		const double worth = compiled * at->noted / all;

		at->has = at->lua = worth;
		at->ran += worth;
		cct_get(t, id)->self += (uint64_t)worth;
		at->variance += worth > 0 ? worth * worth *
			s->reference.ns / s->reference.compiled /
			(double)s->reference.samples : 0;
	}
	for (size_t i = 0; i < cct_sample_count(t); i++) {
		const struct cct_sample *const of = cct_sample_get(t, i);

		o->at[of->node].has += of->worth;
		if (is_lua(s, &s->places[of->place]))
			o->at[of->node].lua += of->worth;
	}
}

static struct owners find_owners(struct session *s)
{
	struct cct *const t = s->cct;
	const size_t n = cct_count(t) + 1;
	struct owners o = { mem_alloc(n * sizeof(*o.of)),
			    mem_alloc(n * sizeof(*o.at)) };

	for (node_id id = 1; id < n; id++) {
		const struct cct_sampled *const of = cct_sampled_of(t, id);
		const uint64_t self = cct_get(t, id)->self;
		const uint64_t off = cct_cpu_of(t, id).off;

		o.of[id] = is_noted(t, id) ? o.of[cct_get(t, id)->parent] : id;
		o.at[o.of[id]].noted += (double)cct_counted_of(t, id).noted_ns;
		o.at[id].ran = self > off ? (double)(self - off) : 0;
		o.at[id].has = o.at[id].ran;
		o.at[id].variance = of ? of->variance : 0;
		o.at[id].divided = of ? cct_division_variance(&of->division) :
					0;
	}
	if (s->net.is_net & NET_REFERENCE)
		add_reference(s, &o);
	return o;
}

/* Part of the owner's times become the node's, with their part of its error.
 * The number of notes is as uncertain as its root. */
static void give(struct cct *t, struct owner *owner, node_id from, node_id id,
		 double took)
{
	struct cct_sampled *const of = cct_sampled_of(t, from);
	struct cct_sampled *const to = cct_sampled_of(t, id);
	const double each = took / (double)cct_counted_of(t, id).noted;
	const uint64_t self = cct_get(t, from)->self;
	const double part = owner->ran > 0 ? took / owner->ran : 0;
	uint64_t raw;

	if (took > (double)self)
		took = (double)self;
	if (of && self > 0) {
		raw = (uint64_t)((double)of->raw * took / (double)self);
		of->raw -= raw;
		to->raw += raw;
		to->variance += each * took + part * part *
				(owner->variance + owner->divided);
		owner->chance += each * took;
	}
	owner->gave += part;
	cct_move_self(t, from, id, (uint64_t)took);
}

/* How much of what was noted below it an owner gives. */
static double part_of(const struct owner *o, double rate)
{
	const double noted = o->noted * rate;

	return fmax(fmin(noted, o->has), o->lua) / noted;
}

/* What an owner keeps is a difference: what it gave is not exact. */
static void keep(struct cct *t, const struct owner *o, node_id id)
{
	struct cct_sampled *const of = cct_sampled_of(t, id);
	const double part = fmax(1 - o->gave, 0);

	if (!of || o->gave == 0)
		return;
	of->variance = part * part * o->variance + o->chance;
	of->division.doubt *= part * part;
	of->division.cross *= part;
	of->division.share *= part;
}

void noted_apply(struct session *s)
{
	struct cct *const t = s->cct;
	const double rate = (double)s->tick_hz / 1e9;
	struct owners o;

	for (node_id id = 1; id <= cct_count(t); id++)
		if (is_noted(t, id))
			func_get(s->funcs, cct_get(t, id)->func)->noted = 1;
	if (cct_counted_sum(t).noted_ns == 0)
		return;
	o = find_owners(s);
	for (node_id id = 1; id <= cct_count(t); id++) {
		const node_id owner = o.of[id];

		if (owner > 0 && owner != id &&
		    cct_counted_of(t, id).noted_ns > 0)
			give(t, &o.at[owner], owner, id, rate *
			     part_of(&o.at[owner], rate) *
			     (double)cct_counted_of(t, id).noted_ns);
	}
	for (node_id id = 1; id <= cct_count(t); id++)
		keep(t, &o.at[id], id);
	mem_free_all(o.of, o.at);
}
