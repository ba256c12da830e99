/* session_join.c - joins sessions by what things are, never by their numbers:
 * functions by identity, processes and threads by where they were replayed,
 * coroutines and VMs by process and serial.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/session_join.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One of the sessions, and what its numbers are in the whole. */
struct part_ids {
	struct session *from;
	uint32_t *process, *thread; /* by index */
	uint32_t *coroutine;       /* by index: index + 1 */
	size_t coroutine_count;
	func_id *func;             /* by id; 0: not asked for yet */
	elf_id *module;            /* by id; 0: not asked for yet */
	uint32_t *place;           /* by index */
	/* The nodes, those of a root together, by rising id: nodes[first[id]]
	 * and following are those of the root id, itself included. */
	node_id *nodes, *node;     /* node: by id */
	size_t *first;
};

struct join {
	struct session *to;
	struct part_ids *pieces;
	size_t count;
	struct map *vm_of;         /* process, serial: index + 1 */
	struct map *place_of;      /* module, offset: index + 1 */
	struct map *line_of;       /* see session_note_line */
	size_t place_room, line_room;
};

/* ---- functions ---------------------------------------------------------- */

static elf_id join_module(struct join *j, struct part_ids *p, elf_id id)
{
	const struct elf_module *const m = func_elf(p->from->funcs, id);

	if (id != 0 && p->module[id] == 0)
		p->module[id] = func_module(j->to->funcs, m->path, m->build_id,
					    m->build_id_size, m->size);
	return id == 0 ? 0 : p->module[id];
}

/* Nearly all are known: whoever filled the whole has seen the dictionaries. */
static func_id join_func(struct join *j, struct part_ids *p, func_id id)
{
	const struct func *const f = func_get(p->from->funcs, id);

	if (id == 0 || p->func[id] != 0)
		return id == 0 ? 0 : p->func[id];
	p->func[id] = func_like(j->to->funcs, f, join_module(j, p, f->module));
	return p->func[id];
}

static void join_places(struct join *j, struct part_ids *p)
{
	for (size_t i = 0; i < p->from->place_count; i++) {
		const struct code_place *const from = &p->from->places[i];

		p->place[i] = session_place(j->to, j->place_of, &j->place_room,
			join_module(j, p, from->module), from->offset);
	}
}

static void join_lines(struct join *j, struct part_ids *p)
{
	for (size_t i = 0; i < p->from->line_count; i++) {
		struct noted_line line = p->from->lines[i];

		line.func = join_func(j, p, line.func);
		session_note_line(j->to, j->line_of, &j->line_room, &line);
	}
}

/* ---- threads ------------------------------------------------------------ */

/* Counts come from the piece; who it is, from the whole. */
static void join_thread(struct join *j, uint32_t i,
			const struct session_thread *where)
{
	struct part_ids *const p = &j->pieces[where->part];
	struct thread *const to = &j->to->threads[i];
	const struct thread was = *to;

	*to = p->from->threads[where->thread];
	p->thread[where->thread] = i;
	p->process[to->process] = was.process;
	to->process = was.process;
	memcpy(to->name, was.name, sizeof(to->name));
}

/* The threads' own sums are right already. The longest gaps of all are among
 * the longest of each piece. */
static void join_gaps(struct join *j, const struct part_ids *p)
{
	j->to->gap_total += p->from->gap_total;
	for (size_t i = 0; i < p->from->gap_count; i++) {
		struct gap gap = p->from->gaps[i];

		gap.thread = p->thread[gap.thread];
		session_keep_gap(j->to, &gap);
	}
}

/* ---- coroutines --------------------------------------------------------- */

/* A coroutine as one piece has it. piece NULL: the whole itself. */
struct view {
	uint32_t process;          /* of the whole */
	uint64_t serial;
	struct part_ids *piece;
	const struct coroutine *c;
};

ORDER_BY(by_identity, struct view, UP(process) ?: UP(serial))

