/* census.c - a set of numbers for each kind.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/census.h"

void census_begin(struct census *c)
{
	for (int i = 0; i < CENSUS_KINDS; i++)
		name_set_init(&c->set[i], UINT32_MAX / 4);
}

void census_add(struct census *c, uint32_t process, uint32_t thread)
{
	name_set_add(&c->set[CENSUS_PROCESSES], process);
	name_set_add(&c->set[CENSUS_THREADS], thread);
}

void census_note(struct census *c, const struct chunk_items *items)
{
	const struct chunk_header *const h = items->h;

	census_add(c, h->process, h->thread);
	for (uint32_t i = 0; i < items->n; i++) {
		const uint64_t *const at = items->item[i].at;

		if (item_type(*at) == ITEM_VM && items->item[i].words > 1)
			name_set_add(&c->set[CENSUS_VMS],
				     (uint64_t)h->process << 32 |
				     (uint32_t)at[1]);
	}
}
