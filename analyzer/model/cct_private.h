/* cct_private.h - the inside of a tree, for cct.c and for the replay, which
 * looks up a child at every call.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/cct.h"
#include "analyzer/model/hist.h"

/* Invariants:
 *   nodes[0] is no node; ids run from 1 to count; beyond max, only nodes at
 *   and below "(deeper)" and CCT_OUTSIDE are added
 *   slots is a hash table of ids, keyed by (parent, func, CCT_KEY flags);
 *   slot_mask + 1 is a power of 2 and > 4/3 count; 0 is a free slot
 * nodes and slots move when the tree grows. */
struct cct {
	struct cct_node *nodes;
	node_id *slots;
	uint64_t slot_mask;
	size_t count, room, max;
	size_t folded;           /* paths that went to "(deeper)" */
	func_id deeper;
	node_id first_root, last_root;
	struct map *root_of;     /* thread to its root */
	struct map *folded_paths; /* (parent, func) of those counted */
	node_id *folds_at;       /* by node: whose child its "(deeper)" is, or
	                          * that itself */
	size_t folds, fold_room; /* so many nodes have it, from 1 on */
	struct hist *hist;       /* by node; NULL: not collected */
	struct cct_cpu *cpu;     /* by node; NULL: not collected */
	struct cct_counted *counted; /* by node; NULL: there are none */
	struct cct_heap *heap;   /* by node; NULL: not collected */
	struct cct_sampled *sampled; /* by node; NULL: not collected */
	struct cct_sample *sample; size_t sample_count, sample_room;
	struct cct_given *given; size_t givens, given_room;
	struct map *given_of;    /* node and what is one function's: index + 1;
	                          * NULL: nothing was given */
	bool is_net;
};

/* What a node has of another function's time, or of another session's. next:
 * of the node: an index + 1; 0: no more. */
struct cct_given { node_id node; uint32_t next; struct cct_division of; };

/* Are both parts of one sum? */
bool cct_division_is_one(const struct cct_division *,
			 const struct cct_division *);

/* cct_samples.c, for cct_add_times. is_same: both nodes are of one function. */
void cct_join_samples(struct cct *, node_id to, const struct cct *from,
		      node_id, bool is_same);

/* The flags in which nodes of one parent and function may differ. */
#define CCT_KEY (~(uint32_t)CCT_TIMED)

static inline uint64_t cct_hash(node_id parent, func_id func, uint32_t flags)
{
	uint64_t h = ((uint64_t)parent << 32 | func) +
		     ((uint64_t)flags << 61 | flags >> 3);

	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* The child, or 0 if it is not in the tree yet. Needs flags & CCT_KEY. */
static inline node_id cct_find(const struct cct *t, node_id parent,
			       func_id func, uint32_t flags)
{
	uint64_t i = cct_hash(parent, func, flags);

	for (;; i++) {
		const node_id id = t->slots[i & t->slot_mask];
		const struct cct_node *const n = &t->nodes[id];

		/* One comparison of 64 bits. */
		if (((n->parent ^ parent) | (n->func ^ func)) == 0 &&
		    (n->flags & CCT_KEY) == flags)
			return id;
		if (id == 0)
			return 0;
	}
}
