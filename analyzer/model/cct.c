/* cct.c - the calling-context tree: nodes in an array, children found by a hash
 * table over all of them. Parents have smaller ids than their children.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/cct.h"
#include "analyzer/model/cct_private.h"
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 256, MAX_NODES = 1 << 30 };

struct cct *cct_new(size_t max_nodes)
{
	struct cct *const t = mem_alloc(sizeof(*t));

	t->max = max_nodes < MAX_NODES ? max_nodes : MAX_NODES;
	t->room = FIRST_ROOM;
	t->nodes = mem_alloc(t->room * sizeof(*t->nodes));
	t->slot_mask = FIRST_ROOM * 2 - 1;
	t->slots = mem_alloc((t->slot_mask + 1) * sizeof(*t->slots));
	t->root_of = map_new();
	return t;
}

void cct_free(struct cct *t)
{
	if (!t)
		return;
	hist_free(t->hist);
	mem_free_all(t->cpu, t->counted, t->heap, t->sampled, t->sample,
		     t->given);
	map_free(t->given_of);
	map_free(t->folded_paths);
	map_free(t->root_of);
	mem_free_all(t->nodes, t->slots, t->folds_at, t);
}

struct cct_node *cct_get(struct cct *t, node_id id)
{
	return &t->nodes[id <= t->count ? id : 0];
}

size_t cct_count(const struct cct *t)
{
	return t->count;
}

size_t cct_deeper(const struct cct *t)
{
	return t->folded;
}

void cct_set_folded(struct cct *t, size_t paths)
{
	t->folded = paths;
}

void cct_set_deeper(struct cct *t, func_id deeper)
{
	t->deeper = deeper;
}

node_id cct_first_root(const struct cct *t)
{
	return t->first_root;
}

/* Enter a node in the hash table, which has room. */
static void put_slot(struct cct *t, node_id id)
{
	const struct cct_node *const n = &t->nodes[id];
	uint64_t i = cct_hash(n->parent, n->func, n->flags & CCT_KEY);

	while (t->slots[i & t->slot_mask])
		i++;
	t->slots[i & t->slot_mask] = id;
}

/* What is collected by node, if it is, with room for all nodes; new ones have
 * zeros. */
static void *by_node(const struct cct *t, void *all, size_t size)
{
	size_t had = t->room / 2;

	return all ? vec_grown_zeroed(all, &had, t->room, size) : NULL;
}

/* Twice the room; the hash table is made anew. */
static void grow(struct cct *t)
{
	t->room *= 2;
	t->nodes = mem_grow(t->nodes, t->room, sizeof(*t->nodes));
	if (t->hist)
		hist_need(t->hist, t->room);
	t->cpu = by_node(t, t->cpu, sizeof(*t->cpu));
	t->counted = by_node(t, t->counted, sizeof(*t->counted));
	t->heap = by_node(t, t->heap, sizeof(*t->heap));
	t->sampled = by_node(t, t->sampled, sizeof(*t->sampled));
	mem_free(t->slots);
	t->slot_mask = t->room * 2 - 1;
	t->slots = mem_alloc((t->slot_mask + 1) * sizeof(*t->slots));
	for (size_t id = 1; id <= t->count; id++)
		if (t->nodes[id].parent)
			put_slot(t, (node_id)id);
}

static node_id add_node(struct cct *t, node_id parent)
{
	if (t->count + 1 >= t->room)
		grow(t);
	t->nodes[++t->count] = (struct cct_node){ .parent = parent };
	return (node_id)t->count;
}

node_id cct_root(struct cct *t, uint32_t thread)
{
	uint32_t *const known = map_put(t->root_of, thread, 0);
	node_id id;

	if (*known)
		return *known;
	id = add_node(t, 0);
	t->nodes[id].thread = thread;
	if (t->last_root)
		t->nodes[t->last_root].sibling = id;
	else
		t->first_root = id;
	t->last_root = id;
	*known = id;
	return id;
}

/* A new first child; the table does not have it yet. */
static node_id add_child(struct cct *t, node_id parent, func_id func,
			 uint32_t flags)
{
	const node_id id = add_node(t, parent);

	t->nodes[id].func = func;
	t->nodes[id].flags = flags;
	t->nodes[id].sibling = t->nodes[parent].child;
	t->nodes[parent].child = id;
	put_slot(t, id);
	return id;
}

static bool is_deeper(const struct cct *t, node_id id)
{
	return t->nodes[id].func == t->deeper &&
	       (t->nodes[id].flags & CCT_OMITTED);
}

