/* noted.c - the time of what sampled VMs noted. The recorded call below which a
 * Lua function stands has its time, as it had no record; as much of that as was
 * noted becomes the Lua function's. Samples and a reference say how much of it
 * is Lua's, noted or not.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <math.h>
#include <string.h>

/* The nodes of whose calls nothing is known, and whose time is their owner's,
 * the nearest node above that is not one of them. */
struct owners {
	node_id *of;             /* by node; itself: it is its own */
	uint8_t *runs;           /* by func_id: Lua runs below it */
	struct owner {
		double noted;    /* ticks, below it, in all */
		double ran;      /* ticks; their errors, and by notes that of
		                  * what it gave */
		double variance, divided, chance;
		double vm, other; /* of ran: in PLACE_LUA, and in code that
		                  * both Lua and the owner may have called */
		double samples;  /* that say so */
		double compiled; /* ns of these in code that Lua compiled */
		node_id rest;    /* what is Lua's and in no note; 0: none */
		double lua;      /* of ran: what is not the owner's own. Of
		                  * that: what Lua functions get by notes */
		double gives;
		double doubt;    /* variance of lua, but for notes */
	} *at;                   /* by owner */
};

static bool is_noted(struct cct *t, node_id id)
{
	return (cct_get(t, id)->flags & CCT_NOTED) != 0;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* By its names or by its file's. */
static bool is_lua_library(const struct session *s,
			   const struct code_place *p)
{
	const char *const path = p->module ?
		func_elf(s->funcs, p->module)->path : "";
	const char *const base = strrchr(path, '/');
	const char *const file = base ? base + 1 : path;

	if (func_elf_is_lua(s->funcs, p->module) &&
	    (!p->name || begins(file, "lib")))
		return true;
	if (!p->name)
		return false;
	return begins(p->name, "lj_") ||
	       (begins(p->name, "lua") && p->name[3] != '\0' &&
		p->name[4] == '_');
}

/* What C code calls as well. */
static bool is_api(const struct code_place *p)
{
	return p->name && (begins(p->name, "lua_") || begins(p->name, "luaL_"));
}

/* The kernel's vdso lies above the stack, in no file either. */
static bool is_compiled(const struct code_place *p)
{
	const uint64_t vdso = UINT64_C(0x7ff800000000);

	return p->module == 0 && p->offset != 0 && p->offset < vdso;
}

/* Find the code that a function which runs Lua has not called itself. */
static void find_places(struct session *s)
{
	bool has_compiler = false;

	for (size_t i = 0; i < s->vm_count; i++)
		has_compiler |= s->vms[i].abi == VM_LUAJIT;
	for (size_t i = 0; i < s->place_count; i++) {
		struct code_place *const p = &s->places[i];

		if (p->kind == PLACE_OTHER && !is_api(p) &&
		    (is_lua_library(s, p) || (has_compiler && is_compiled(p))))
			p->kind = PLACE_LUA;
	}
}

/* What a reference says that owners ran of other code: that is all they give,
 * and what is Lua's of it is not theirs. Compiled code is where samples of the
 * recording met it, or else by notes. */
static void add_reference(struct session *s, struct owners *o)
{
	struct cct *const t = s->cct;
	const struct reference *const r = &s->reference;
	const double rate = (double)s->tick_hz / 1e9;
	const double one = r->ns / (double)r->samples * r->scale * rate;
	const double compiled = r->compiled * r->scale * rate;
	double all = 0, noted = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		all += o->at[id].compiled;
		noted += o->at[id].noted;
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		struct owner *const at = &o->at[id];
		const double worth = all > 0 ? compiled * at->compiled / all :
				     noted > 0 ? compiled * at->noted / noted :
				     0;

		at->vm = worth;
		at->other = 0;
		at->ran += worth;
		cct_get(t, id)->self += (uint64_t)worth;
		at->variance += worth > 0 ? worth * worth *
			r->ns / r->compiled / (double)r->samples : 0;
		at->samples = at->ran / one;
	}
	for (size_t i = 0; i < cct_sample_count(t); i++) {
		const struct cct_sample *const of = cct_sample_get(t, i);
		const struct code_place *const p = &s->places[of->place];
		struct owner *const at = &o->at[of->node];

		*(p->kind == PLACE_LUA ||
		  (at->noted > 0 && is_api(p) && is_lua_library(s, p)) ?
		  &at->vm : &at->other) += of->worth;
	}
}

