/* session_join.c - joins sessions by what things are, never by their numbers:
 * functions by identity, processes and threads by where they were replayed,
 * coroutines and VMs by process and serial.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/session_join.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <string.h>

/* One of the sessions, and what its numbers are in the whole. */
struct part_ids {
	struct session *from;
	uint32_t *process, *thread; /* by index */
	uint32_t *coroutine;       /* by index: index + 1 */
	func_id *func;             /* by id; 0: not asked for yet */
	elf_id *module;            /* by id; 0: not asked for yet */
	uint32_t *place;           /* by index */
	node_id *node, *next;      /* by id; next: below the same root */
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

/* Those that the whole knows itself, which are native, come before others with
 * their identity. */
ORDER_BY(by_identity, struct coroutine, UP(process) ?: UP(serial))
ORDER_BY(by_whose, struct coroutine, by_identity(x, y) ?: DOWN(is_native))

/* All coroutines, each once, in their order, in which they mostly are. */
static void list_coroutines(struct session *to, const struct join *j)
{
	size_t count = to->coroutine_count, room = count, kept = 0;
	bool is_sorted = count == 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct session *const from = j->pieces[i].from;

		for (size_t k = 0; k < from->coroutine_count; k++) {
			struct coroutine *const c =
				vec_add(&to->coroutines, &room, &count);

			*c = (struct coroutine){
				.process = j->pieces[i].process[
					from->coroutines[k].process],
				.serial = from->coroutines[k].serial };
			is_sorted = is_sorted &&
				(count == 1 || by_identity(c - 1, c) <= 0);
		}
	}
	if (!is_sorted)
		order_sort(to->coroutines, count, by_whose);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || by_identity(&to->coroutines[i],
					  &to->coroutines[kept - 1]) != 0)
			to->coroutines[kept++] = to->coroutines[i];
	to->coroutine_count = kept;
}

/* No thread is in two pieces, so of more than four that one of them has seen,
 * there are more than four. */
static void add_threads(struct coroutine *to, const struct coroutine *c,
			const struct part_ids *p)
{
	for (uint32_t i = 0; i < c->thread_count && i < 4; i++)
		coroutine_ran(to, p->thread[c->threads[i]]);
	if (c->thread_count > 4)
		to->thread_count = c->thread_count;
}

static struct instant instant_of(const struct part_ids *p, struct instant at)
{
	return (struct instant){ at.at, p->thread[at.thread] };
}

/* Add what a piece knows of a coroutine; the first that knows its VM or who
 * created it is believed. */
static void add_coroutine(struct join *j, struct coroutine *to,
			  struct part_ids *p, const struct coroutine *c)
{
	to->vm = to->vm ? to->vm : c->vm;
	to->creator = to->creator ? to->creator : c->creator;
	to->is_native |= c->is_native;
	to->resumes += c->resumes;
	to->active += c->active;
	to->suspended += c->suspended;
	to->inferred += c->inferred;
	add_threads(to, c, p);
	if (c->body)
		coroutine_began(to, join_func(j, p, c->body),
				c->has_lua_body, instant_of(p, c->body_at));
	if (c->last.at > 0)
		coroutine_was(to, c->state, instant_of(p, c->last));
}

/* There may be a million of one thread, in their order: the next is looked at
 * before it is searched for. */
static void join_coroutines(struct join *j, struct part_ids *p)
{
	struct coroutine *const all = j->to->coroutines;
	const size_t count = j->to->coroutine_count;
	size_t at = 0;

	for (size_t k = 0; k < p->from->coroutine_count; k++, at++) {
		struct coroutine *const c = &p->from->coroutines[k];

		c->process = p->process[c->process];
		if (at >= count || by_identity(&all[at], c) != 0)
			at = ORDER_FIRST(i, count, by_identity(&all[i], c) < 0);
		add_coroutine(j, &all[at], p, c);
		p->coroutine[k] = (uint32_t)at + 1;
	}
}

/* ---- the tree ----------------------------------------------------------- */

/* Chain the nodes of each root: they follow it by rising id. */
static void chain_nodes(struct part_ids *p)
{
	const size_t n = cct_count(p->from->cct);
	node_id *const root = mem_alloc((n + 1) * sizeof(*root));

	for (node_id id = 1; id <= n; id++) {
		const node_id parent = cct_get(p->from->cct, id)->parent;

		root[id] = parent ? root[parent] : id;
	}
	for (node_id id = (node_id)n; id > 0; id--)
		if (root[id] != id) {
			p->next[id] = p->next[root[id]];
			p->next[root[id]] = id;
		}
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
		if (co == 0 || co > p->from->coroutine_count)
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
	const size_t samples = cct_sample_count(to);

	p->node[root] = cct_root(to, as);
	cct_add(to, p->node[root], from, root);
	for (node_id id = p->next[root]; id; id = p->next[id]) {
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
		chain_nodes(&j->pieces[i]);
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
	p->process = mem_alloc(from->process_count * sizeof(*p->process));
	p->thread = mem_alloc(from->thread_count * sizeof(*p->thread));
	p->coroutine = mem_alloc(from->coroutine_count *
				 sizeof(*p->coroutine));
	p->func = mem_alloc((funcs + 1) * sizeof(*p->func));
	p->module = mem_alloc((func_elf_count(from->funcs) + 1) *
			      sizeof(*p->module));
	p->place = mem_alloc(from->place_count * sizeof(*p->place));
	p->node = mem_alloc((nodes + 1) * sizeof(*p->node));
	p->next = mem_alloc((nodes + 1) * sizeof(*p->next));
}

void session_join(struct session *to, struct session *const *parts,
		  size_t count, const struct session_thread *of)
{
	struct join j = { to, mem_alloc((count + 1) * sizeof(*j.pieces)),
			  count, map_new(), map_new(), map_new(), 0, 0 };

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
	list_coroutines(to, &j);
	for (size_t i = 0; i < count; i++)
		join_coroutines(&j, &j.pieces[i]);
	join_trees(&j, of);
	for (struct part_ids *p = j.pieces; p < j.pieces + count; p++)
		mem_free_all(p->process, p->thread, p->coroutine, p->func,
			     p->module, p->place, p->node, p->next);
	mem_free(j.pieces);
	map_free(j.vm_of);
	map_free(j.place_of);
	map_free(j.line_of);
	assert(session_valid(to));
}