/* The "(deeper)" node for what is called at a node: the one that it is below,
 * or that of its coroutine's body, or of the function that its thread began
 * with. So what sleeps stays in its coroutine, and there are few of them. */
static node_id deeper_at(struct cct *t, node_id at)
{
	node_id id;

	/* Once for each node: the way up may be long. */
	vec_need(&t->folds_at, &t->fold_room, t->count + 1);
	while (t->folds < t->count) {
		const struct cct_node *const n = &t->nodes[++t->folds];

		t->folds_at[t->folds] = is_deeper(t, (node_id)t->folds) ||
			(n->flags & CCT_BODY) || !t->nodes[n->parent].parent ?
			(node_id)t->folds : t->folds_at[n->parent];
	}
	at = t->folds_at[at];
	if (is_deeper(t, at))
		return at;
	id = cct_find(t, at, t->deeper, CCT_OMITTED);
	return id ? id : add_child(t, at, t->deeper, CCT_OMITTED);
}

/* Paths beyond the limit are counted by their last step only. */
static void count_folded(struct cct *t, node_id parent, func_id func)
{
	uint32_t *seen;

	if (!t->folded_paths)
		t->folded_paths = map_new();
	if (map_count(t->folded_paths) >= t->max)
		return;
	seen = map_put(t->folded_paths, parent, func);
	t->folded += *seen == 0;
	*seen = 1;
}

/* Find or add the node of a path beyond the limit: a child of "(deeper)", one
 * for each function. */
static node_id fold(struct cct *t, node_id parent, func_id func,
		    uint32_t flags)
{
	node_id id, at = deeper_at(t, parent), above;

	count_folded(t, parent, func);
	if (func == t->deeper && (flags & CCT_OMITTED))
		return at;
	/* A body there has a "(deeper)" of its own. The bodies that it resumes
	 * stand beside it: otherwise there would be no end of them. */
	above = t->nodes[t->nodes[at].parent].parent;
	if ((flags & CCT_BODY) && is_deeper(t, above))
		at = above;
	id = cct_find(t, at, func, flags & CCT_KEY);
	return id ? id : add_child(t, at, func, flags & CCT_KEY);
}

node_id cct_child(struct cct *t, node_id parent, func_id func, uint32_t flags)
{
	const node_id id = cct_find(t, parent, func, flags & CCT_KEY);

	assert(parent > 0 && parent <= t->count);
	if (id)
		return id;
	if (t->count < t->max || (flags & CCT_OUTSIDE))
		return add_child(t, parent, func, flags & CCT_KEY);
	return fold(t, parent, func, flags);
}

void cct_take(struct cct *t, struct cct *other)
{
	const struct cct old = *t;

	*t = *other;
	t->folded = old.folded;
	t->deeper = old.deeper;
	t->max = old.max > other->count ? old.max : other->count;
	*other = old;
	cct_free(other);
}

/* The path from the root down, without its CCT_OUTSIDE node. The caller frees
 * *path. */
static size_t path_to(const struct cct *t, node_id id, node_id **path)
{
	size_t n = 0;

	for (node_id i = id; t->nodes[i].parent; i = t->nodes[i].parent)
		n += !(t->nodes[i].flags & CCT_OUTSIDE);
	*path = mem_grow(NULL, n + 1, sizeof(**path));
	for (size_t k = n; t->nodes[id].parent; id = t->nodes[id].parent)
		if (!(t->nodes[id].flags & CCT_OUTSIDE))
			(*path)[--k] = id;
	return n;
}

node_id cct_beside(struct cct *t, node_id id, bool outside)
{
	node_id *path, at = id;
	size_t n;

	if (id == 0)
		return 0;
	n = path_to(t, id, &path);
	while (t->nodes[at].parent)
		at = t->nodes[at].parent;
	if (outside)
		at = cct_child(t, at, t->deeper, CCT_OUTSIDE);
	for (size_t i = 0; i < n; i++)
		at = cct_child(t, at, t->nodes[path[i]].func,
			       t->nodes[path[i]].flags);
	mem_free(path);
	return at;
}

bool cct_valid(const struct cct *t)
{
	size_t linked = 0;

	for (size_t id = 1; id <= t->count; id++) {
		const struct cct_node *const n = &t->nodes[id];

		if (n->parent >= id || (n->parent == 0) != (n->func == 0))
			return false;
		if (n->parent && cct_find(t, n->parent, n->func,
					  n->flags & CCT_KEY) != id)
			return false;
		for (node_id c = n->child; c; c = t->nodes[c].sibling)
			if (++linked > t->count || t->nodes[c].parent != id)
				return false;
	}
	for (node_id r = t->first_root; r; r = t->nodes[r].sibling)
		linked++;
	return linked == t->count;
}

