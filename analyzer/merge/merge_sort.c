/* merge_sort.c - a session with every list sorted by its contents, so that two
 * sums of the same sessions become the same, whatever came first. No two rows
 * of a list have the same identity, so the orders here leave no ties, and an
 * unstable sort is enough. Parts alone may be equal, but then in every byte.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/vec.h"
#include "analyzer/merge/merge_steps.h"
#include "analyzer/model/cct.h"
#include "analyzer/model/session.h"

#include <assert.h>
#include <stdlib.h>

/* The session that is sorted, its sorted copy, and the copy's ids by the ids of
 * the original. Lists are sorted in the order of their dependencies: modules,
 * functions, processes, threads, Lua states, the tree, figures. */
struct sorting {
	struct session *from, *to;
	struct merge_ids id;
};

/* ---- comparing ---- */

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

typedef int (*order_fn)(const void *, const void *, void *);

/* The ids from first to first + count - 1 in the order of fn, whose context is
 * s. The caller frees the array with mem_free. */
static uint32_t *sorted(size_t count, uint32_t first, order_fn fn,
			struct sorting *s)
{
	uint32_t *const ids = mem_alloc((count + 1) * sizeof(*ids));

	for (size_t i = 0; i < count; i++)
		ids[i] = (uint32_t)i + first;
	qsort_r(ids, count, sizeof(*ids), fn, s);
	return ids;
}

/* ---- modules and functions ---- */

/* By build-id; modules without one (size 0) by path. */
static int by_module(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct elf_module x = *func_elf(s->from->funcs,
					      *(const elf_id *)a);
	const struct elf_module y = *func_elf(s->from->funcs,
					      *(const elf_id *)b);

	return FIRST_OF(numbers(x.build_id_size, y.build_id_size),
			memcmp(x.build_id, y.build_id, sizeof(x.build_id)),
			strcmp(x.path, y.path), numbers(x.size, y.size));
}

/* Module ids follow from the order in which func_module gets them. */
static void sort_modules(struct sorting *s)
{
	const size_t count = func_elf_count(s->from->funcs);
	elf_id *const order = sorted(count, 1, by_module, s);

	s->to->namings = mem_alloc((count + 1) * sizeof(struct naming));
	s->to->naming_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct elf_module *const m =
			func_elf(s->from->funcs, order[i]);
		const struct naming *const n = &s->from->namings[order[i] - 1];

		s->id.module[order[i]] = func_module(s->to->funcs, m->path,
			m->build_id, m->build_id_size, m->size);
		s->to->namings[i] = (struct naming){
			.file = merge_copy(s->to, n->file),
			.why = merge_copy(s->to, n->why),
			.is_refused = n->is_refused };
	}
	mem_free(order);
}

/* By identity (struct func); the name decides for marks and special functions,
 * which have nothing else. */
static int by_func(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct func *const x = func_get(s->from->funcs,
					      *(const func_id *)a);
	const struct func *const y = func_get(s->from->funcs,
					      *(const func_id *)b);

	return FIRST_OF(numbers(x->kind, y->kind),
			numbers(s->id.module[x->module],
				s->id.module[y->module]),
			numbers(x->offset, y->offset),
			strcmp(x->source, y->source),
			numbers(x->source_hash, y->source_hash),
			numbers(x->source_length, y->source_length),
			numbers(x->line, y->line),
			numbers(x->last_line, y->last_line),
			numbers(x->ordinal, y->ordinal),
			strcmp(x->name, y->name));
}

/* Copy the names of a function, and count it in its module's naming. A function
 * without a name is called "MODULE+0xOFFSET". */
static void name_func(struct sorting *s, func_id id, const struct func *from)
{
	struct func *const to = func_get(s->to->funcs, id);
	struct naming *n;

	func_hint(s->to->funcs, id, from->hint);
	if (from->untold_return)
		func_set_untold_return(s->to->funcs, id);
	to->estimated |= from->estimated;
	to->name = merge_copy(s->to, from->name);
	to->file = merge_copy(s->to, from->file);
	to->file_line = from->file_line;
	if (to->module == 0)
		return;
	n = &s->to->namings[to->module - 1];
	n->asked++;
	n->named += !strstr(to->name, "+0x");
}

/* Function ids follow from the order in which func_like gets them. */
static void sort_funcs(struct sorting *s)
{
	const size_t count = func_count(s->from->funcs);
	func_id *const order = sorted(count, 1, by_func, s);

	for (size_t i = 0; i < count; i++) {
		const struct func *const f = func_get(s->from->funcs, order[i]);

		s->id.func[order[i]] = func_like(s->to->funcs, f,
						 s->id.module[f->module]);
		name_func(s, s->id.func[order[i]], f);
	}
	mem_free(order);
}

/* ---- processes, threads, Lua states ---- */

/* Processes of a sum differ in their program or their labels. */
static int by_process(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return FIRST_OF(strcmp(s->from->processes[x].path,
			       s->from->processes[y].path),
			label_compare(s->from, x, s->from, y));
}

