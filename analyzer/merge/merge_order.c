/* merge_order.c - the order in which a session's lists are joined to a sum: as
 * they come, or sorted by their contents, so that two sums of the same sessions
 * become the same, whatever came first. No two rows of a list of a merged
 * session have the same identity, so the orders here leave no ties, and an
 * unstable sort is enough.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/vec.h"
#include "analyzer/merge/merge_steps.h"
#include "analyzer/model/cct.h"

#include <stdlib.h>

/* Compare two numbers as strcmp does texts; a difference would not fit. */
static int numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* See FIRST_OF. All comparisons are made even if the first one decides: they
 * are cheap, and the orders are easy to read. */
static int first_of(const int *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (orders[i] != 0)
			return orders[i];
	return 0;
}

/* The first of the results of comparisons that is not 0. */
#define FIRST_OF(...)                                                          \
	first_of((const int[]){ __VA_ARGS__ },                                 \
		 sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* ---- of modules and functions ---- */

/* By build-id; modules without one (size 0) by path. */
static int by_module(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct elf_module x = *func_elf(s->from->funcs,
					      *(const elf_id *)a);
	const struct elf_module y = *func_elf(s->from->funcs,
					      *(const elf_id *)b);

	return FIRST_OF(numbers(x.build_id_size, y.build_id_size),
			memcmp(x.build_id, y.build_id, sizeof(x.build_id)),
			strcmp(x.path, y.path), numbers(x.size, y.size));
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

	return FIRST_OF(numbers(x->kind, y->kind),
			numbers(s->module[x->module], s->module[y->module]),
			numbers(x->offset, y->offset),
			strcmp(x->source, y->source),
			numbers(x->source_hash, y->source_hash),
			numbers(x->source_length, y->source_length),
			numbers(x->line, y->line),
			numbers(x->last_line, y->last_line),
			numbers(x->ordinal, y->ordinal),
			strcmp(x->name, y->name));
}

/* ---- of processes, threads, Lua states ---- */

/* Processes of a sum differ in their program or their labels. */
static int by_process(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return FIRST_OF(strcmp(s->from->processes[x].path,
			       s->from->processes[y].path),
			label_compare(s->from, x, s->from, y));
}

/* Needs the new ids of processes, as by_vm does. */
static int by_thread(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct thread *const x = &s->from->threads[*(const uint32_t *)a];
	const struct thread *const y = &s->from->threads[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->process[x->process], s->process[y->process]),
			strcmp(x->name, y->name));
}

/* In the order of processes, ABIs of Lua, and the states' own numbers. */
static int by_vm(const void *a, const void *b, void *ctx)
{
	const struct merge_ids *const s = ctx;
	const struct vm *const x = &s->from->vms[*(const uint32_t *)a];
	const struct vm *const y = &s->from->vms[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->process[x->process], s->process[y->process]),
			numbers(x->abi, y->abi),
			numbers(x->serial, y->serial));
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

	return FIRST_OF(numbers(s->func[x->func], s->func[y->func]),
			numbers(merge_flags(s, x), merge_flags(s, y)),
			x->parent != 0 ? 0 :
			numbers(s->thread[x->thread], s->thread[y->thread]));
}

/* A stack of nodes that are still to be added; the top one is added next. */
struct waiting {
	node_id *id;
	size_t count, room;
};

/* Push a node and its siblings so that they are popped in order. */
static void push_siblings(struct merge_ids *s, struct waiting *w, node_id id)
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
	struct waiting w = { .count = 0 };

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

static int by_statistics(const void *a, const void *b)
{
	const struct func_statistics *const x = a, *const y = b;

	return numbers(x->func, y->func);
}

static int by_edge(const void *a, const void *b)
{
	const struct edge_statistics *const x = a, *const y = b;

	return FIRST_OF(numbers(x->caller, y->caller),
			numbers(x->func, y->func));
}

/* By start, so that a list of parts is in the order of time; the rest only
 * makes the order definite. Equal parts are equal in every byte. */
static int by_part(const void *a, const void *b)
{
	const struct part *const x = a, *const y = b;

	return FIRST_OF(numbers(x->start, y->start),
			numbers(x->recording, y->recording),
			numbers(x->duration, y->duration),
			numbers(x->calls, y->calls),
			numbers(x->complete, y->complete),
			numbers(x->cpu, y->cpu),
			strcmp(x->command, y->command),
			strcmp(x->host, y->host));
}

static void sort(void *rows, size_t count, size_t size,
		 int (*by)(const void *, const void *))
{
	if (count > 0)
		qsort(rows, count, size, by);
}

void merge_sort_figures(struct session *s)
{
	sort(s->statistics, s->statistics_count, sizeof(*s->statistics),
	     by_statistics);
	sort(s->edges, s->edge_count, sizeof(*s->edges), by_edge);
	sort(s->parts, s->part_count, sizeof(*s->parts), by_part);
}