/* ---- figures ---- */

void cct_time(struct cct *t, node_id id, uint64_t duration)
{
	cct_time_node(cct_get(t, id), duration);
	if (t->hist)
		hist_add(t->hist, id, hist_step(duration), 1);
}

void cct_collect_hist(struct cct *t)
{
	if (!t->hist)
		t->hist = hist_new(t->room);
}

void cct_drop_hist(struct cct *t)
{
	hist_free(t->hist);
	t->hist = NULL;
}

void cct_collect_cpu(struct cct *t)
{
	if (t->cpu)
		return;
	t->cpu = mem_alloc(t->room * sizeof(*t->cpu));
	for (size_t id = 1; id <= t->count; id++)
		t->cpu[id].unknown = t->nodes[id].self;
}

void cct_collect_as(struct cct *t, const struct cct *other)
{
	if (other->hist)
		cct_collect_hist(t);
	if (other->cpu)
		cct_collect_cpu(t);
	if (other->heap)
		cct_collect_heap(t);
	cct_collect_samples_as(t, other);
}

bool cct_has_hist(const struct cct *t)
{
	return t->hist != NULL;
}

bool cct_has_cpu(const struct cct *t)
{
	return t->cpu != NULL;
}

void cct_put_lengths(struct cct *t, node_id id, uint32_t step, uint64_t calls)
{
	assert(t->hist && id <= t->count);
	hist_add(t->hist, id, step, calls);
}

void cct_put_cpu(struct cct *t, node_id id, struct cct_cpu cpu)
{
	assert(t->cpu && id <= t->count);
	t->cpu[id] = cpu;
}

struct cct_cpu cct_cpu_of(const struct cct *t, node_id id)
{
	return t->cpu ? t->cpu[id] : (struct cct_cpu){ 0 };
}

bool cct_knows_switches(const struct cct *t, uint64_t *time, uint64_t *unknown)
{
	uint64_t all = 0, not_known = 0;

	for (size_t id = 1; id <= t->count; id++) {
		all += t->nodes[id].self;
		not_known += t->cpu ? t->cpu[id].unknown : t->nodes[id].self;
	}
	if (time)
		*time = all;
	if (unknown)
		*unknown = not_known;
	return not_known < all / 10;
}

bool cct_hist_counts(const struct cct *t, node_id id, uint64_t *counts)
{
	if (t->hist)
		hist_counts(t->hist, id, counts);
	return t->hist != NULL;
}

void cct_collect_heap(struct cct *t)
{
	if (!t->heap)
		t->heap = mem_alloc(t->room * sizeof(*t->heap));
}

bool cct_has_heap(const struct cct *t)
{
	return t->heap != NULL;
}

struct cct_heap cct_heap_of(const struct cct *t, node_id id)
{
	return t->heap ? t->heap[id] : (struct cct_heap){ 0 };
}

void cct_heap_add(struct heap_sum *to, const struct heap_sum *more)
{
	to->blocks += more->blocks;
	to->bytes += more->bytes;
	to->variance += more->variance;
	to->unseen = fmax(to->unseen, more->unseen);
}

double cct_heap_error(const struct heap_sum *sum)
{
	return sqrt(fmax(sum->variance + sum->unseen, 0));
}

void cct_heap_join(struct cct_heap *to, const struct cct_heap *more)
{
	cct_heap_add(&to->taken, &more->taken);
	cct_heap_add(&to->freed, &more->freed);
	cct_heap_add(&to->in_use, &more->in_use);
}

void cct_add_heap(struct cct *t, node_id id, const struct cct_heap *more)
{
	assert(t->heap && id <= t->count);
	cct_heap_join(&t->heap[id], more);
}

static struct cct_counted *counted_at(struct cct *t, node_id id)
{
	if (!t->counted)
		t->counted = mem_alloc(t->room * sizeof(*t->counted));
	return &t->counted[id];
}

void cct_add_untimed(struct cct *t, node_id id, uint64_t calls)
{
	t->nodes[id].calls += calls;
	counted_at(t, id)->untimed += calls;
}

void cct_time_untimed(struct cct *t, node_id id)
{
	if (t->counted)
		t->counted[id].untimed = 0;
}