/* Of one coroutine, what the whole knows comes first. */
static int by_view(const void *a, const void *b)
{
	const struct view *const x = a, *const y = b;
	const int order = by_identity(a, b);

	if (order != 0 || x->piece == y->piece)
		return order;
	return !x->piece || (y->piece && x->piece < y->piece) ? -1 : 1;
}

/* All views of all coroutines, in their order. The caller frees them. */
static struct view *list_views(struct join *j, const struct coroutine *own,
			       size_t own_count, size_t *count)
{
	struct view *list;
	size_t n = own_count;

	for (size_t i = 0; i < j->count; i++)
		n += j->pieces[i].from->coroutine_count;
	list = mem_alloc((n + 1) * sizeof(*list));
	n = 0;
	for (; n < own_count; n++)
		list[n] = (struct view){ own[n].process, own[n].serial, NULL,
					 &own[n] };
	for (size_t i = 0; i < j->count; i++) {
		struct part_ids *const p = &j->pieces[i];

		for (size_t k = 0; k < p->from->coroutine_count; k++) {
			const struct coroutine *const c =
				&p->from->coroutines[k];

			list[n++] = (struct view){ p->process[c->process],
						   c->serial, p, c };
		}
	}
	qsort(list, n, sizeof(*list), by_view);
	*count = n;
	return list;
}

/* No thread is in two pieces, so of more than four that one of them has seen,
 * there are more than four. */
static void add_threads(struct coroutine *to, const struct view *v)
{
	const uint32_t n = v->c->thread_count;

	for (uint32_t i = 0; v->piece && i < n && i < 4; i++)
		coroutine_ran(to, v->piece->thread[v->c->threads[i]]);
	if (n > 4)
		to->thread_count = n;
}

static struct instant instant_of(const struct view *v, struct instant at)
{
	at.thread = v->piece ? v->piece->thread[at.thread] : at.thread;
	return at;
}

static void add_view(struct join *j, struct coroutine *to,
		     const struct view *v)
{
	const struct coroutine *const c = v->c;

	if (to->vm == 0)
		to->vm = c->vm;
	if (to->creator == 0)
		to->creator = c->creator;
	to->is_native |= c->is_native;
	to->resumes += c->resumes;
	to->active += c->active;
	to->suspended += c->suspended;
	to->inferred += c->inferred;
	add_threads(to, v);
	if (c->body)
		coroutine_began(to, join_func(j, v->piece, c->body),
				c->has_lua_body, instant_of(v, c->body_at));
	if (c->last.at > 0)
		coroutine_was(to, c->state, instant_of(v, c->last));
}

/* The only piece that has coroutines; NULL: there is none, or several have. */
static struct part_ids *only_piece(struct join *j)
{
	struct part_ids *only = NULL;

	for (size_t i = 0; i < j->count; i++)
		if (j->pieces[i].from->coroutine_count > 0) {
			if (only)
				return NULL;
			only = &j->pieces[i];
		}
	return only;
}

static bool is_sorted(const struct part_ids *p)
{
	const struct coroutine *const c = p->from->coroutines;

	for (size_t i = 1; i < p->from->coroutine_count; i++) {
		const struct view a = { .process = p->process[c[i - 1].process],
					.serial = c[i - 1].serial };
		const struct view b = { .process = p->process[c[i].process],
					.serial = c[i].serial };

		if (by_identity(&a, &b) >= 0)
			return false;
	}
	return true;
}

/* There may be a million coroutines, mostly of one thread: then its array
 * becomes that of the whole. */
static void take_coroutines(struct join *j, struct part_ids *p)
{
	struct session *const to = j->to, *const from = p->from;

	mem_free(to->coroutines);
	to->coroutines = from->coroutines;
	to->coroutine_count = from->coroutine_count;
	from->coroutines = NULL;
	from->coroutine_count = 0;
	for (size_t i = 0; i < to->coroutine_count; i++) {
		struct coroutine *const c = &to->coroutines[i];

		c->process = p->process[c->process];
		c->body = join_func(j, p, c->body);
		c->body_at.thread = p->thread[c->body_at.thread];
		c->last.thread = p->thread[c->last.thread];
		for (uint32_t k = 0; k < c->thread_count && k < 4; k++)
			c->threads[k] = p->thread[c->threads[k]];
		p->coroutine[i] = (uint32_t)i + 1;
	}
}

