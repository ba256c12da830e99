/* merge_order.c - the order in which a session's lists are joined to a sum: as
 * they come, or sorted by their contents, so that two sums of the same sessions
 * become the same, whatever came first. No two rows of a list of a merged
 * session have the same identity, so the orders here leave no ties, and an
 * unstable sort is enough.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/merge/merge_steps.h"
#include "analyzer/model/cct.h"

#include <stdlib.h>

/* ---- of modules and functions ---- */

/* By build-id; modules without one (size 0) by path. */
static int by_module(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct elf_module x = *func_elf(s->from->funcs,
					      *(const elf_id *)a);
	const struct elf_module y = *func_elf(s->from->funcs,
					      *(const elf_id *)b);

	return ORDER(x.build_id_size, y.build_id_size) ?:
	       memcmp(x.build_id, y.build_id, sizeof(x.build_id)) ?:
	       strcmp(x.path, y.path) ?: ORDER(x.size, y.size);
}

/* By identity (struct func); the name decides for marks and special functions,
 * which have nothing else. */
static int by_func(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct func *const x = func_get(s->from->funcs,
					      *(const func_id *)a);
	const struct func *const y = func_get(s->from->funcs,
					      *(const func_id *)b);

	return UP(kind) ?: ORDER(s->module[x->module], s->module[y->module]) ?:
	       UP(offset) ?: strcmp(x->source, y->source) ?: UP(source_hash) ?:
	       UP(source_length) ?: UP(line) ?: UP(last_line) ?: UP(ordinal) ?:
	       strcmp(x->name, y->name);
}

/* ---- of processes, threads, Lua states ---- */

/* Processes of a sum differ in their program or their labels. */
static int by_process(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return strcmp(s->from->processes[x].path, s->from->processes[y].path) ?:
	       label_compare(s->from, x, s->from, y);
}

/* Needs the new ids of processes, as by_vm does. */
static int by_thread(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct thread *const x = &s->from->threads[*(const uint32_t *)a];
	const struct thread *const y = &s->from->threads[*(const uint32_t *)b];

	return ORDER(s->process[x->process], s->process[y->process]) ?:
	       strcmp(x->name, y->name);
}

/* In the order of processes, ABIs of Lua, and the states' own numbers. */
static int by_vm(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct vm *const x = &s->from->vms[*(const uint32_t *)a];
	const struct vm *const y = &s->from->vms[*(const uint32_t *)b];

	return ORDER(s->process[x->process], s->process[y->process]) ?:
	       UP(abi) ?: UP(serial);
}

/* ---- of the tree ---- */

/* Orders siblings, the last one first: that is how a stack takes them. Roots
 * have no function, and differ by their threads. */
static int by_node(const void *b, const void *a, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct cct_node *const x = cct_get(s->from->cct,
						 *(const node_id *)a);
	const struct cct_node *const y = cct_get(s->from->cct,
						 *(const node_id *)b);

	return ORDER(s->func[x->func], s->func[y->func]) ?:
	       ORDER(merge_flags(s, x), merge_flags(s, y)) ?:
	       (x->parent != 0 ? 0 :
		ORDER(s->thread[x->thread], s->thread[y->thread]));
}

/* A stack of nodes that are still to be added; the top one is added next. */
struct node_stack {
	node_id *id;
	size_t count, room;
};

/* Push a node and its siblings so that they are popped in order. */
static void push_siblings(struct merge_ids *s, struct node_stack *w, node_id id)
{
	const size_t first = w->count;

	for (; id != 0; id = cct_get(s->from->cct, id)->sibling)
		*vec_add(&w->id, &w->room, &w->count) = id;
	if (w->count > first)
		qsort_r(w->id + first, w->count - first, sizeof(*w->id),
			by_node, s);
}

/* Parents come first, siblings in order: ids of nodes follow from the order in
 * which they are added. A stack in memory takes the place of recursion: trees
 * may be a million nodes deep. */
static void order_nodes(struct merge_ids *s, node_id *order)
{
	struct node_stack w = { .count = 0 };

	push_siblings(s, &w, cct_first_root(s->from->cct));
	for (size_t i = 0; w.count > 0; i++) {
		order[i] = w.id[--w.count];
		push_siblings(s, &w, cct_get(s->from->cct, order[i])->child);
	}
	mem_free(w.id);
}

/* ---- of all ---- */

static size_t count_of(const struct session *s, enum merge_list list)
{
	switch (list) {
	case MERGE_MODULES:
		return func_elf_count(s->funcs);
	case MERGE_FUNCS:
		return func_count(s->funcs);
	case MERGE_PROCESSES:
		return s->process_count;
	case MERGE_THREADS:
		return s->thread_count;
	case MERGE_VMS:
		return s->vm_count;
	case MERGE_NODES:
		break;
	}
	return cct_count(s->cct);
}

uint32_t *merge_order(struct merge_ids *ids, enum merge_list list,
		      size_t *count)
{
	static int (*const by[])(const void *, const void *, void *) = {
		[MERGE_MODULES] = by_module, [MERGE_FUNCS] = by_func,
		[MERGE_PROCESSES] = by_process, [MERGE_THREADS] = by_thread,
		[MERGE_VMS] = by_vm,
	};
	const bool is_index = list == MERGE_PROCESSES ||
			      list == MERGE_THREADS || list == MERGE_VMS;
	uint32_t *order;

	*count = count_of(ids->from, list);
	order = mem_alloc((*count + 1) * sizeof(*order));
	for (size_t i = 0; i < *count; i++)
		order[i] = (uint32_t)i + !is_index;
	if (ids->is_sorted && list == MERGE_NODES)
		order_nodes(ids, order);
	else if (ids->is_sorted && *count > 0)
		qsort_r(order, *count, sizeof(*order), by[list], ids);
	return order;
}

/* ---- of figures over sessions ---- */

ORDER_BY(by_statistics, struct func_statistics, UP(func))
ORDER_BY(by_edge, struct edge_statistics, UP(caller) ?: UP(func))

/* By start, so that a list of parts is in the order of time; the rest only
 * makes the order definite. Equal parts are equal in every byte. */
ORDER_BY(by_part, struct part, UP(start) ?: UP(recording) ?: UP(duration) ?:
	 UP(calls) ?: UP(complete) ?: UP(cpu) ?:
	 strcmp(x->command, y->command) ?: strcmp(x->host, y->host))

void merge_sort_figures(struct session *s)
{
	order_sort(s->statistics, s->statistics_count, by_statistics);
	order_sort(s->edges, s->edge_count, by_edge);
	order_sort(s->parts, s->part_count, by_part);
}