void cct_add_brief(struct cct *t, node_id id, uint64_t calls)
{
	t->nodes[id].calls += calls;
	counted_at(t, id)->brief += calls;
}

void cct_note(struct cct *t, node_id id, uint64_t times, uint64_t ns)
{
	counted_at(t, id)->noted += times;
	counted_at(t, id)->noted_ns += ns;
}

struct cct_counted cct_counted_of(const struct cct *t, node_id id)
{
	return t->counted ? t->counted[id] : (struct cct_counted){ 0 };
}

struct cct_counted cct_counted_sum(const struct cct *t)
{
	struct cct_counted sum = { 0 };

	for (size_t id = 1; t->counted && id <= t->count; id++) {
		sum.untimed += t->counted[id].untimed;
		sum.brief += t->counted[id].brief;
		sum.noted += t->counted[id].noted;
		sum.noted_ns += t->counted[id].noted_ns;
	}
	return sum;
}

static void move_part(uint64_t *from, uint64_t *to, double part)
{
	const uint64_t some = (uint64_t)((double)*from * part);

	*from -= some;
	*to += some;
}

bool cct_move_self(struct cct *t, node_id from, node_id to, uint64_t ticks)
{
	const uint64_t self = t->nodes[from].self;
	const double part = self == 0 ? 0 : (double)ticks / (double)self;

	if (ticks > self)
		return false;
	t->nodes[from].self -= ticks;
	t->nodes[to].self += ticks;
	if (t->cpu)
		move_part(&t->cpu[from].unknown, &t->cpu[to].unknown, part);
	if (t->sampled)
		move_part(&t->sampled[from].unsampled,
			  &t->sampled[to].unsampled, part);
	return true;
}

static void add_times(struct cct *t, node_id to, const struct cct *from,
		      node_id id, bool is_same)
{
	const struct cct_node *const n = &from->nodes[id];

	t->nodes[to].self += n->self;
	t->nodes[to].suspended += n->suspended;
	if (t->heap && from->heap)
		cct_add_heap(t, to, &from->heap[id]);
	if (t->sampled)
		cct_join_samples(t, to, from, id, is_same);
	if (!t->cpu)
		return;
	t->cpu[to].off += from->cpu ? from->cpu[id].off : 0;
	t->cpu[to].ready += from->cpu ? from->cpu[id].ready : 0;
	t->cpu[to].unknown += from->cpu ? from->cpu[id].unknown : n->self;
}

void cct_add_times(struct cct *t, node_id to, const struct cct *from,
		   node_id id)
{
	add_times(t, to, from, id, false);
}

void cct_add(struct cct *t, node_id to, const struct cct *from, node_id id)
{
	const struct cct_node *const n = &from->nodes[id];

	add_times(t, to, from, id, true);
	t->nodes[to].calls += n->calls;
	if (from->counted) {
		counted_at(t, to)->untimed += from->counted[id].untimed;
		counted_at(t, to)->brief += from->counted[id].brief;
		cct_note(t, to, from->counted[id].noted,
			 from->counted[id].noted_ns);
	}
	if (n->flags & CCT_TIMED) {
		cct_time_node(&t->nodes[to], n->min);
		cct_time_node(&t->nodes[to], n->max);
	}
	if (t->hist && from->hist)
		hist_join(t->hist, to, from->hist, id);
}

/* One pass in rising order meets every parent before its children. */
void cct_graft(struct cct *t, node_id to, const struct cct *other,
	       node_id from)
{
	node_id *const map = mem_alloc((other->count + 1) * sizeof(*map));
	const size_t samples = t->sample_count;

	map[from] = to;
	cct_add(t, to, other, from);
	for (size_t id = (size_t)from + 1; id <= other->count; id++) {
		const struct cct_node *const n = &other->nodes[id];

		if (!map[n->parent])
			continue;
		map[id] = cct_child(t, map[n->parent], n->func, n->flags);
		cct_add(t, map[id], other, (node_id)id);
	}
	cct_map_near(t, samples, map);
	mem_free(map);
}

void cct_totals(struct cct *t, uint64_t *total, uint64_t *susp)
{
	memset(total, 0, (t->count + 1) * sizeof(*total));
	memset(susp, 0, (t->count + 1) * sizeof(*susp));
	for (size_t id = t->count; id > 0; id--) {
		const struct cct_node *const n = &t->nodes[id];

		total[id] += n->self;
		susp[id] += n->suspended;
		if (n->parent == 0)
			continue;
		total[n->parent] += total[id];
		/* A thread does not sleep with its coroutines, not even where
		 * the tree has only the upper part of its stack. */
		if (!(n->flags & CCT_BODY) && t->nodes[n->parent].parent)
			susp[n->parent] += susp[id];
	}
}

