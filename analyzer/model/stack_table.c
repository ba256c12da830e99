/* stack_table.c - distinct stacks as a tree of frames, found by a hash map.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/stack_table.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <assert.h>

struct stack_table {
	struct stack_frame *frames; /* [0] is none */
	size_t count, room;         /* [0] included */
	struct map *known;          /* (below, flags and func) to id */
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *const t = mem_alloc(sizeof(*t));

	*vec_add(&t->frames, &t->room, &t->count) = (struct stack_frame){ 0 };
	t->known = map_new();
	return t;
}

void stack_table_free(struct stack_table *t)
{
	if (!t)
		return;
	map_free(t->known);
	mem_free(t->frames);
	mem_free(t);
}

stack_id stack_table_push(struct stack_table *t, stack_id below, func_id func,
		    uint32_t flags)
{
	uint32_t *const id = map_put(t->known, below,
				     (uint64_t)flags << 32 | func);

	if (*id != 0)
		return *id;
	*id = (stack_id)t->count;
	*vec_add(&t->frames, &t->room, &t->count) =
		(struct stack_frame){ below, func, flags };
	return *id;
}

const struct stack_frame *stack_table_get(const struct stack_table *t,
					  stack_id id)
{
	assert(id > 0 && id < t->count);
	return &t->frames[id];
}

size_t stack_table_depth(const struct stack_table *t, stack_id id)
{
	size_t depth = 0;

	for (; id != 0; id = t->frames[id].below)
		depth++;
	return depth;
}
