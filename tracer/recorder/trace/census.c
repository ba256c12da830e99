/* census.c - sets of numbers, kept as lists that are sorted when they are full.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/census.h"

#include <stdlib.h>

/* For qsort. */
static int by_number(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Leave each number once. */
static void sort_ids(struct census_list *l)
{
	size_t n = 0;

	if (l->count > 0)
		qsort(l->id, l->count, sizeof(*l->id), by_number);
	for (size_t i = 0; i < l->count; i++)
		if (n == 0 || l->id[n - 1] != l->id[i])
			l->id[n++] = l->id[i];
	l->count = n;
}

/* False: no memory. */
static bool make_room(struct census_list *l)
{
	sort_ids(l);
	/* Half of the room must be free then, or it is sorted too often. */
	if (l->room > 0 && l->count <= l->room / 2)
		return true;
	const size_t room = l->room == 0 ? 256 : 2 * l->room;
	uint64_t *const more = realloc(l->id, room * sizeof(*more));

	if (!more)
		return l->count < l->room;
	l->id = more;
	l->room = room;
	return true;
}

static void add_id(struct census_list *l, uint64_t id)
{
	if ((l->count > 0 && l->id[l->count - 1] == id) ||
	    (l->count == l->room && !make_room(l)))
		return;
	l->id[l->count++] = id;
}

void census_add(struct census *c, uint32_t process, uint32_t thread)
{
	add_id(&c->list[CENSUS_PROCESSES], process);
	add_id(&c->list[CENSUS_THREADS], thread);
}

void census_forget(struct census *c)
{
	for (int i = 0; i < CENSUS_KINDS; i++)
		c->list[i].count = 0;
}

void census_note(struct census *c, const struct chunk_items *items)
{
	const struct chunk_header *const h = items->h;

	census_add(c, h->process, h->thread);
	for (uint32_t i = 0; i < items->n; i++) {
		const uint64_t *const at = items->item[i].at;

		if (item_type(*at) == ITEM_VM && items->item[i].words > 1)
			add_id(&c->list[CENSUS_VMS],
			       (uint64_t)h->process << 32 | (uint32_t)at[1]);
	}
}

void census_finish(struct census *c)
{
	for (int i = 0; i < CENSUS_KINDS; i++)
		sort_ids(&c->list[i]);
}
