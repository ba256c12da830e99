/* demotion.c - a list of functions, each with a list of windows. Each chunk may
 * ask for all of them, so that they are found by their ids.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/demotion.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <string.h>

const struct demotion *demotion_find(const struct demotions *all, func_id func)
{
	return func < all->places && all->place[func] != 0 ?
	       &all->at[all->place[func] - 1] : NULL;
}

struct demotion *demotion_of(struct demotions *all, func_id func)
{
	const struct demotion *const found = demotion_find(all, func);

	if (found)
		return &all->at[found - all->at];
	*vec_add(&all->at, &all->room, &all->count) =
		(struct demotion){ .func = func, .since = UINT64_MAX };
	vec_need_zeroed(&all->place, &all->places, (size_t)func + 1);
	all->place[func] = (uint32_t)all->count;
	return &all->at[all->count - 1];
}

struct demotion_part *demotion_part(struct demotions *all, struct demotion *d,
				    uint32_t thread)
{
	uint32_t *place;

	if (!all->part_of)
		all->part_of = map_new();
	place = map_put(all->part_of, d->func, thread);
	if (*place == 0) {
		*vec_add(&d->part, &d->room, &d->parts) =
			(struct demotion_part){ .thread = thread };
		*place = (uint32_t)d->parts;
	}
	return &d->part[*place - 1];
}

/* They rise; most are asked for the last one again. */
struct demotion_look *demotion_look(struct demotion_part *d, uint64_t window)
{
	struct demotion_look *const last = demotion_last(d, window);
	const size_t at = !last ? 0 : (size_t)(last - d->look) + 1;

	if (last && last->window == window)
		return last;
	vec_add(&d->look, &d->room, &d->looks);
	memmove(d->look + at + 1, d->look + at,
		(d->looks - 1 - at) * sizeof(*d->look));
	d->look[at] = (struct demotion_look){ .window = window };
	return &d->look[at];
}

struct demotion_look *demotion_last(struct demotion_part *d, uint64_t tick)
{
	for (size_t i = d->looks; i-- > 0; )
		if (d->look[i].window <= tick)
			return &d->look[i];
	return NULL;
}

void demotions_note_module(struct demotions *all, uint32_t process, elf_id id)
{
	if (!all->has_module)
		all->has_module = map_new();
	*map_put(all->has_module, process, id) = 1;
}

bool demotions_have_module(const struct demotions *all, uint32_t process,
			   elf_id id)
{
	return all->has_module && map_find(all->has_module, process, id) != 0;
}

uint8_t *demotions_mark(const struct demotions *all, struct cct *t,
			size_t functions)
{
	uint8_t *const of = all->count == 0 ? NULL : mem_alloc(functions + 1);

	for (size_t i = 0; i < all->count; i++)
		of[all->at[i].func] = DEMOTED;
	for (node_id id = 1; of && id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		if (n->parent && (of[n->func] & DEMOTED) != 0)
			of[cct_get(t, n->parent)->func] |= CALLS_DEMOTED;
	}
	return of;
}

void demotions_free(struct demotions *all)
{
	for (size_t i = 0; i < all->count; i++) {
		for (size_t k = 0; k < all->at[i].parts; k++)
			mem_free(all->at[i].part[k].look);
		mem_free(all->at[i].part);
	}
	mem_free_all(all->at, all->place);
	map_free(all->part_of);
	map_free(all->has_module);
}