/* What the recording's samples say. Lua's code is a Lua function's own, where
 * its calls are recorded. */
static void add_samples(struct session *s, struct owners *o)
{
	struct cct *const t = s->cct;

	for (size_t i = 0; i < cct_sample_count(t); i++) {
		const struct cct_sample *const of = cct_sample_get(t, i);
		const func_id func = cct_get(t, of->node)->func;

		if (s->places[of->place].kind == PLACE_LUA &&
		    func_get(s->funcs, func)->kind != FUNC_LUA) {
			o->at[of->node].vm += of->period;
			o->at[of->node].compiled +=
				s->places[of->place].module ? 0 : of->period;
			o->runs[func] = 1;
		}
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_sampled *const of = cct_sampled_of(t, id);
		struct owner *const at = &o->at[id];
		double one;

		at->samples = of ? of->own + of->other : 0;
		at->other = at->ran;
		if (at->samples == 0)
			continue;
		one = at->ran / at->samples;
		at->vm = fmin(at->vm / (double)s->net.period, of->other) *
			 one;
		at->other = of->other * one - at->vm;
	}
}

static void find_owner(struct session *s, struct owners *o, node_id id)
{
	struct cct *const t = s->cct;
	const struct cct_sampled *const of = cct_sampled_of(t, id);
	const uint64_t self = cct_get(t, id)->self;
	const uint64_t off = cct_cpu_of(t, id).off;
	struct owner *const at = &o->at[id];
	struct cct_division given = { .all = 0 };

	o->of[id] = is_noted(t, id) ? o->of[cct_get(t, id)->parent] : id;
	if (o->of[id] != id)
		o->runs[cct_get(t, o->of[id])->func] = 1;
	o->at[o->of[id]].noted += (double)cct_counted_of(t, id).noted_ns *
				  (double)s->tick_hz / 1e9;
	at->ran = self > off ? (double)(self - off) : 0;
	at->variance = of ? of->variance : 0;
	if (!of)
		return;
	cct_division_add_given(&given, t, id);
	at->divided = cct_division_variance(&of->division) +
		      cct_division_variance(&given);
}

static struct owners find_owners(struct session *s)
{
	const size_t n = cct_count(s->cct) + 1;
	struct owners o = { mem_alloc(n * sizeof(*o.of)),
			    mem_alloc(func_count(s->funcs) + 1),
			    mem_alloc(n * sizeof(*o.at)) };

	for (node_id id = 1; id < n; id++)
		find_owner(s, &o, id);
	add_samples(s, &o);
	if (s->net.is_net & NET_REFERENCE)
		add_reference(s, &o);
	return o;
}

/* How much of what an owner ran is Lua's. Samples tell, but for code that may
 * be of either side: notes show the least of that, and it is divided as the
 * rest is. The error reaches from one end to the other. Without samples, all
 * code may be of either side, and is the owner's. */
static void split(struct owner *o, bool is_reference)
{
	const double one = o->samples > 0 ? o->ran / o->samples : 1;
	const double own = fmax(o->ran - o->vm - o->other, 0);
	const double by_notes = fmin(fmax(o->noted - o->vm, 0), o->other);
	const double open = o->other - by_notes;
	const double part = o->vm == 0 ? 1 :
			    (own + one / 2) / (own + o->vm + one);
	const double width = open * fmax(part, 1 - part);

	o->lua = o->vm + by_notes + (1 - part) * open;
	o->gives = is_reference && o->noted > 0 ? o->vm + by_notes :
		   fmin(o->noted, o->vm + by_notes);
	o->doubt = width * width / 4;
	if (o->samples > 0 && o->ran > 0)
		o->doubt += one * one + one * own * (o->ran - own) / o->ran;
}