/* Needs the new ids of processes, as by_vm does. */
static int by_thread(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct thread *const x = &s->from->threads[*(const uint32_t *)a];
	const struct thread *const y = &s->from->threads[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->id.process[x->process],
				s->id.process[y->process]),
			strcmp(x->name, y->name));
}

/* In the order of processes, ABIs of Lua, and the states' own numbers. */
static int by_vm(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct vm *const x = &s->from->vms[*(const uint32_t *)a];
	const struct vm *const y = &s->from->vms[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->id.process[x->process],
				s->id.process[y->process]),
			numbers(x->abi, y->abi),
			numbers(x->serial, y->serial));
}

/* In a sum every label belongs to a process, none to a recording. */
static void copy_labels(struct sorting *s, uint32_t process)
{
	struct session *const to = s->to;
	size_t n;
	const struct label **const list = label_list(s->from, process, &n);

	for (size_t i = 0; i < n; i++)
		to->labels[to->label_count++] = (struct label){
			0, s->id.process[process] + 1,
			merge_copy(to, list[i]->key),
			merge_copy(to, list[i]->value) };
	mem_free(list);
}

/* A sorted copy of rows, and in ids the new index of each. Texts in the rows
 * still belong to the original. The caller owns the copy. */
static void *sort_rows(struct sorting *s, const void *rows, size_t count,
		       size_t size, order_fn fn, uint32_t *ids)
{
	uint32_t *const order = sorted(count, 0, fn, s);
	char *const to = mem_alloc((count + 1) * size);

	for (uint32_t i = 0; i < count; i++) {
		memcpy(to + i * size, (const char *)rows + order[i] * size,
		       size);
		ids[order[i]] = i;
	}
	mem_free(order);
	return to;
}

/* Processes, and their labels in the order of the processes that have them.
 * old: the old index of each new one. */
static void sort_processes(struct sorting *s)
{
	const struct session *const from = s->from;
	struct session *const to = s->to;
	uint32_t *const old = mem_alloc((from->process_count + 1) *
					sizeof(*old));

	to->process_count = from->process_count;
	to->processes = sort_rows(s, from->processes, from->process_count,
				  sizeof(*to->processes), by_process,
				  s->id.process);
	for (uint32_t i = 0; i < from->process_count; i++)
		old[s->id.process[i]] = i;
	to->labels = mem_alloc((from->label_count + 1) * sizeof(*to->labels));
	for (uint32_t i = 0; i < to->process_count; i++) {
		to->processes[i].path = merge_copy(to, to->processes[i].path);
		copy_labels(s, old[i]);
	}
	assert(to->label_count == from->label_count);
	mem_free(old);
}

/* Threads and Lua states have their processes by index. */
static void sort_threads(struct sorting *s)
{
	struct session *const to = s->to;

	to->thread_count = s->from->thread_count;
	to->threads = sort_rows(s, s->from->threads, to->thread_count,
				sizeof(*to->threads), by_thread, s->id.thread);
	for (uint32_t i = 0; i < to->thread_count; i++)
		to->threads[i].process = s->id.process[to->threads[i].process];
}

static void sort_vms(struct sorting *s)
{
	struct session *const to = s->to;

	to->vm_count = s->from->vm_count;
	to->vms = sort_rows(s, s->from->vms, to->vm_count, sizeof(*to->vms),
			    by_vm, s->id.vm);
	for (uint32_t i = 0; i < to->vm_count; i++)
		to->vms[i].process = s->id.process[to->vms[i].process];
}

/* ---- the tree ---- */

/* The node's flags with the new number of its Lua state. */
static uint32_t flags_of(const struct sorting *s, const struct cct_node *n)
{
	const uint32_t of = n->flags >> CCT_OF_SHIFT;

	return (n->flags & CCT_SHAPE) |
	       (of == 0 ? 0 : (s->id.vm[of - 1] + 1) << CCT_OF_SHIFT);
}

/* Orders siblings. Roots have no function, and differ by their threads. */
static int by_node(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct cct_node *const x = cct_get(s->from->cct,
						 *(const node_id *)a);
	const struct cct_node *const y = cct_get(s->from->cct,
						 *(const node_id *)b);

	return FIRST_OF(numbers(s->id.func[x->func], s->id.func[y->func]),
			numbers(flags_of(s, x), flags_of(s, y)),
			x->parent != 0 ? 0 :
			numbers(s->id.thread[x->thread],
				s->id.thread[y->thread]));
}

/* A stack of nodes that are still to be added; the top one is added next. */
struct waiting {
	node_id *id;
	size_t count, room;
};

