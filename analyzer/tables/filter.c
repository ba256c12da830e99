/* filter.c - a new tree from a session's: each node goes below the place its
 * parent went to, or nowhere.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/filter.h"
#include "analyzer/tables/filter_match.h"
#include "analyzer/base/mem.h"

/* By node of the old tree. */
enum place {
	IS_IN = 1,       /* what happened here is selected */
	IS_CHOSEN = 2,   /* above or at it stands the body that was chosen */
	IS_UNDER = 4,    /* ... a frame of under */
	IS_FOCUS = 8,    /* ... a frame of focus */
	LEADS = 16,      /* a frame of focus stands below it */
	BODY_GONE = 32,  /* a body was folded into it: who stands on it is the
	                  * outermost of its coroutine now */
};

struct work {
	struct session *session;
	const struct select *select;
	struct cct *from, *to;
	uint8_t *place;
	node_id *at;             /* where it went; 0: nowhere */
	uint8_t *under, *focus, *skip; /* by func, as select_match says */
	uint32_t keep;           /* flags */
};

static int thread_of_root(const struct work *w, node_id id)
{
	return !w->select->thread ||
	       select_match_thread(w->session, cct_get(w->from, id)->thread,
				   w->select->thread);
}

/* Which conditions hold at a node; its parent's are known. */
static uint8_t place_of(const struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->from, id);
	uint8_t p;

	if (!n->parent)
		p = thread_of_root(w, id) ? IS_IN : 0;
	else
		p = w->place[n->parent] & (IS_IN | IS_CHOSEN | IS_UNDER |
					   IS_FOCUS);
	if (n->flags & CCT_OUTSIDE)
		p = 0;
	if (n->flags & CCT_CHOSEN)
		p |= IS_CHOSEN;
	if (!n->parent || (n->flags & CCT_OMITTED))
		return p;
	if (w->under && w->under[n->func])
		p |= IS_UNDER;
	if (w->focus && w->focus[n->func])
		p |= IS_FOCUS;
	return p;
}

static int is_selected(const struct work *w, uint8_t p)
{
	return (p & IS_IN) && (!w->select->coroutine || (p & IS_CHOSEN)) &&
	       (!w->under || (p & IS_UNDER)) && (!w->focus || (p & IS_FOCUS));
}

/* Without focus the callers of what is selected are not shown. */
static int is_shown(const struct work *w, uint8_t p)
{
	return (p & IS_IN) && (!w->select->coroutine || (p & IS_CHOSEN)) &&
	       (!w->under || (p & IS_UNDER)) &&
	       (!w->focus || (p & (IS_FOCUS | LEADS)));
}

static int is_empty(const struct cct_node *n)
{
	return n->calls == 0 && n->self == 0 && n->suspended == 0 &&
	       !(n->flags & CCT_TIMED);
}

/* Mark what is selected, and what leads there. With a range, nodes in which
 * nothing happened and nothing below is selected go too. */
static void mark(struct work *w)
{
	const size_t count = cct_count(w->from);
	uint8_t *const alive = mem_alloc(count + 1);

	for (node_id id = 1; id <= count; id++)
		w->place[id] = place_of(w, id);
	for (node_id id = (node_id)count; id > 0; id--) {
		const struct cct_node *const n = cct_get(w->from, id);

		if (is_selected(w, w->place[id]) &&
		    (!w->select->range || !is_empty(n) || !n->parent))
			alive[id] = 1;
		if (!alive[id]) {
			w->place[id] &= (uint8_t)~IS_IN;
			continue;
		}
		if (!n->parent)
			continue;
		if (w->select->range || w->focus)
			alive[n->parent] |= (w->place[n->parent] & IS_IN) != 0;
		if (w->place[id] & (IS_FOCUS | LEADS))
			w->place[n->parent] |= LEADS;
	}
	mem_free(alive);
}

