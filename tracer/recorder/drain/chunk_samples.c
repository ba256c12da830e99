/* chunk_samples.c - from addresses to places. The chunk's own modules come
 * first: what it names was so when it was written. What they do not cover, the
 * process' map knows.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/drain/chunk_samples.h"
#include "tracepoints/item.h"

#include <string.h>

enum { MODULES_MAX = 64 };         /* of a chunk, that are looked at */

/* A module that has a number in the chunk. */
struct named { uint64_t bias, end; uint32_t number; };

struct places {
	struct chunk_items *items;
	struct code_maps *maps;
	uint32_t slot;             /* of the process */
	struct named module[MODULES_MAX];
	uint32_t modules;
};

static void note_module(struct places *p, const struct seen_item *item)
{
	struct module_item m;

	if (p->modules < MODULES_MAX && chunk_names_module(item, &m))
		p->module[p->modules++] = (struct named){ item->at[2],
			item->at[2] + item->at[3], m.number };
}

/* False: no room. */
static bool add_place_module(struct places *p, const struct code_range *r)
{
	struct chunk_items *const items = p->items;
	const size_t length = strlen(r->path);
	const uint32_t number = chunk_items_number(items);

	if (p->modules == MODULES_MAX || number == DICT_MAX_MODULES ||
	    item_module_words(length) > items->room)
		return false;
	item_put_module(items->to, number, r->bias, r->size, r->build.id,
			(uint8_t)r->build.size, r->path, length);
	chunk_items_add(items, item_module_words(length));
	note_module(p, &items->item[items->n - 1]);
	return true;
}

/* 0: there is no room for its module. */
static uint64_t place_of(struct places *p, uint64_t address)
{
	const struct code_range *r;

	for (uint32_t i = 0; i < p->modules; i++) {
		const struct named *const m = &p->module[i];

		if (address >= m->bias && address < m->end)
			return dict_put_native(m->number, address - m->bias);
	}
	r = address == 0 ? NULL :
	    code_maps_find(p->maps, p->slot, p->items->h->process, address);
	if (!r)
		return dict_put_code(address);
	if (!add_place_module(p, r))
		return 0;
	return dict_put_native(p->module[p->modules - 1].number,
			       address - r->bias);
}

/* Each stride-th of n samples, as pairs. Returns how many; there may be more
 * than have room now. */
static uint32_t put_pairs(struct places *p, const struct sample *s, uint32_t n,
			  uint32_t stride, uint64_t *pair)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i += stride) {
		const uint64_t place = place_of(p, s[i].address);

		if (place == 0)
			continue;
		pair[2 * kept] = s[i].tick;
		pair[2 * kept++ + 1] = place;
	}
	return kept;
}

/* The first n samples are the chunk's. False: there is no room for them. */
static bool put_samples(struct places *p, const struct samples *s, uint32_t n,
			uint64_t period)
{
	static uint64_t pair[2 * SAMPLES_MAX];
	const struct chunk_header *const h = p->items->h;
	const uint64_t from = s->known_from > h->tick_begin ?
			      s->known_from : h->tick_begin;
	uint32_t stride = 1, kept;

	while (stride < n && 4 + n / stride * 2 > p->items->room)
		stride *= 2;
	for (;; stride *= 2) {
		kept = put_pairs(p, s->at, n, stride, pair);
		if (4 + 2 * kept <= p->items->room)
			break;
		if (stride >= n)
			return false;
	}
	uint64_t *const item = p->items->to;

	item[0] = item_put(ITEM_SAMPLES, 4 + 2 * kept);
	item[1] = period * s->stride * stride;
	item[2] = from;
	item[3] = s->known_to < h->tick_end ? s->known_to : h->tick_end;
	memcpy(item + 4, pair, 2 * kept * sizeof(*pair));
	chunk_items_add(p->items, 4 + 2 * kept);
	return true;
}

void chunk_samples_put(struct cpu_watch *w, uint32_t slot,
		       struct code_maps *maps, struct chunk_items *items)
{
	struct cpu_watched *const t = w && slot < w->slots ? &w->slot[slot] :
							     NULL;
	const struct chunk_header *const h = items->h;
	struct places p = { .items = items, .maps = maps };

	if (!t || w->period == 0)
		return;
	struct samples *const s = &t->samples;

	/* Samples from before the chunk belong to no chunk. */
	samples_forget(s, samples_until(s, h->tick_begin), true);
	if (s->known_from == 0 || s->known_from >= h->tick_end ||
	    s->known_to <= h->tick_begin)
		return;
	p.slot = t->process;
	if (t->has_mapped)
		code_maps_want(maps, p.slot);
	t->has_mapped = false;
	const uint32_t n = samples_until(s, h->tick_end);

	for (uint32_t i = 0; n > 0 && i < items->n; i++)
		note_module(&p, &items->item[i]);
	samples_forget(s, n, !put_samples(&p, s, n, w->period));
}