/* Push a node and its siblings so that they are popped in order. */
static void push_siblings(struct sorting *s, struct waiting *w, node_id id)
{
	const size_t first = w->count;

	for (; id != 0; id = cct_get(s->from->cct, id)->sibling)
		*vec_add(&w->id, &w->room, &w->count) = id;
	if (w->count == first)
		return;
	qsort_r(w->id + first, w->count - first, sizeof(*w->id), by_node, s);
	for (size_t i = first, k = w->count - 1; i < k; i++, k--) {
		const node_id swapped = w->id[i];

		w->id[i] = w->id[k];
		w->id[k] = swapped;
	}
}

/* Add the nodes to the new tree, parents first, siblings in order: ids of nodes
 * follow from the order in which they are added. A stack in memory takes the
 * place of recursion: trees may be a million nodes deep. */
static void sort_tree(struct sorting *s)
{
	struct cct *const t = s->to->cct;
	node_id *const node = mem_alloc((cct_count(s->from->cct) + 1) *
					sizeof(*node));
	struct waiting w = { .count = 0 };

	cct_collect_as(t, s->from->cct);
	push_siblings(s, &w, cct_first_root(s->from->cct));
	while (w.count > 0) {
		const node_id id = w.id[--w.count];
		const struct cct_node *const n = cct_get(s->from->cct, id);

		node[id] = n->parent == 0 ?
			cct_root(t, s->id.thread[n->thread]) :
			cct_child(t, node[n->parent], s->id.func[n->func],
				  flags_of(s, n));
		cct_add(t, node[id], s->from->cct, id);
		push_siblings(s, &w, n->child);
	}
	assert(cct_count(t) == cct_count(s->from->cct));
	cct_set_folded(t, cct_deeper(s->from->cct));
	mem_free(w.id);
	mem_free(node);
}

/* ---- the rest ---- */

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
 * makes the order definite. */
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

/* A copy of count rows, with room for one where there is none. */
static void *copy(const void *rows, size_t count, size_t size)
{
	void *const to = mem_alloc((count + 1) * size);

	if (count > 0)
		memcpy(to, rows, count * size);
	return to;
}

/* Copy statistics and edges with the new ids of functions, sorted by these. */
static void sort_figures(struct sorting *s)
{
	const struct session *const from = s->from;
	struct session *const to = s->to;

	to->statistics_count = from->statistics_count;
	to->statistics = copy(from->statistics, from->statistics_count,
			      sizeof(*to->statistics));
	for (size_t i = 0; i < to->statistics_count; i++)
		to->statistics[i].func = s->id.func[to->statistics[i].func];
	qsort(to->statistics, to->statistics_count, sizeof(*to->statistics),
	      by_statistics);
	to->edge_count = from->edge_count;
	to->edges = copy(from->edges, from->edge_count, sizeof(*to->edges));
	for (size_t i = 0; i < to->edge_count; i++) {
		to->edges[i].caller = s->id.func[to->edges[i].caller];
		to->edges[i].func = s->id.func[to->edges[i].func];
	}
	qsort(to->edges, to->edge_count, sizeof(*to->edges), by_edge);
}

static void sort_parts(struct sorting *s)
{
	const struct session *const from = s->from;
	struct session *const to = s->to;

	to->part_count = from->part_count;
	to->parts = copy(from->parts, to->part_count, sizeof(*to->parts));
	for (size_t i = 0; i < to->part_count; i++) {
		to->parts[i].command = merge_copy(to, to->parts[i].command);
		to->parts[i].host = merge_copy(to, to->parts[i].host);
	}
	qsort(to->parts, to->part_count, sizeof(*to->parts), by_part);
}

/* Notes are sorted already. */
static void copy_notes(struct sorting *s)
{
	const struct session *const from = s->from;
	struct session *const to = s->to;

	to->note_count = from->note_count;
	to->notes = mem_alloc((to->note_count + 1) * sizeof(*to->notes));
	for (size_t i = 0; i < to->note_count; i++)
		to->notes[i] = (struct note){
			merge_copy(to, from->notes[i].key),
			merge_copy(to, from->notes[i].value) };
}

/* Figures that need no order. The clock is not among them: times in a merged
 * session are nanoseconds, and its base is 0. */
static void copy_scalars(struct session *to, const struct session *from)
{
	to->tick_hz = from->tick_hz;
	to->hz_error = from->hz_error;
	to->chunks = from->chunks;
	to->records = from->records;
	to->calls = from->calls;
	to->words = from->words;
	to->duplicate_chunks = from->duplicate_chunks;
	to->counted = from->counted;
	to->bad_chunks = from->bad_chunks;
	to->unnested = from->unnested;
	to->gap_total = from->gap_total;
	to->net = from->net;
	to->beyond = from->beyond;
}

struct session *merge_sort(struct session *from)
{
	struct sorting s = { from, session_new(SIZE_MAX), merge_ids_of(from) };

	copy_scalars(s.to, from);
	sort_modules(&s);
	sort_funcs(&s);
	sort_processes(&s);
	sort_threads(&s);
	sort_vms(&s);
	sort_tree(&s);
	sort_figures(&s);
	sort_parts(&s);
	copy_notes(&s);
	merge_ids_fini(&s.id);
	return s.to;
}
