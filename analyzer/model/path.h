/* path.h - for each node of a tree: is its function open already on the path
 * that leads there, and where. What recursion means to every view. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_PATH_H
#define WEFT_ANALYZER_MODEL_PATH_H

#include "analyzer/model/cct.h"

/* Arrays by node id. The path leads from the root to the node, over the bodies
 * of coroutines too. */
struct path {
	node_id *same;   /* the innermost node above it of the same function;
	                  * 0: this is an outermost activation */
	node_id *branch; /* the child of `same` that the path goes through; may
	                  * be the node itself; 0 without `same` */
	node_id *body;   /* where its coroutine's frames begin: the nearest node
	                  * with CCT_BODY, itself included, or the root */
};

/* functions: the highest func_id in the tree, or more. */
struct path *path_new(struct cct *, size_t functions);
void path_free(struct path *);

/* Is this its function's outermost activation on the path, and within its
 * coroutine? Totals and suspended times are those of such nodes only. */
static inline int path_is_outermost(const struct path *p, node_id id)
{
	return p->same[id] == 0;
}

static inline int path_is_first(const struct path *p, node_id id)
{
	return p->same[id] == 0 || p->body[p->same[id]] != p->body[id];
}

#endif
