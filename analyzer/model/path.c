/* path.c - one walk over the tree that remembers, for each function, its
 * innermost node on the path at hand.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/path.h"
#include "analyzer/base/mem.h"

/* last[func]: its innermost node on the path; below[id]: the child of an open
 * node that the path goes through. */
struct walk {
	struct cct *cct;
	struct path *path;
	node_id *last, *below;
};

static void enter(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	struct path *const p = w->path;

	w->below[n->parent] = id;
	p->body[id] = n->parent == 0 || (n->flags & CCT_BODY) ? id :
		      p->body[n->parent];
	if (n->func == 0)
		return;
	p->same[id] = w->last[n->func];
	p->branch[id] = p->same[id] == 0 ? 0 : w->below[p->same[id]];
	w->last[n->func] = id;
}

static void leave(struct walk *w, node_id id)
{
	w->last[cct_get(w->cct, id)->func] = w->path->same[id];
}

/* Without recursion: stacks may be deep. */
static void walk(struct walk *w, node_id root)
{
	node_id id = root, next;

	for (enter(w, root); ; enter(w, id = next)) {
		next = cct_get(w->cct, id)->child;
		while (next == 0 && id != root) {
			leave(w, id);
			next = cct_get(w->cct, id)->sibling;
			id = cct_get(w->cct, id)->parent;
		}
		if (next == 0)
			return;
	}
}

struct path *path_new(struct cct *cct, size_t functions)
{
	const size_t nodes = cct_count(cct) + 1;
	struct path *const p = mem_alloc(sizeof(*p));
	struct walk w = { cct, p, mem_alloc((functions + 1) * sizeof(node_id)),
			  mem_alloc(nodes * sizeof(node_id)) };

	p->same = mem_alloc(nodes * sizeof(node_id));
	p->branch = mem_alloc(nodes * sizeof(node_id));
	p->body = mem_alloc(nodes * sizeof(node_id));
	for (node_id root = cct_first_root(cct); root != 0;
	     root = cct_get(cct, root)->sibling)
		walk(&w, root);
	mem_free(w.last);
	mem_free(w.below);
	return p;
}

void path_free(struct path *p)
{
	if (!p)
		return;
	mem_free(p->same);
	mem_free(p->branch);
	mem_free(p->body);
	mem_free(p);
}