static void join_coroutines(struct join *j)
{
	struct session *const to = j->to;
	struct coroutine *const own = to->coroutines;
	size_t count;
	struct view *const list = list_views(j, own, to->coroutine_count,
					     &count);

	to->coroutines = mem_alloc((count + 1) * sizeof(*to->coroutines));
	to->coroutine_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct view *const v = &list[i];

		if (i == 0 || by_identity(v, v - 1) != 0)
			to->coroutines[to->coroutine_count++] =
				(struct coroutine){ .process = v->process,
						    .serial = v->serial };
		add_view(j, &to->coroutines[to->coroutine_count - 1], v);
		if (v->piece)
			v->piece->coroutine[v->c - v->piece->from->coroutines] =
				(uint32_t)to->coroutine_count;
	}
	mem_free_all(list, own);
}

/* ---- the tree ----------------------------------------------------------- */

/* Put the nodes of each root together. */
static void sort_nodes(struct part_ids *p)
{
	struct cct *const t = p->from->cct;
	const size_t n = cct_count(t);
	node_id *const root = mem_alloc((n + 1) * sizeof(*root));
	size_t at = 0;

	for (node_id id = 1; id <= n; id++) {
		const node_id parent = cct_get(t, id)->parent;

		root[id] = parent ? root[parent] : id;
		p->first[root[id]]++;
	}
	for (node_id id = 1; id <= n; id++) {
		const size_t size = p->first[id];

		p->first[id] = at;
		at += size;
	}
	p->first[n + 1] = at;
	for (node_id id = 1; id <= n; id++)
		p->nodes[p->first[root[id]]++] = id;
	/* Each has moved to the end of its root's nodes. */
	for (node_id id = (node_id)n; id > 0; id--)
		p->first[id] = id > 1 ? p->first[id - 1] : 0;
	mem_free(root);
}

/* What says whose coroutine a body is: in the whole, its VM wherever that is
 * known. */
static uint32_t join_flags(const struct join *j, const struct part_ids *p,
			   uint32_t flags)
{
	const uint32_t of = flags >> CCT_OF_SHIFT;
	const uint32_t shape = flags & ((1u << CCT_OF_SHIFT) - 1);
	uint32_t process, co = of & ~SESSION_OF_COROUTINE, vm;
	uint64_t serial;

	if (of == 0)
		return flags;
	if (of & SESSION_OF_COROUTINE) {
		if (co == 0 || co > p->coroutine_count)
			return flags;
		co = p->coroutine[co - 1];
		process = j->to->coroutines[co - 1].process;
		serial = j->to->coroutines[co - 1].vm;
	} else {
		process = p->process[p->from->vms[of - 1].process];
		serial = p->from->vms[of - 1].serial;
		co = 0;
	}
	vm = serial ? map_find(j->vm_of, process, serial) : 0;
	if (vm != 0 && vm < SESSION_OF_COROUTINE)
		return shape | vm << CCT_OF_SHIFT;
	co = co < SESSION_OF_COROUTINE ? co : 0;
	return shape | (SESSION_OF_COROUTINE | co) << CCT_OF_SHIFT;
}