/* What told of the coroutine whose body was folded into this node or above. */
static uint32_t gone_body(const struct work *w, node_id id)
{
	while (!(cct_get(w->from, id)->flags & CCT_BODY))
		id = cct_get(w->from, id)->parent;
	return cct_get(w->from, id)->flags & w->keep & ~(uint32_t)CCT_OMITTED;
}

static void add_child(struct work *w, node_id id, node_id parent)
{
	const struct cct_node *const n = cct_get(w->from, id);
	uint32_t flags = n->flags & w->keep;

	if (n->parent && (w->place[n->parent] & BODY_GONE) &&
	    !(flags & CCT_BODY))
		flags |= gone_body(w, n->parent);
	w->at[id] = cct_child(w->to, parent, n->func, flags);
	if (is_selected(w, w->place[id]))
		cct_add(w->to, w->at[id], w->from, id);
}

/* What the frame did is its caller's; but a coroutine's sleep is not that of
 * who resumed it, nor a thread's. */
static void fold(struct work *w, node_id id, node_id parent)
{
	const struct cct_node *const n = cct_get(w->from, id);
	const int body = (n->flags & CCT_BODY) ||
			 (w->place[n->parent] & BODY_GONE);

	w->at[id] = parent;
	if (body)
		w->place[id] |= BODY_GONE;
	if (!is_selected(w, w->place[id]))
		return;
	cct_add_times(w->to, parent, w->from, id);
	if (body || !cct_get(w->to, parent)->parent)
		cct_get(w->to, parent)->suspended -= n->suspended;
}

static void place_node(struct work *w, const node_id *root, node_id id)
{
	const struct cct_node *const n = cct_get(w->from, id);
	node_id parent;

	if (!n->parent) {
		if (!(w->place[id] & IS_IN))
			return;
		w->at[id] = cct_root(w->to, n->thread);
		if (is_selected(w, w->place[id]))
			cct_add(w->to, w->at[id], w->from, id);
		return;
	}
	if (!is_shown(w, w->place[id]))
		return;
	parent = w->at[n->parent];
	if (!parent)
		parent = cct_root(w->to, cct_get(w->from, root[id])->thread);
	if (w->skip && w->skip[n->func] && !(n->flags & CCT_OMITTED))
		fold(w, id, parent);
	else
		add_child(w, id, parent);
}

static void build(struct work *w)
{
	const size_t count = cct_count(w->from);
	node_id *const root = mem_alloc((count + 1) * sizeof(*root));

	for (node_id id = 1; id <= count; id++) {
		const node_id parent = cct_get(w->from, id)->parent;

		root[id] = parent ? root[parent] : id;
		place_node(w, root, id);
	}
	mem_free(root);
}

static void sum(struct cct *t, ticks *self, uint64_t *calls)
{
	for (node_id id = 1; id <= cct_count(t); id++) {
		*self += cct_get(t, id)->self;
		*calls += cct_get(t, id)->calls;
	}
}

struct selected select_apply(struct session *s, const struct select *o,
			     int keep_vm)
{
	const size_t count = cct_count(s->cct);
	struct selected sums = { 0 };
	struct work w = {
		.session = s, .select = o, .from = s->cct,
		.to = cct_new(SIZE_MAX),
		.place = mem_alloc(count + 1),
		.at = mem_alloc((count + 1) * sizeof(node_id)),
		.under = select_match_all(s, o->under),
		.focus = select_match_all(s, o->focus),
		.skip = select_match_all(s, o->skip),
		.keep = keep_vm ? ~(uint32_t)(CCT_CHOSEN | CCT_OUTSIDE) :
			CCT_SHAPE };

	sum(w.from, &sums.whole_self, &sums.whole_calls);
	cct_collect_as(w.to, w.from);
	mark(&w);
	build(&w);
	sum(w.to, &sums.self, &sums.calls);
	cct_take(s->cct, w.to);
	mem_free(w.place);
	mem_free(w.at);
	mem_free(w.under);
	mem_free(w.focus);
	mem_free(w.skip);
	return sums;
}
