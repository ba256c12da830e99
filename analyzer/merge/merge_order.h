/* merge_order.h - what sorting a session's lists takes: old ids to new ones,
 * and comparisons. For the files of combine.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_MERGE_ORDER_H
#define WEFT_ANALYZER_MERGE_MERGE_ORDER_H

#include "analyzer/merge/merge_state.h"
#include "analyzer/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* New ids by old ones, and what is being sorted. */
struct sorting {
	struct session *from, *to;
	elf_id *module;
	func_id *func;
	uint32_t *process, *thread, *vm;
};

static inline int numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The first that is not 0. */
static inline int first_of(const int *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (orders[i] != 0)
			return orders[i];
	return 0;
}

#define FIRST_OF(...)                                                          \
	first_of((const int[]){ __VA_ARGS__ },                                 \
		 sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

typedef int (*order_fn)(const void *, const void *, void *);

/* 0 to count - 1 (or from 1 on), in order. */
static inline uint32_t *sorted(size_t count, uint32_t first, order_fn fn,
			struct sorting *s)
{
	uint32_t *const ids = mem_alloc((count + 1) * sizeof(*ids));

	for (size_t i = 0; i < count; i++)
		ids[i] = (uint32_t)i + first;
	qsort_r(ids, count, sizeof(*ids), fn, s);
	return ids;
}

/* A copy that lives as long as the new session. */
static inline const char *own(const struct sorting *s, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(s->to->text, text,
						 strlen(text));
}

/* merge_who.c: processes, their labels, threads and Lua states. */
void merge_identities_sort(struct sorting *);

#endif