/* Add a thread's nodes, parents before their children. */
static void join_nodes(struct join *j, struct cct *to, struct part_ids *p,
		       uint32_t thread, uint32_t as)
{
	struct cct *const from = p->from->cct;
	const node_id root = cct_root(from, thread);
	const size_t begin = p->first[root], samples = cct_sample_count(to);

	p->node[root] = cct_root(to, as);
	cct_add(to, p->node[root], from, root);
	for (size_t i = begin + 1; i < p->first[root + 1]; i++) {
		const node_id id = p->nodes[i];
		const struct cct_node *const n = cct_get(from, id);

		p->node[id] = cct_child(to, p->node[n->parent],
					join_func(j, p, n->func),
					join_flags(j, p, n->flags));
		cct_add(to, p->node[id], from, id);
	}
	cct_map_near(to, samples, p->node);
	for (size_t i = samples; i < cct_sample_count(to); i++) {
		struct cct_sample *const s = cct_sample_get(to, i);

		s->place = p->place[s->place];
	}
}

/* The limit was kept where the pieces were filled: what is beyond it stands
 * below "(deeper)" already. */
static void join_trees(struct join *j, const struct session_thread *of)
{
	struct session *const to = j->to;
	struct cct *const tree = cct_new(SIZE_MAX);
	size_t folded = 0;

	for (size_t i = 0; i < j->count; i++) {
		cct_collect_as(tree, j->pieces[i].from->cct);
		folded += cct_deeper(j->pieces[i].from->cct);
		sort_nodes(&j->pieces[i]);
	}
	for (uint32_t i = 0; i < to->thread_count; i++)
		join_nodes(j, tree, &j->pieces[of[i].part], of[i].thread, i);
	cct_set_folded(to->cct, folded);
	cct_take(to->cct, tree);
}

/* ---- all of it ---------------------------------------------------------- */

static void piece_init(struct part_ids *p, struct session *from)
{
	const size_t nodes = cct_count(from->cct);
	const size_t funcs = func_count(from->funcs);

	p->from = from;
	p->coroutine_count = from->coroutine_count;
	p->process = mem_alloc(from->process_count * sizeof(*p->process));
	p->thread = mem_alloc(from->thread_count * sizeof(*p->thread));
	p->coroutine = mem_alloc(from->coroutine_count *
				 sizeof(*p->coroutine));
	p->func = mem_alloc((funcs + 1) * sizeof(*p->func));
	p->module = mem_alloc((func_elf_count(from->funcs) + 1) *
			      sizeof(*p->module));
	p->place = mem_alloc(from->place_count * sizeof(*p->place));
	p->nodes = mem_alloc((nodes + 1) * sizeof(*p->nodes));
	p->node = mem_alloc((nodes + 1) * sizeof(*p->node));
	p->first = mem_alloc((nodes + 2) * sizeof(*p->first));
}

void session_join(struct session *to, struct session *const *parts,
		  size_t count, const struct session_thread *of)
{
	struct join j = { to, mem_alloc((count + 1) * sizeof(*j.pieces)),
			  count, map_new(), map_new(), map_new(), 0, 0 };
	struct part_ids *only;

	for (uint32_t i = 0; i < to->vm_count; i++)
		*map_put(j.vm_of, to->vms[i].process, to->vms[i].serial) =
			i + 1;
	for (size_t i = 0; i < count; i++)
		piece_init(&j.pieces[i], parts[i]);
	for (uint32_t i = 0; i < to->thread_count; i++)
		join_thread(&j, i, &of[i]);
	for (size_t i = 0; i < count; i++) {
		join_gaps(&j, &j.pieces[i]);
		session_add_sums(to, parts[i]);
		join_places(&j, &j.pieces[i]);
		join_lines(&j, &j.pieces[i]);
	}
	only = only_piece(&j);
	if (only && to->coroutine_count == 0 && is_sorted(only))
		take_coroutines(&j, only);
	else
		join_coroutines(&j);
	join_trees(&j, of);
	for (struct part_ids *p = j.pieces; p < j.pieces + count; p++)
		mem_free_all(p->process, p->thread, p->coroutine, p->func,
			     p->module, p->place, p->nodes, p->node, p->first);
	mem_free(j.pieces);
	map_free(j.vm_of);
	map_free(j.place_of);
	map_free(j.line_of);
	assert(session_valid(to));
}
