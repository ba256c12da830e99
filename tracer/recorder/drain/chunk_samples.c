/* chunk_samples.c - from addresses to places. The chunk's own modules come
 * first: what it names was so when it was written. What they do not cover, the
 * process' map knows.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/drain/chunk_samples.h"
#include "tracer/recorder/names/chunk_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <string.h>

enum { MODULES_MAX = 64 };         /* of a chunk, that are looked at */

/* A module that has a number in the chunk. */
struct named { uint64_t bias, end; uint32_t number; };

/* The items in the making. */
struct places {
	const struct chunk_header *h;
	struct code_maps *maps;
	uint32_t slot;             /* of the process */
	struct named module[MODULES_MAX];
	uint32_t modules;
	uint64_t used[DICT_MAX_MODULES / 64]; /* numbers, a bit each */
	uint64_t *to;
	uint32_t n, room;          /* words of modules that were written */
};

/* A chunk_item_fn: number, bias, size. */
static void note_module(void *ctx, const struct chunk_header *h,
			const uint64_t *item, uint64_t words)
{
	struct places *const p = ctx;

	(void)h;
	if (item_type(*item) != ITEM_MODULE || words < 4 ||
	    item[1] >= DICT_MAX_MODULES)
		return;
	p->used[item[1] / 64] |= UINT64_C(1) << item[1] % 64;
	if (p->modules < MODULES_MAX && item[2] != MODULE_NOWHERE)
		p->module[p->modules++] = (struct named){
			item[2], item[2] + item[3], (uint32_t)item[1] };
}

/* A number that no module of the chunk has; the host gives out low ones. */
static uint32_t free_number(const struct places *p)
{
	uint32_t i = DICT_MAX_MODULES;

	while (i > 0 && p->used[(i - 1) / 64] >> (i - 1) % 64 & 1)
		i--;
	return i > 0 ? i - 1 : DICT_MAX_MODULES;
}

/* False: no room. */
static bool add_module(struct places *p, const struct code_range *r)
{
	const size_t length = strlen(r->path);
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;
	const uint32_t words = 9 + (uint32_t)((stored + 7) / 8);
	const uint32_t number = free_number(p);
	uint64_t *const item = p->to + p->n;

	if (p->modules == MODULES_MAX || number == DICT_MAX_MODULES ||
	    words > p->room - p->n)
		return false;
	memset(item, 0, words * sizeof(*item));
	item[0] = item_put(ITEM_MODULE, words);
	item[1] = number;
	item[2] = r->bias;
	item[3] = r->size;
	((uint8_t *)&item[4])[0] = (uint8_t)r->build.size;
	memcpy((uint8_t *)&item[4] + 1, r->build.id, r->build.size);
	item[7] = string_put(stored, length);
	item[8] = XXH64(r->path, length, 0);
	memcpy(&item[9], r->path, stored);
	p->n += words;
	note_module(p, p->h, item, words);
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
	    code_maps_find(p->maps, p->slot, p->h->process, address);
	if (!r)
		return dict_put_code(address);
	if (!add_module(p, r))
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

/* The first n samples are the chunk's. */
static uint32_t put(struct places *p, const struct samples *s, uint32_t n,
		    uint64_t period)
{
	static uint64_t pair[2 * SAMPLES_MAX];
	const uint64_t from = s->known_from > p->h->tick_begin ?
			      s->known_from : p->h->tick_begin;
	uint32_t stride = 1, kept;
	uint64_t *item;

	while (stride < n && 4 + n / stride * 2 > p->room)
		stride *= 2;
	for (;; stride *= 2) {
		kept = put_pairs(p, s->at, n, stride, pair);
		if (4 + 2 * kept <= p->room - p->n)
			break;
		if (stride >= n)
			return 0;
	}
	item = p->to + p->n;
	item[0] = item_put(ITEM_SAMPLES, 4 + 2 * kept);
	item[1] = period * s->stride * stride;
	item[2] = from;
	item[3] = s->known_to < p->h->tick_end ? s->known_to : p->h->tick_end;
	memcpy(item + 4, pair, 2 * kept * sizeof(*pair));
	return p->n + 4 + 2 * kept;
}

uint32_t chunk_samples_put(struct cpu_watch *w, uint32_t slot,
			   struct code_maps *maps, const uint64_t *chunk,
			   uint64_t *to, uint32_t room)
{
	struct cpu_watched *const t = w && slot < w->slots ? &w->slot[slot] :
							     NULL;
	struct places p = { .h = (const void *)chunk, .maps = maps, .to = to,
			    .room = room };
	uint32_t n, words = 0;

	if (!t || w->period == 0)
		return 0;
	struct samples *const s = &t->samples;

	/* Samples from before the chunk belong to no chunk. */
	samples_forget(s, samples_until(s, p.h->tick_begin), true);
	if (s->known_from == 0 || s->known_from >= p.h->tick_end ||
	    s->known_to <= p.h->tick_begin)
		return 0;
	p.slot = t->process;
	if (t->has_mapped)
		code_maps_want(maps, p.slot);
	t->has_mapped = false;
	n = samples_until(s, p.h->tick_end);
	if (n > 0)
		chunk_names_each(chunk, CHUNK_HEADER_WORDS + p.h->records +
				 p.h->items, note_module, &p);
	if (room >= 4)
		words = put(&p, s, n, w->period);
	samples_forget(s, n, words == 0);
	assert(words <= room);
	return words;
}
