/* tree.h - the functions written in a function, by its layout, in the order
 * of the text: a function before those in it. Seen by files that are compiled
 * once per version. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ABI_TREE_H
#define WEFT_TRACER_HOST_LUA_ABI_TREE_H

#include "tracer/host/lua_abi/layout.h"

/* More than the compilers of all versions let one stand in another. */
enum { TREE_DEPTH = 250, TREE_MOST = 1 << 16, TREE_LOOKS = 1 << 20 };

struct lua_tree {
	uint64_t at[TREE_DEPTH];   /* prototypes, outermost first */
	uint32_t next[TREE_DEPTH]; /* of what each holds */
	uint32_t depth, found, looks;
};

INLINE void tree_begin(struct lua_tree *t, uint64_t top)
{
	t->at[0] = top;
	t->next[0] = 0;
	t->depth = 1;
	t->found = t->looks = 0;
}

/* There are more than we want to look at. */
INLINE int tree_is_cut(const struct lua_tree *t)
{
	return t->depth == TREE_DEPTH || t->found > TREE_MOST ||
	       t->looks > TREE_LOOKS;
}

/* 0: no more, or cut. */
INLINE uint64_t tree_next(struct lua_tree *t)
{
	while (t->depth > 0 && !tree_is_cut(t)) {
		const uint32_t i = t->depth - 1;
		uint64_t child;

		if (t->next[i] >= layout_holds(t->at[i])) {
			t->depth--;
			continue;
		}
		t->looks++;
		child = layout_held(t->at[i], t->next[i]++);
		if (child == 0)
			continue;
		t->found++;
		if (layout_holds(child) != 0) {
			t->at[t->depth] = child;
			t->next[t->depth++] = 0;
		}
		return child;
	}
	return 0;
}

#endif
