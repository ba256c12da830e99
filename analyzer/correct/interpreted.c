/* interpreted.c - LuaJIT's compiler was off while calls were recorded, and at
 * work in the reference: which Lua function took what there, nothing tells.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <string.h>

static bool is_jit_off(const struct session *s)
{
	bool is_off = s->beyond.vms_jit_off > 0;

	for (size_t i = 0; i < s->vm_count; i++)
		is_off |= (s->vms[i].flags & VM_JIT_OFF) != 0;
	return is_off;
}

/* Functions of Lua's libraries are mostly not compiled. */
static bool is_lua(const struct session *s, node_id id)
{
	const struct func *const f = func_get(s->funcs,
					      cct_get(s->cct, id)->func);

	return strcmp(func_language(f), "lua") == 0;
}

static double ran(struct cct *t, node_id id)
{
	const uint64_t self = cct_get(t, id)->self;
	const uint64_t off = cct_cpu_of(t, id).off;

	return self > off ? (double)(self - off) : 0;
}

double *interpreted_times(struct session *s)
{
	struct cct *const t = s->cct;
	double *const at = mem_alloc((cct_count(t) + 1) * sizeof(*at));

	for (node_id id = 1; id <= cct_count(t); id++)
		if (is_lua(s, id))
			at[0] += at[id] = ran(t, id);
	if (is_jit_off(s) && at[0] > 0)
		return at;
	mem_free(at);
	return NULL;
}

/* Code that it compiled is in no sample of the recording. */
static void give_compiled(struct session *s, const double *times)
{
	const double ns = s->reference.compiled;
	const double one = s->reference.ns / (double)s->reference.samples;
	const double scale = s->reference.scale * (double)s->tick_hz / 1e9;

	for (node_id id = 1; id <= cct_count(s->cct) && ns > 0; id++) {
		const double part = times[id] / times[0] * scale;

		cct_get(s->cct, id)->self += (uint64_t)(part * ns);
		cct_sampled_of(s->cct, id)->variance += part * ns * part * one;
	}
	s->reference.compiled = 0;
}

/* All that Lua took may be any function's, or not: twice the error reaches from
 * nothing to all, of several functions as of one. Of a function's nodes it does
 * so in their proportions. What all take together is known. */
static void doubt(struct session *s)
{
	struct cct *const t = s->cct;
	double *const of = mem_alloc((func_count(s->funcs) + 1) * sizeof(*of));
	double all = 0, funcs = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const func_id func = cct_get(t, id)->func;
		const double took = is_lua(s, id) ? ran(t, id) + 1 : 0;

		funcs += took > 0 && of[func] == 0;
		of[func] += took;
		all += took;
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const func_id func = cct_get(t, id)->func;
		const double took = of[func] > 0 ? ran(t, id) + 1 : 0;
		const double part = took > 0 ? took / of[func] : 0;
		const double variance = all * all / 4;

		if (took > 0)
			cct_division_give(t, id, &(struct cct_division){
				.doubt = part * variance, .share = took / all,
				.cross = part * variance,
				.all = funcs * variance, .most = variance });
	}
	mem_free(of);
}

void interpreted_apply(struct session *s, double *times)
{
	if (times && cct_counted_sum(s->cct).noted_ns == 0)
		give_compiled(s, times);
	if (times)
		doubt(s);
	mem_free(times);
}
