/* in_heap.c - what is due first comes out first. Knows times; knows nothing of
 * what is due.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_heap.h"

#include "analyzer/base/mem.h"

#include <string.h>

static struct in_due *due_at(const struct in_heap *h, size_t i)
{
	return (struct in_due *)(void *)(h->items + i * h->size);
}

static int is_before(const struct in_due *a, const struct in_due *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

void in_heap_push(struct in_heap *h, const void *item)
{
	size_t i = h->count++;

	h->items = mem_more(h->items, &h->room, h->count, h->size);
	while (i > 0 && is_before(item, due_at(h, (i - 1) / 2))) {
		memcpy(due_at(h, i), due_at(h, (i - 1) / 2), h->size);
		i = (i - 1) / 2;
	}
	memcpy(due_at(h, i), item, h->size);
}

void in_heap_pop(struct in_heap *h, void *item)
{
	const struct in_due *const last = due_at(h, --h->count);
	size_t i = 0;

	memcpy(item, h->items, h->size);
	for (size_t k = 1; k < h->count; k = 2 * i + 1) {
		k += k + 1 < h->count && is_before(due_at(h, k + 1),
						   due_at(h, k));
		if (!is_before(due_at(h, k), last))
			break;
		memcpy(due_at(h, i), due_at(h, k), h->size);
		i = k;
	}
	if (h->count)
		memmove(due_at(h, i), last, h->size);
}

const struct in_due *in_heap_first(const struct in_heap *h)
{
	return h->count ? due_at(h, 0) : NULL;
}

void in_heap_fini(struct in_heap *h)
{
	mem_free(h->items);
	h->items = NULL;
	h->count = h->room = 0;
}
