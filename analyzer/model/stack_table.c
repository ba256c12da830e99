/* stack_table.c - distinct stacks as a tree of frames, found by a hash map.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/stack_table.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

struct stack_table {
	struct stack_frame *frames; /* [0] is nobody's */
	size_t count, room;         /* [0] included */
	struct map *known;          /* (below, flags and func) to id */
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *const t = mem_alloc(sizeof(*t));

	vec_need(&t->frames, &t->room, 1);
	t->frames[0] = (struct stack_frame){ 0 };
	t->count = 1;
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
	vec_need(&t->frames, &t->room, t->count + 1);
	t->frames[t->count] = (struct stack_frame){ below, func, flags };
	*id = (stack_id)t->count;
	return (stack_id)t->count++;
}

stack_id stream_stack(struct stack_table *t, stack_id id,
		      const struct stream *st,
		    size_t from, size_t to)
{
	const size_t segments = stream_segments(st);
	struct stream_segment seg = { 0 };
	struct stream_frame f;
	size_t k = 0;

	for (size_t i = from; i < to; i++) {
		uint32_t flags = 0;

		/* The last segment that begins here: others are empty. */
		while (k < segments && seg.base <= i) {
			stream_segment(st, k, &seg);
			if (seg.base > i)
				break;
			if (seg.base == i && k > 0)
				flags = STACK_BODY;
			k++;
		}
		stream_frame(st, i, &f);
		if (f.omitted > 0) {
			flags |= STACK_OMITTED;
			f.func = (func_id)(f.omitted < UINT32_MAX ?
					   f.omitted : UINT32_MAX);
		} else if (!f.is_known) {
			flags |= STACK_BEFORE;
		}
		id = stack_table_push(t, id, f.func, flags);
	}
	return id;
}

const struct stack_frame *stack_table_get(const struct stack_table *t,
					  stack_id id)
{
	return &t->frames[id];
}

size_t stack_table_depth(const struct stack_table *t, stack_id id)
{
	size_t depth = 0;

	for (; id != 0; id = t->frames[id].below)
		depth++;
	return depth;
}
