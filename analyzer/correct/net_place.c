/* net_place.c - what each sample is of: by its address, and by the calls that
 * were open at its tick.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include "analyzer/base/map.h"
#include "analyzer/base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ------------------------------------------------------------- */

/* Recorded functions by module and entry. */
static struct map *map_functions(const struct session *s)
{
	struct map *const of = map_new();

	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->kind == FUNC_NATIVE)
			*map_put(of, f->module, f->offset) = id;
	}
	return of;
}

/* The tracer records a function at an odd address under the even one before
 * it. */
static void find_functions(struct session *s)
{
	struct map *const of = map_functions(s);

	for (size_t i = 0; i < s->place_count; i++) {
		struct code_place *const p = &s->places[i];

		if (!p->name || p->kind == PLACE_PROBE)
			continue;
		p->func = map_find(of, p->module, p->begin);
		if (!p->func && p->begin % 2)
			p->func = map_find(of, p->module, p->begin - 1);
		p->kind = p->func ? PLACE_OWN : PLACE_OTHER;
	}
	map_free(of);
}

bool inlined_next(const char **at, struct inlined *of)
{
	const char *const end = *at ? strchr(*at, '\n') : NULL;
	const char *const tab = !end ? NULL :
				memrchr(*at, '\t', (size_t)(end - *at));

	if (!end)
		return false;
	of->name = *at;
	of->length = (size_t)((tab ? tab : end) - *at);
	of->line = tab ? (uint32_t)strtoul(tab + 1, NULL, 10) : 0;
	*at = end + 1;
	return true;
}

/* Is code of that function inlined at the place? */
static bool is_inlined(const struct code_place *p, const char *name)
{
	const size_t length = strlen(name);
	struct inlined inner;

	for (const char *at = p->inlined; inlined_next(&at, &inner);)
		if (inner.length == length &&
		    memcmp(inner.name, name, length) == 0)
			return true;
	return false;
}

static bool is_below(struct cct *t, node_id id, func_id func)
{
	while ((id = cct_get(t, id)->parent))
		if (cct_get(t, id)->func == func)
			return true;
	return false;
}

/* The node that a sample in a recorded function's code belongs to. Code of a
 * caller, while a call that it made is open, may be the callee's, inlined:
 * debug information tells. Without, it is, unless the function may have been
 * called once more without a record. 0: none. */
static node_id owner(struct session *s, const struct cct_sample *sample,
		     bool is_hidden)
{
	const struct code_place *const p = &s->places[sample->place];
	const func_id innermost = cct_get(s->cct, sample->node)->func;
	const bool has_near = sample->near &&
		cct_get(s->cct, sample->near)->func == p->func;

	if (innermost == p->func ||
	    is_inlined(p, func_get(s->funcs, innermost)->name) ||
	    (!p->inlined && !is_hidden &&
	     is_below(s->cct, sample->node, p->func)))
		return sample->node;
	return has_near ? sample->near : 0;
}

/* Of the innermost one's name. */
static uint64_t hash_innermost(const char *inlined)
{
	struct inlined last = { "", 0, 0 };
	char name[1024] = "";

	for (const char *at = inlined; inlined_next(&at, &last);)
		;
	if (last.length < sizeof(name))
		memcpy(name, last.name, last.length);
	return text_hash(0, name);
}

/* For each place, the counted function whose code was inlined there, innermost
 * of all; 0: none. NULL: no function was counted. */
static func_id *find_inlined(const struct session *s)
{
	struct map *const of = map_new();
	func_id *at = NULL;

	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (!f->counted)
			continue;
		*map_put(of, f->module, text_hash(0, f->name)) = id;
		if (!at)
			at = mem_alloc((s->place_count + 1) * sizeof(*at));
	}
	for (size_t i = 0; at && i < s->place_count; i++)
		if (s->places[i].kind == PLACE_OWN && s->places[i].inlined)
			at[i] = map_find(of, s->places[i].module,
					 hash_innermost(s->places[i].inlined));
	map_free(of);
	return at;
}

/* A call that has no record, of a counted function, by what the sample's
 * node is: the period was that one's time. */
static node_id unrecorded(struct session *s, const struct cct_sample *sample,
			  func_id func)
{
	struct cct *const t = s->cct;
	const node_id id = cct_child(t, sample->node, func, 0);
	struct cct_node *const from = cct_get(t, sample->node);
	const uint64_t off = cct_cpu_of(t, sample->node).off +
			     cct_sampled_of(t, sample->node)->unsampled;
	const uint64_t known = from->self > off ? from->self - off : 0;
	const double want = (double)sample->period * (double)s->tick_hz / 1e9;
	const uint64_t took = want < (double)known ? (uint64_t)want : known;

	if (id == sample->node)
		return id;
	from->self -= took;
	cct_get(t, id)->self += took;
	return id;
}

/* The node that the sample's period is own time of. 0: of none. */
static node_id place(struct session *s, const struct cct_sample *sample,
		     const func_id *inlined)
{
	const struct code_place *const p = &s->places[sample->place];
	const func_id inner = inlined ? inlined[sample->place] : 0;
	node_id own;

	if (p->kind != PLACE_OWN)
		return 0;
	if (inner && cct_get(s->cct, sample->node)->func != inner)
		return sample->near &&
		       cct_get(s->cct, sample->near)->func == inner ?
		       sample->near : unrecorded(s, sample, inner);
	own = owner(s, sample, sample->hides &&
		    func_get(s->funcs, p->func)->counted);
	if (!own && func_get(s->funcs, p->func)->counted)
		own = unrecorded(s, sample, p->func);
	return own;
}

void net_place(struct session *s)
{
	func_id *inlined;
	struct net *const net = &s->net;
	struct cct *const t = s->cct;
	uint32_t least = UINT32_MAX;

	counted_calls_find(s);
	if (!cct_has_samples(t))
		return;
	find_functions(s);
	inlined = find_inlined(s);
	for (size_t i = 0; i < cct_sample_count(t); i++)
		if (cct_sample_get(t, i)->period < least)
			least = cct_sample_get(t, i)->period;
	for (size_t i = 0; i < cct_sample_count(t); i++) {
		struct cct_sample *const sample = cct_sample_get(t, i);
		const enum place_kind kind = s->places[sample->place].kind;
		const uint32_t n = (uint32_t)
			(((uint64_t)sample->period + least / 2) / least);
		const node_id own = place(s, sample, inlined);
		struct cct_sampled *of;

		if (own)
			sample->node = own;
		net->astray += kind == PLACE_OWN && !own ? n : 0;
		of = cct_sampled_of(t, sample->node);
		*(kind == PLACE_PROBE ? &of->probe : own ? &of->own :
		  &of->other) += n;
		*(kind == PLACE_PROBE ? &net->probe : own ? &net->own :
		  &net->other) += n;
	}
	mem_free(inlined);
	cct_link_samples(t);
	net->period = cct_sample_count(t) ? least : 0;
}
