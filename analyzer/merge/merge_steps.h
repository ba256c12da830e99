/* merge_steps.h - steps of a merge that have a file of their own; used by the
 * files of merge alone.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"

#include <string.h>

/* A session that is joined to a sum: for each of its ids, the id of the same
 * thing in the sum. Modules, functions and nodes are by id (from 1 on), the
 * others by index. */
struct merge_ids {
	const struct session *from;
	bool is_sorted;            /* join its lists in the order of their
	                            * contents: needs a merged session */
	elf_id *module;
	func_id *func;
	uint32_t *process, *thread, *vm;
	node_id *node;
};

/* Zeroed arrays for all ids of the session; freed with merge_ids_fini. */
static inline struct merge_ids merge_ids_of(const struct session *s,
					    bool is_sorted)
{
	return (struct merge_ids){ s, is_sorted,
		mem_alloc((func_elf_count(s->funcs) + 1) * sizeof(elf_id)),
		mem_alloc((func_count(s->funcs) + 1) * sizeof(func_id)),
		mem_alloc((s->process_count + 1) * sizeof(uint32_t)),
		mem_alloc((s->thread_count + 1) * sizeof(uint32_t)),
		mem_alloc((s->vm_count + 1) * sizeof(uint32_t)),
		mem_alloc((cct_count(s->cct) + 1) * sizeof(node_id)) };
}

/* Free the arrays; the struct itself is the caller's. */
static inline void merge_ids_fini(struct merge_ids *ids)
{
	mem_free_all(ids->module, ids->func, ids->process, ids->thread,
		     ids->vm, ids->node);
}

/* A copy of the text that lives as long as the session. */
static inline const char *merge_copy(const struct session *s, const char *text)
{
	return text[0] == '\0' ? "" :
	       arena_copy(s->text, text, strlen(text));
}

/* The first of two texts in alphabetical order; "" comes last. */
static inline const char *merge_first(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return a[0] == '\0' ? b : a;
	return strcmp(a, b) <= 0 ? a : b;
}

/* Add the notes of a session to those of a sum. Both lists are sorted by key,
 * then value. is_first: the sum is empty, so that every note is kept. */
void merge_notes_add(struct session *sum, const struct session *from,
		     bool is_first);

/* Sort the notes of a trace's session, keep each key once, and make the notes
 * on losses at least as large as what its threads lost. */
void merge_notes_normalize(struct session *);

/* Who calls each node: the nearest node above it whose calls are known. Those
 * of what a sampled VM runs are not, so nothing has a rate of them. The caller
 * frees the array with mem_free. */
node_id *merge_callers(const struct session *);

/* Compute the statistics and edges of a trace's session whose times are in
 * nanoseconds: figures over this one session. */
void merge_statistics_of_one(struct session *);

/* The node's flags in the sum, where its Lua state has another number. */
static inline uint32_t merge_flags(const struct merge_ids *ids,
				   const struct cct_node *n)
{
	const uint32_t of = session_body_vm(ids->from, n->flags);

	return (n->flags & CCT_SHAPE) |
	       (of == 0 ? 0 : (ids->vm[of - 1] + 1) << CCT_OF_SHIFT);
}

enum merge_list {
	MERGE_MODULES, MERGE_FUNCS, MERGE_PROCESSES, MERGE_THREADS, MERGE_VMS,
	MERGE_NODES
};

/* All ids or indices of a list, and how many there are, in the order in which
 * they are to be joined. A sorted order needs the sum's ids of what stands
 * above it in the enum. The caller frees it with mem_free. */
uint32_t *merge_order(struct merge_ids *, enum merge_list, size_t *count);

/* Sort what refers to functions of the same session, and the list of parts. */
void merge_sort_figures(struct session *);
