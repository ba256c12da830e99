/* stack_table.c - distinct stacks as a tree of frames, found by a hash map.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/stack_table.h"
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	mem_free_all(t->frames, t);
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
		(struct stack_frame){ below, func, flags,
				      t->frames[below].depth + 1 };
	return *id;
}

const struct stack_frame *stack_table_get(const struct stack_table *t,
					  stack_id id)
{
	assert(id > 0 && id < t->count);
	return &t->frames[id];
}

static bool is_library(struct func_table *funcs, const struct stack_frame *f)
{
	return !(f->flags & STACK_OMITTED) && func_is_library(funcs, f->func);
}

stack_id stack_table_own(const struct stack_table *t, struct func_table *funcs,
			 stack_id stack)
{
	while (stack && is_library(funcs, stack_table_get(t, stack)))
		stack = stack_table_get(t, stack)->below;
	return stack;
}

size_t stack_table_depth(const struct stack_table *t, stack_id id)
{
	return t->frames[id].depth;
}

/* A frame that stands for others has their number where a function's id is
 * otherwise. */
const char *stack_frame_name(struct func_table *funcs,
			     const struct stack_frame *f, char room[48])
{
	if (f->flags & STACK_SAMPLED)
		return "[sampled]";
	if (f->func != 0 && !(f->flags & STACK_OMITTED))
		return func_get(funcs, f->func)->name;
	if (f->func == 0)
		return "[open before start]";
	snprintf(room, 48, "[%" PRIu32 " frame%s]", f->func,
		 f->func == 1 ? "" : "s");
	return room;
}

/* A stack is a list from the innermost frame outwards, so its ids are collected
 * before its names are joined. */
static char *join(const struct stack_table *t, struct func_table *funcs,
		  stack_id id, const char *between, bool is_brief,
		  char *(*shorten)(const char *))
{
	const size_t n = stack_table_depth(t, id);
	const size_t first = n > STACK_TEXT_FRAMES ? n - STACK_TEXT_FRAMES : 0;
	stack_id ids[STACK_TEXT_FRAMES];
	char *text = mem_copy(""), frame[48];
	size_t used = 0, room = 1;
	bool is_in = is_brief;      /* the frame before is a library's */
	bool was_cut = false;

	for (size_t i = n; i-- > first; id = stack_table_get(t, id)->below)
		ids[i - first] = id;
	for (size_t i = first; i < n; i++) {
		const struct stack_frame *const f =
			stack_table_get(t, ids[i - first]);
		const bool was_in = is_in;
		const char *name = stack_frame_name(funcs, f, frame);
		char *brief;

		is_in = is_brief && is_library(funcs, f);
		if (is_in && was_in && i + 1 < n) {
			if (was_cut)
				continue;
			name = "...";
		}
		was_cut = is_in && was_in;
		name = brief = shorten ? shorten(name) : mem_copy(name);
		vec_need(&text, &room, used + strlen(name) + 48);
		if (i == first && i > 0)
			used = (size_t)sprintf(text, "[%zu frames]", first);
		used += (size_t)snprintf(text + used, room - used, "%s%s",
					 i > 0 ? between : "", name);
		mem_free(brief);
	}
	return text;
}

char *stack_table_text(const struct stack_table *t, struct func_table *funcs,
		       stack_id id, const char *between)
{
	return join(t, funcs, id, between, false, NULL);
}

char *stack_table_line(const struct stack_table *t, struct func_table *funcs,
		       stack_id id, char *(*shorten)(const char *))
{
	return join(t, funcs, id, " > ", true, shorten);
}
