/* in_heap.h - what is due first comes out first.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_HEAP_H
#define WEFT_ANALYZER_IN_IN_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Each item begins with one: the earliest first, then what came first. */
struct in_due { uint64_t ns, order; };

struct in_heap {
	char *items;
	size_t count, room;
	size_t size;      /* of an item; set by the owner before the first */
};

/* Copies the item, which does not lie in the heap. */
void in_heap_push(struct in_heap *, const void *item);
/* Needs a heap that is not empty. */
void in_heap_pop(struct in_heap *, void *item);
/* Borrowed until the heap changes; NULL when it is empty. */
const struct in_due *in_heap_first(const struct in_heap *);
void in_heap_fini(struct in_heap *);

#endif
