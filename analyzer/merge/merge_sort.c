/* merge_sort.c - a session with every list in an order that follows from what
 * is in it: two sums of the same sessions become the same.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_order.h"
#include "analyzer/model/cct_hot.h"
#include "analyzer/base/vec.h"

/* --- modules and functions ----------------------------------------------- */

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

static void sort_modules(struct sorting *s)
{
	const size_t count = func_elf_count(s->from->funcs);
	elf_id *const order = sorted(count, 1, by_module, s);

	s->to->namings = mem_alloc((count + 1) * sizeof(struct naming));
	s->to->naming_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct elf_module *const m =
			func_elf(s->from->funcs, order[i]);

		s->module[order[i]] = func_module(s->to->funcs, m->path,
			m->build_id, m->build_id_size, m->size);
		s->to->namings[i] = s->from->namings[order[i] - 1];
	}
	mem_free(order);
}

static int by_func(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
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

/* How many functions of a module have names is counted anew: a function that
 * has none is called after its module and offset. */
static void name_func(struct sorting *s, func_id id, const struct func *from)
{
	struct func *const to = func_get(s->to->funcs, id);
	struct naming *n;

	func_hint(s->to->funcs, id, from->hint);
	if (from->untold_return)
		func_set_untold_return(s->to->funcs, id);
	to->name = own(s, from->name);
	to->file = own(s, from->file);
	to->file_line = from->file_line;
	if (to->module == 0)
		return;
	n = &s->to->namings[to->module - 1];
	n->asked++;
	n->named += !strstr(to->name, "+0x");
}

static void sort_funcs(struct sorting *s)
{
	const size_t count = func_count(s->from->funcs);
	func_id *const order = sorted(count, 1, by_func, s);

	for (size_t i = 0; i < s->to->naming_count; i++) {
		struct naming *const n = &s->to->namings[i];

		*n = (struct naming){ own(s, n->file), own(s, n->why), 0, 0, 0,
				      n->is_refused };
	}
	for (size_t i = 0; i < count; i++) {
		const struct func *const f = func_get(s->from->funcs, order[i]);

		s->func[order[i]] = func_like(s->to->funcs, f,
					      s->module[f->module]);
		name_func(s, s->func[order[i]], f);
	}
	mem_free(order);
}

/* --- what they did ------------------------------------------------------- */

/* With the new number of the Lua state. */
static uint32_t flags_of(const struct sorting *s, const struct cct_node *n)
{
	const uint32_t of = n->flags >> CCT_OF_SHIFT;

	return (n->flags & CCT_SHAPE) |
	       (of == 0 ? 0 : (s->vm[of - 1] + 1) << CCT_OF_SHIFT);
}

static int by_node(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct cct_node *const x = cct_get(s->from->cct,
						 *(const node_id *)a);
	const struct cct_node *const y = cct_get(s->from->cct,
						 *(const node_id *)b);

	/* Of roots thread is what differs. */
	return FIRST_OF(numbers(s->func[x->func], s->func[y->func]),
			numbers(flags_of(s, x), flags_of(s, y)),
			x->parent != 0 ? 0 : numbers(s->thread[x->thread],
						     s->thread[y->thread]));
}

/* Nodes that wait to be added, the next one last. */
struct waiting { node_id *id; size_t count, room; };

/* The first of the siblings is to come first. */
static void wait_for(struct sorting *s, struct waiting *w, node_id sibling)
{
	const size_t first = w->count;

	for (; sibling != 0;
	     sibling = cct_get(s->from->cct, sibling)->sibling) {
		*vec_add(&w->id, &w->room, &w->count) = sibling;
	}
	if (w->count == first)
		return;
	qsort_r(w->id + first, w->count - first, sizeof(*w->id), by_node, s);
	for (size_t i = first, k = w->count - 1; i < k; i++, k--) {
		const node_id swapped = w->id[i];

		w->id[i] = w->id[k];
		w->id[k] = swapped;
	}
}

static void sort_tree(struct sorting *s)
{
	struct cct *const t = s->to->cct;
	node_id *const node = mem_alloc((cct_count(s->from->cct) + 1) *
					sizeof(*node));
	struct waiting w = { .count = 0 };

	cct_collect_as(t, s->from->cct);
	wait_for(s, &w, cct_first_root(s->from->cct));
	while (w.count > 0) {
		const node_id id = w.id[--w.count];
		const struct cct_node *const n = cct_get(s->from->cct, id);

		node[id] = n->parent == 0 ?
			cct_root(t, s->thread[n->thread]) :
			cct_child(t, node[n->parent], s->func[n->func],
				  flags_of(s, n));
		cct_add(t, node[id], s->from->cct, id);
		wait_for(s, &w, n->child);
	}
	cct_set_folded(t, cct_deeper(s->from->cct));
	mem_free(w.id);
	mem_free(node);
}

/* --- the rest ------------------------------------------------------------ */

static int by_statistics(const void *a, const void *b)
{
	return numbers(((const struct func_statistics *)a)->func,
		       ((const struct func_statistics *)b)->func);
}

static int by_edge(const void *a, const void *b)
{
	const struct edge_statistics *const x = a, *const y = b;

	return FIRST_OF(numbers(x->caller, y->caller),
			numbers(x->func, y->func));
}

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

static void *copy(const void *rows, size_t count, size_t size)
{
	void *const to = mem_alloc((count + 1) * size);

	if (count > 0)
		memcpy(to, rows, count * size);
	return to;
}

static void sort_figures(struct sorting *s)
{
	const struct session *const from = s->from;
	struct session *const to = s->to;

	to->statistics_count = from->statistics_count;
	to->statistics = copy(from->statistics, from->statistics_count,
			   sizeof(*to->statistics));
	for (size_t i = 0; i < to->statistics_count; i++)
		to->statistics[i].func = s->func[to->statistics[i].func];
	qsort(to->statistics, to->statistics_count, sizeof(*to->statistics),
	      by_statistics);
	to->edge_count = from->edge_count;
	to->edges = copy(from->edges, from->edge_count, sizeof(*to->edges));
	for (size_t i = 0; i < to->edge_count; i++) {
		to->edges[i].caller = s->func[to->edges[i].caller];
		to->edges[i].func = s->func[to->edges[i].func];
	}
	qsort(to->edges, to->edge_count, sizeof(*to->edges), by_edge);
}

static void sort_parts(struct sorting *s)
{
	struct session *const to = s->to;

	to->part_count = s->from->part_count;
	to->parts = copy(s->from->parts, to->part_count, sizeof(*to->parts));
	for (size_t i = 0; i < to->part_count; i++) {
		to->parts[i].command = own(s, to->parts[i].command);
		to->parts[i].host = own(s, to->parts[i].host);
	}
	qsort(to->parts, to->part_count, sizeof(*to->parts), by_part);
	to->note_count = s->from->note_count;
	to->notes = copy(s->from->notes, to->note_count, sizeof(*to->notes));
	for (size_t i = 0; i < to->note_count; i++)
		to->notes[i] = (struct note){ own(s, to->notes[i].key),
					      own(s, to->notes[i].value) };
}

struct session *merge_sort(struct session *from)
{
	struct session *const to = session_new(SIZE_MAX);
	struct sorting s = { from, to,
		mem_alloc((func_elf_count(from->funcs) + 1) * sizeof(elf_id)),
		mem_alloc((func_count(from->funcs) + 1) * sizeof(func_id)),
		mem_alloc((from->process_count + 1) * sizeof(uint32_t)),
		mem_alloc((from->thread_count + 1) * sizeof(uint32_t)),
		mem_alloc((from->vm_count + 1) * sizeof(uint32_t)) };

	to->tick_hz = from->tick_hz;
	to->hz_error = from->hz_error;
	to->chunks = from->chunks;
	to->records = from->records;
	to->calls = from->calls;
	to->words = from->words;
	to->duplicate_chunks = from->duplicate_chunks;
	to->bad_chunks = from->bad_chunks;
	to->unnested = from->unnested;
	to->gap_total = from->gap_total;
	to->beyond = from->beyond;
	sort_modules(&s);
	sort_funcs(&s);
	merge_identities_sort(&s);
	sort_tree(&s);
	sort_figures(&s);
	sort_parts(&s);
	mem_free(s.module);
	mem_free(s.func);
	mem_free(s.process);
	mem_free(s.thread);
	mem_free(s.vm);
	return to;
}