/* Part of the owner's times become the node's, with their part of its error. */
static void move(struct cct *t, const struct owner *owner, node_id from,
		 node_id id, double took, double error)
{
	struct cct_sampled *const of = cct_sampled_of(t, from);
	struct cct_sampled *const to = cct_sampled_of(t, id);
	const uint64_t self = cct_get(t, from)->self;
	const double part = owner->ran > 0 ? took / owner->ran : 0;
	uint64_t raw;

	if (took > (double)self)
		took = (double)self;
	if (of && self > 0) {
		raw = (uint64_t)((double)of->raw * took / (double)self);
		of->raw -= raw;
		to->raw += raw;
		to->variance += error + part * part *
				(owner->variance + owner->divided);
	}
	cct_move_self(t, from, id, (uint64_t)took);
}

/* A Lua function gets what was noted of it, whose number is as uncertain as its
 * root. */
static void give(struct session *s, struct owner *owner, node_id from,
		 node_id id)
{
	const struct cct_counted c = cct_counted_of(s->cct, id);
	const double noted = (double)c.noted_ns * (double)s->tick_hz / 1e9;
	const double took = owner->gives * noted / owner->noted;
	const double error = took * took / (double)c.noted;

	owner->chance += error;
	move(s->cct, owner, from, id, took, error);
}

/* What no note tells of, below its owner. */
static void give_rest(struct session *s, struct owner *owner, node_id id)
{
	const double rest = owner->lua - owner->gives;
	const func_id func = func_special(s->funcs, "[Lua, not noted]");

	if (rest < 1)
		return;
	func_get(s->funcs, func)->noted = 1;
	owner->rest = cct_child(s->cct, id, func, CCT_NOTED);
	move(s->cct, owner, id, owner->rest, rest,
	     owner->chance + owner->doubt);
}

/* What an owner keeps. Notes tell of it as far as samples do not. */
static void keep(struct cct *t, const struct owner *o, node_id id)
{
	struct cct_sampled *const of = cct_sampled_of(t, id);
	const double part = o->ran > 0 ? fmax(1 - o->lua / o->ran, 0) : 1;

	if (!of)
		return;
	of->variance = part * part * o->variance + o->doubt +
		       fmin(o->chance, o->other * o->other / 4);
	of->division.doubt *= part * part;
	of->division.cross *= part;
	of->division.share *= part;
}

static void split_all(struct session *s, struct owners *o)
{
	const bool is_reference = s->net.is_net & NET_REFERENCE;
	struct cct *const t = s->cct;
	const size_t n = cct_count(t);

	for (node_id id = 1; id <= n; id++)
		if (o->of[id] == id && o->runs[cct_get(t, id)->func])
			split(&o->at[id], is_reference);
	for (node_id id = 1; id <= n; id++)
		if (o->of[id] != id && o->of[id] > 0 &&
		    cct_counted_of(t, id).noted_ns > 0)
			give(s, &o->at[o->of[id]], o->of[id], id);
	for (node_id id = 1; id <= n; id++) {
		if (o->of[id] != id || !o->runs[cct_get(t, id)->func])
			continue;
		keep(t, &o->at[id], id);
		give_rest(s, &o->at[id], id);
	}
}

/* Samples of Lua's code are not their owner's. */
static void take_samples(struct session *s, const struct owners *o)
{
	struct cct *const t = s->cct;

	for (size_t i = 0; i < cct_sample_count(t); i++) {
		struct cct_sample *const of = cct_sample_get(t, i);
		struct cct_sampled *const at = cct_sampled_of(t, of->node);
		const node_id rest = o->at[of->node].rest;
		const uint32_t n = (uint32_t)
			((of->period + s->net.period / 2) / s->net.period);

		if (s->places[of->place].kind != PLACE_LUA || rest == 0)
			continue;
		at->other -= n < at->other ? n : at->other;
		cct_sampled_of(t, rest)->other += n;
		of->node = rest;
	}
	cct_link_samples(t);
}

void noted_apply(struct session *s)
{
	struct owners o;

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		if (is_noted(s->cct, id))
			func_get(s->funcs,
				 cct_get(s->cct, id)->func)->noted = 1;
	if (!session_has_sampled_vm(s) &&
	    cct_counted_sum(s->cct).noted_ns == 0)
		return;
	find_places(s);
	o = find_owners(s);
	split_all(s, &o);
	if (cct_has_samples(s->cct) && s->net.period > 0)
		take_samples(s, &o);
	mem_free_all(o.of, o.runs, o.at);
}
