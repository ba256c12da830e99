/* replay_run.c - the loop over a chunk's records. Calls are handled here, in
 * about 10 ns each; everything else in replay_stack.c and replay_switch.c.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"

/* The stream's hot fields, in registers during the loop. */
struct cursor {
	ticks now, until;
	struct cct_node *here;   /* node of the innermost open call */
	struct frame *top;       /* one above the innermost frame */
	const struct frame *base;/* of the topmost segment's frames */
	uint64_t calls;
};

static inline void load(struct cursor *c, const struct stream *st)
{
	c->now = st->now;
	c->until = st->until;
	c->top = st->frame + st->depth;
	c->base = st->frame + replay_top(st)->base;
	c->here = &st->tree->nodes[c->top[-1].node];
}

static inline void store(const struct cursor *c, struct stream *st)
{
	st->now = c->now;
	st->depth = (size_t)(c->top - st->frame);
}

static void __attribute__((noinline))
pass_edge(struct replay *r, struct stream *st, struct cursor *c, ticks gap)
{
	store(c, st);
	replay_clock_pass(r, st, gap);
	load(c, st);
}

/* The clock moves on while the innermost call runs. */
static inline void pass(struct replay *r, struct stream *st, struct cursor *c,
			ticks gap, const int full)
{
	if (full && r->sink) {
		store(c, st);
		replay_emit_pass(r, st, c->now, c->now + gap);
	}
	if (__builtin_expect(c->now + gap >= c->until, 0)) {
		pass_edge(r, st, c, gap);
		return;
	}
	c->now += gap;
	c->here->self += gap;
}

static node_id __attribute__((noinline))
add_child(struct replay *r, struct stream *st, struct cursor *c, func_id func,
	  uint32_t flags)
{
	const node_id id = cct_child(st->tree, c->top[-1].node, func, flags);

	(void)r;
	c->here = &st->tree->nodes[c->top[-1].node];
	return id;
}

/* The node of a call of func made now. */
static inline node_id child(struct replay *r, struct stream *st,
			    struct cursor *c, func_id func)
{
	uint32_t flags = 0;
	node_id id;

	if (__builtin_expect(c->top == c->base && st->segments > 1, 0)) {
		flags = replay_clock_body(r, st);
		replay_stack_body(r, st, func);
	}
	id = cct_find(st->tree, c->top[-1].node, func, flags);
	return __builtin_expect(id != 0, 1) ? id :
		add_child(r, st, c, func, flags);
}

static inline void enter(struct replay *r, struct stream *st,
			 struct cursor *c, func_id func)
{
	const node_id id = child(r, st, c, func);

	if (__builtin_expect(c->top == st->frame + st->room, 0)) {
		store(c, st);
		replay_stack_need(st, st->depth + 1);
		load(c, st);
	}
	*c->top++ = (struct frame){ func, id, c->now };
	c->here = &st->tree->nodes[id];
	c->here->calls++;
	c->calls++;
}

static inline int leave(struct stream *st, struct cursor *c, func_id func,
			const int full)
{
	const struct frame *const f = c->top - 1;

	if (__builtin_expect(f < c->base || f->func != func, 0))
		return 0;
	if (__builtin_expect(f->entry < ENTRY_NONE, 1)) {
		cct_time_node(c->here, c->now - f->entry);
		if (full && st->tree->hist)
			hist_count(st->tree->hist, f->node,
				   c->now - f->entry);
	}
	c->top--;
	c->here = &st->tree->nodes[c->top[-1].node];
	return 1;
}

static inline void leaf(struct replay *r, struct stream *st, struct cursor *c,
			func_id func, ticks duration, const int full)
{
	const node_id id = child(r, st, c, func);
	/* Only now: the tree may have moved. */
	struct cct_node *const n = &st->tree->nodes[id];

	n->calls++;
	n->self += duration;
	cct_time_node(n, duration);
	if (full && st->tree->hist)
		hist_count(st->tree->hist, id, duration);
	c->now += duration;
	c->calls++;
}

static inline size_t depth_of(const struct stream *st, const struct cursor *c)
{
	return (size_t)(c->top - st->frame) - 1;
}

static void slow(struct replay *r, struct stream *st, struct cursor *c,
		 const uint64_t *record)
{
	store(c, st);
	replay_stack_record(r, st, record);
	load(c, st);
}

/* The event form of a call record, or of one half of a LEAF. */
static inline void enter_told(struct replay *r, struct stream *st,
			      struct cursor *c, func_id func)
{
	enter(r, st, c, func);
	if (!r->sink)
		return;
	store(c, st);
	replay_emit_enter(r, st, c->now, func, depth_of(st, c) - 1,
			  REPLAY_SEEN);
}

static inline int leave_told(struct replay *r, struct stream *st,
			     struct cursor *c, func_id func)
{
	if (!leave(st, c, func, 1))
		return 0;
	if (!r->sink)
		return 1;
	store(c, st);
	replay_emit_leave(r, st, c->now, func, depth_of(st, c), REPLAY_SEEN,
			  0);
	return 1;
}

/* A whole call, in one record. Where an edge of the clock lies in it, or its
 * ends are events, they are taken one by one. */
static inline void whole(struct replay *r, struct stream *st, struct cursor *c,
			 uint64_t word, const int full)
{
	const func_id func = r->func[rec_func(word)];
	const ticks duration = rec_leaf_duration(word);

	pass(r, st, c, rec_leaf_gap(word), full);
	if (__builtin_expect((full && r->sink) ||
			     c->now + duration >= c->until, 0)) {
		enter_told(r, st, c, func);
		pass(r, st, c, duration, 1);
		leave_told(r, st, c, func);
	} else {
		leaf(r, st, c, func, duration, full);
	}
}

/* One call record, in the event form too. */
static inline void call(struct replay *r, struct stream *st, struct cursor *c,
			const uint64_t *record, const int full)
{
	const uint64_t word = *record;
	const func_id func = r->func[rec_func(word)];

	if (rec_kind(word) == REC_LEAF) {
		whole(r, st, c, word, full);
		return;
	}
	pass(r, st, c, rec_gap(word), full);
	if (rec_kind(word) == REC_ENTER) {
		if (full)
			enter_told(r, st, c, func);
		else
			enter(r, st, c, func);
	} else if (!(full ? leave_told(r, st, c, func) :
			    leave(st, c, func, 0))) {
		slow(r, st, c, record);
	}
}

/* Inlined twice, so that the loop without events and histograms pays nothing
 * for them. */
static inline __attribute__((always_inline)) size_t
run(struct replay *r, struct stream *st, const struct chunk *v,
    size_t from, size_t to, const int full)
{
	struct cursor c = { .calls = 0 };
	size_t i = from;

	load(&c, st);
	while (i < to) {
		const uint64_t *const record = &v->records[i++];
		const unsigned kind = rec_kind(*record);

		if (__builtin_expect(kind - REC_ENTER <=
				     REC_LEAF - REC_ENTER, 1)) {
			call(r, st, &c, record, full);
			continue;
		}
		if (kind == REC_OPERAND)
			continue;
		pass(r, st, &c, kind == REC_TIME ? rec_value(*record) :
		     rec_gap(*record), full);
		if (kind != REC_TIME)
			slow(r, st, &c, record);
	}
	store(&c, st);
	r->calls += c.calls;
	return i;
}

size_t replay_run(struct replay *r, struct stream *st,
		  const struct chunk *v, size_t from, size_t to)
{
	return r->sink || st->tree->hist ? run(r, st, v, from, to, 1) :
					   run(r, st, v, from, to, 0);
}