static void add_most(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

uint64_t cct_largest_sum(const struct cct *t)
{
	uint64_t sum[7] = { 0 }, most = 0;

	for (size_t id = 1; id <= t->count; id++) {
		const struct cct_node *const n = &t->nodes[id];

		add_most(&sum[0], n->calls);
		add_most(&sum[1], n->self);
		add_most(&sum[2], n->suspended);
		if (t->cpu) {
			add_most(&sum[3], t->cpu[id].off);
			add_most(&sum[4], t->cpu[id].unknown);
		}
		if (t->sampled) {
			add_most(&sum[5], t->sampled[id].raw);
			add_most(&sum[6], t->sampled[id].unsampled);
		}
	}
	for (size_t i = 0; i < sizeof(sum) / sizeof(sum[0]); i++)
		most = sum[i] > most ? sum[i] : most;
	return most;
}

/* ---- paths ---- */

/* A walk over the tree. last[group]: its innermost node on the path to the node
 * at hand; below[id]: the child of an open node that the path goes through. */
struct walk {
	struct cct *cct;
	const uint32_t *of;      /* by node: its group; NULL: its function */
	struct cct_path *path;
	node_id *last, *below;
};

static uint32_t group_of(const struct walk *w, node_id id)
{
	return w->of ? w->of[id] : cct_get(w->cct, id)->func;
}

static void enter(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const uint32_t group = group_of(w, id);
	struct cct_path *const p = w->path;

	w->below[n->parent] = id;
	p->body[id] = n->parent == 0 || (n->flags & CCT_BODY) ? id :
		      p->body[n->parent];
	if (group == 0)
		return;
	p->same[id] = w->last[group];
	p->branch[id] = p->same[id] == 0 ? 0 : w->below[p->same[id]];
	w->last[group] = id;
}

static void leave(struct walk *w, node_id id)
{
	w->last[group_of(w, id)] = w->path->same[id];
}

/* No recursion: stacks may be deep. */
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
			break;
	}
	leave(w, root);
}

struct cct_path *cct_path_new_of(struct cct *cct, const uint32_t *of,
				 size_t groups)
{
	const size_t nodes = cct_count(cct) + 1;
	struct cct_path *const p = mem_alloc(sizeof(*p));
	struct walk w = { cct, of, p,
			  mem_alloc((groups + 1) * sizeof(node_id)),
			  mem_alloc(nodes * sizeof(node_id)) };

	p->same = mem_alloc(nodes * sizeof(node_id));
	p->branch = mem_alloc(nodes * sizeof(node_id));
	p->body = mem_alloc(nodes * sizeof(node_id));
	for (node_id root = cct_first_root(cct); root != 0;
	     root = cct_get(cct, root)->sibling)
		walk(&w, root);
	mem_free_all(w.last, w.below);
	return p;
}

struct cct_path *cct_path_new(struct cct *cct, size_t functions)
{
	return cct_path_new_of(cct, NULL, functions);
}

void cct_path_free(struct cct_path *p)
{
	if (!p)
		return;
	mem_free_all(p->same, p->branch, p->body, p);
}

/* ---- other roots ---- */

struct cct *cct_reroot(struct cct *from, const struct cct_reroot *o)
{
	const size_t n = cct_count(from);
	struct cct *const t = cct_new(SIZE_MAX);
	node_id *const to = mem_alloc((n + 1) * sizeof(*to));
	node_id *const root = mem_alloc((n + 1) * sizeof(*root));

	cct_collect_as(t, from);
	for (node_id id = 1; id <= n; id++) {
		const struct cct_node *const c = cct_get(from, id);

		root[id] = c->parent ? root[c->parent] : id;
		if (o->thread != CCT_ALL_THREADS &&
		    cct_get(from, root[id])->thread != o->thread)
			continue;
		if (!c->parent)
			to[id] = cct_root(t, o->by_thread ? c->thread :
					  CCT_ALL_THREADS);
		else
			to[id] = cct_child(t, o->by_coroutine &&
					   (c->flags & CCT_BODY) ?
					   to[root[id]] : to[c->parent],
					   c->func, c->flags & CCT_SHAPE);
		cct_add(t, to[id], from, id);
	}
	mem_free_all(to, root);
	return t;
}
