/* run.c - the loop over a chunk's records. Calls that nest take about 10 ns
 * each: their part keeps its state in a cursor, and calls other functions only
 * where the tree or the stack grows or an edge of time is reached. All other
 * records are rare; they go through run_record, for which the stream is up to
 * date.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

/* ---- records other than calls that nest ---- */

/* n of the frames that were left out here have ended. Their number is in the
 * entry (ENTRY_UNKNOWN - n), so a sum makes it smaller. */
static void take_omitted(struct stream *st, uint64_t n)
{
	struct frame *const f = &st->frame[st->depth - 1];

	if (frame_omitted(f) > n)
		f->entry += n;
	else
		st->depth--;
}

/* What followed such a call stands under it, up to that event. Not so if it
 * began a fiber, which ended with it. */
static void count_skipped(struct replay *r, const struct stream *st,
			  func_id func)
{
	const struct segment *const top = replay_top(st);
	const struct func *const f = func_get(r->session->funcs, func);
	const bool is_first = st->depth - 1 == top->base && top->serial != 0;

	r->session->threads[st->thread].skipped +=
		f->kind == FUNC_NATIVE && !is_first;
}

/* The innermost frames are gone without returns of their own. */
static void unwind(struct replay *r, struct stream *st, const uint64_t *record)
{
	const uint32_t reason = rec_func(record[0]);
	uint64_t n = rec_value(record[1]);

	if (reason == UNWIND_TAIL && n == 1 && replay_stack_tail(st))
		return;
	while (n > 0 && st->depth > replay_top(st)->base) {
		const struct frame *const f = &st->frame[st->depth - 1];

		if (frame_is_omitted(f)) {
			const uint64_t have = frame_omitted(f);

			take_omitted(st, n);
			n -= n < have ? n : have;
		} else {
			if (reason == UNWIND_SKIPPED)
				count_skipped(r, st, f->func);
			replay_stack_pop(r, st, REPLAY_UNWOUND, reason);
			n--;
		}
	}
	if (n > 0)
		replay_unnested(r, st);
}

/* A LEAVE that does not belong to the innermost call. It may belong to one of
 * the frames that were left out; otherwise it contradicts the stack. */
static void odd_leave(struct replay *r, struct stream *st, func_id func)
{
	if (st->depth > replay_top(st)->base &&
	    frame_is_omitted(&st->frame[st->depth - 1])) {
		take_omitted(st, 1);
		replay_emit_pair(r, st, func, REPLAY_DEFERRED_OMITTED);
	} else {
		replay_unnested(r, st);
	}
}

/* A call that began before the window ends; only an empty stack can show
 * that. */
static void leave_old(struct replay *r, struct stream *st, func_id func)
{
	if (st->depth > 1 || st->segments > 1 ||
	    !replay_window_leave_old(st, func)) {
		replay_unnested(r, st);
		return;
	}
	st->frame[0].node = replay_time_side(st, st->window->root);
	replay_emit_pair(r, st, func, REPLAY_DEFERRED_OLD);
}

/* The innermost call waits: there is one, if nothing is missing. */
static void wait_in(struct replay *r, struct stream *st, const uint64_t *record)
{
	size_t n = 1;

	while (record + n < r->at_hand->records + r->at_hand->header.records &&
	       rec_kind(record[n]) == REC_OPERAND)
		n++;
	if (st->depth <= replay_top(st)->base ||
	    frame_is_omitted(&st->frame[st->depth - 1]))
		replay_unnested(r, st);
	else if (r->sink)
		replay_emit_wait(r, st, record, n);
}

static void mark(struct replay *r, struct stream *st, func_id name)
{
	r->session->threads[st->thread].marks++;
	if (r->sink)
		replay_emit_mark(r, st, name);
}

/* What is said beside calls; what a later format says is left out. */
static void tell(struct replay *r, struct stream *st, const uint64_t *record)
{
	const uint32_t func = rec_func(*record);

	switch (rec_kind(*record)) {
	case REC_MARK:
		mark(r, st, r->func[func]);
		break;
	case REC_WAIT:
		wait_in(r, st, record);
		break;
	default:
		if (r->sink && func >= HEAP_TAKE && func <= HEAP_COLLECTED)
			replay_emit_heap(r, st, r->at_hand, record);
	}
}

/* Any record but a call that nests. Its gap has passed. */
static void run_record(struct replay *r, struct stream *st,
			 const uint64_t *record)
{
	const uint32_t func = rec_func(*record);

	switch (rec_kind(*record)) {
	case REC_LEAVE:
		odd_leave(r, st, r->func[func]);
		break;
	case REC_LEAVE_OLD:
		leave_old(r, st, r->func[func]);
		break;
	case REC_UNWIND:
		unwind(r, st, record);
		break;
	case REC_RESUME:
		replay_switch_resume(r, st, record);
		break;
	case REC_SUSPEND:
		replay_switch_suspend(r, st, record);
		break;
	case REC_CREATE:
		replay_switch_create(r, st, record);
		break;
	case REC_INTERRUPT:
		replay_stack_interrupt(r, st, record);
		break;
	case REC_NOTED:
		replay_noted(r, st, record);
		break;
	case REC_MARK:
	case REC_WAIT:
	case REC_HEAP:
		tell(r, st, record);
		break;
	default:
		break;
	}
}

/* ---- calls ---- */

/* The loop is one function, so that what it uses stays in registers. */
#define HOT static inline __attribute__((always_inline))

/* What the loop uses of a stream, in registers. */
struct cursor {
	ticks now, until;
	struct cct_node *here;   /* node of the innermost open call */
	struct frame *top;       /* one above the innermost frame */
	const struct frame *base;/* of the topmost segment's frames */
	uint64_t calls;
	size_t ended;            /* of replay.ended, not told yet */
	ticks brief;             /* shorter calls need not be told at once */
};

/* From the stream to the cursor ... */
static inline void load(struct cursor *c, const struct stream *st)
{
	c->now = st->now;
	c->until = st->until;
	c->top = st->frame + st->depth;
	c->base = st->frame + replay_top(st)->base;
	c->here = &st->tree->nodes[c->top[-1].node];
}

static void __attribute__((noinline))
tell_ended(struct replay *r, struct stream *st, struct cursor *c)
{
	c->brief = replay_emit_calls(r, st, c->ended);
	c->ended = 0;
}

/* ... and back, before anything else looks at the stream. */
static inline void store(struct replay *r, struct stream *st, struct cursor *c)
{
	st->now = c->now;
	st->depth = (size_t)(c->top - st->frame);
	if (c->ended > 0)
		tell_ended(r, st, c);
}

static void __attribute__((noinline))
pass_edge(struct replay *r, struct stream *st, struct cursor *c, ticks gap)
{
	store(r, st, c);
	replay_time_pass(r, st, gap);
	load(c, st);
}

/* What is done with calls: a constant, so that no code pays for the rest. SUMS:
 * they are added to the tree; FULL: with histograms. Without
 * SUMS a call has the node of the one that it is in. A sink is told of ENDS, if
 * that is all that it wants of calls, or of EVENTS. */
enum { SUMS = 1, FULL = 2, ENDS = 4, EVENTS = 8 };

/* The innermost call runs for so long. */
HOT void pass(struct replay *r, struct stream *st, struct cursor *c, ticks gap,
	      const unsigned what)
{
	if (what & EVENTS && r->sink->pass && c->now + gap >= st->quiet) {
		store(r, st, c);
		replay_emit_pass(r, st, c->now, c->now + gap);
	}
	if (__builtin_expect(c->now + gap >= c->until, 0)) {
		pass_edge(r, st, c, gap);
		return;
	}
	c->now += gap;
	if (what & (ENDS | EVENTS))
		c->top[-1].self += gap;
	if (what & SUMS)
		c->here->self += gap;
}

/* A call for the sink, which has ended. */
HOT void add_ended(struct replay *r, struct stream *st, struct cursor *c,
		   func_id func, ticks begin, ticks self)
{
	const size_t most = sizeof(r->ended) / sizeof(r->ended[0]);
	struct replay_call *const call = &r->ended[c->ended++];

	call->begin = begin;
	call->end = c->now;
	call->self = self;
	call->func = func;
	call->depth = (uint32_t)(c->top - st->frame - 1);
	if (c->now - begin >= c->brief || c->ended == most)
		store(r, st, c);
}

static node_id __attribute__((noinline))
add_child(struct stream *st, struct cursor *c, node_id at, func_id func,
	  uint32_t flags)
{
	const node_id id = cct_child(st->tree, at, func, flags);

	c->here = &st->tree->nodes[c->top[-1].node];
	return id;
}

/* A call at the base of the topmost segment, which is a coroutine's. */
static node_id __attribute__((noinline))
outermost(struct replay *r, struct stream *st, struct cursor *c, func_id func,
	  bool is_summed)
{
	uint32_t flags;

	store(r, st, c);
	flags = replay_stack_outermost(r, st, func);
	load(c, st);
	return is_summed ? add_child(st, c, replay_here(st), func, flags) :
			   replay_here(st);
}

/* The node of a call of func made now. */
HOT node_id child(struct replay *r, struct stream *st, struct cursor *c,
		  func_id func, const unsigned what)
{
	node_id id;

	if (__builtin_expect(c->top == c->base && st->segments > 1, 0))
		return outermost(r, st, c, func, what & SUMS);
	if (!(what & SUMS))
		return c->top[-1].node;
	id = cct_find(st->tree, c->top[-1].node, func, 0);
	return __builtin_expect(id != 0, 1) ? id :
	       add_child(st, c, c->top[-1].node, func, 0);
}

/* A call begins. Its node counts it at once, also if its end is never seen. */
HOT void begin(struct replay *r, struct stream *st, struct cursor *c,
	       func_id func, node_id id, const unsigned what)
{
	if (__builtin_expect(c->top == st->frame + st->room, 0)) {
		store(r, st, c);
		replay_stack_need(st, st->depth + 1);
		load(c, st);
	}
	*c->top++ = (struct frame){ func, id, c->now, 0 };
	if (what & SUMS) {
		c->here = &st->tree->nodes[id];
		c->here->calls++;
	}
	c->calls++;
	if (what & EVENTS && r->sink->enter && c->now >= st->quiet) {
		store(r, st, c);
		replay_emit_enter(r, st, func, st->depth - 2, REPLAY_SEEN);
	}
}

HOT void enter(struct replay *r, struct stream *st, struct cursor *c,
	       func_id func, const unsigned what)
{
	begin(r, st, c, func, child(r, st, c, func, what), what);
}

/* A call ended: the rule for LEAVE and LEAF. */
HOT void count_end(const struct cct *t, struct cct_node *n, ticks took,
		   const unsigned what)
{
	cct_time_node(n, took);
	if (what & FULL && t->hist)
		hist_count(t->hist, (size_t)(n - t->nodes), took);
}

/* The innermost call ends; false if it is not one of func. */
HOT bool leave(struct replay *r, struct stream *st, struct cursor *c,
	       func_id func, const unsigned what)
{
	const struct frame *const f = c->top - 1;

	if (__builtin_expect(f < c->base || f->func != func, 0))
		return false;
	if (what & SUMS && __builtin_expect(f->entry < ENTRY_NONE, 1))
		count_end(st->tree, c->here, c->now - f->entry, what);
	if (what & ENDS && f->self >= SELF_GIVEN) {
		store(r, st, c);
		replay_emit_leave(r, st, func, st->depth - 2, REPLAY_SEEN, 0);
		c->brief = 0;
	}
	c->top--;
	if (what & SUMS)
		c->here = &st->tree->nodes[c->top[-1].node];
	if (what & ENDS && f->self < SELF_GIVEN)
		add_ended(r, st, c, func, f->entry, f->self);
	if (what & EVENTS && c->now >= st->quiet) {
		store(r, st, c);
		replay_emit_leave(r, st, func, st->depth - 1, REPLAY_SEEN, 0);
	}
	return true;
}

/* A whole call whose ends are events, or in which an edge of the clock lies. */
static void __attribute__((noinline))
leaf_apart(struct replay *r, struct stream *st, struct cursor *c, func_id func,
	   ticks took, unsigned what)
{
	enter(r, st, c, func, what);
	pass(r, st, c, took, what);
	leave(r, st, c, func, what);
}

/* A whole call's part in the tree. */
HOT void count_leaf(struct replay *r, struct stream *st, struct cursor *c,
		    func_id func, ticks took, const unsigned what)
{
	const node_id id = child(r, st, c, func, what);
	/* Only now: the tree may have moved. */
	struct cct_node *const n = &st->tree->nodes[id];

	n->calls++;
	n->self += took;
	count_end(st->tree, n, took, what);
}

/* A whole call in one record. */
HOT void leaf(struct replay *r, struct stream *st, struct cursor *c,
	      uint64_t word, const unsigned what)
{
	const func_id func = r->func[rec_func(word)];
	const ticks took = rec_leaf_duration(word);

	pass(r, st, c, rec_leaf_gap(word), what);
	if (__builtin_expect(c->now + took >= c->until ||
			     (what & EVENTS && c->now + took >= st->quiet),
			     0)) {
		leaf_apart(r, st, c, func, took, what);
		return;
	}
	if (what & SUMS)
		count_leaf(r, st, c, func, took, what);
	else	/* It may show that a coroutine's body has ended. */
		child(r, st, c, func, what);
	c->now += took;
	c->calls++;
	if (what & ENDS)
		add_ended(r, st, c, func, c->now - took, took);
}

/* Which Lua functions make the next call, resume or take memory holds for the
 * next record alone. */
static void forget_lua(struct stream *st)
{
	if (replay_lua_calls(st))
		st->lua->pending = false;
}

/* Anything but a call that nests. The stream is brought up to date for it, and
 * read again afterwards. */
static void slow(struct replay *r, struct stream *st, struct cursor *c,
		 const uint64_t *record)
{
	const enum rec_kind kind = rec_kind(*record);

	store(r, st, c);
	if (kind != REC_HEAP && kind != REC_RESUME && kind != REC_NOTED)
		forget_lua(st);
	run_record(r, st, record);
	if (kind == REC_HEAP)
		forget_lua(st);
	load(c, st);
	c->brief = 0;
}

/* A record of one of the kinds ENTER, LEAVE and LEAF. */
HOT void call(struct replay *r, struct stream *st, struct cursor *c,
	      const uint64_t *record, const unsigned what)
{
	const uint64_t word = *record;
	const func_id func = r->func[rec_func(word)];

	if (rec_kind(word) == REC_LEAF) {
		leaf(r, st, c, word, what);
		return;
	}
	pass(r, st, c, rec_gap(word), what);
	if (rec_kind(word) == REC_ENTER)
		enter(r, st, c, func, what);
	else if (!leave(r, st, c, func, what))
		slow(r, st, c, record);
}

/* An ENTER or LEAF of a call that Lua functions make which have no frames. */
static void __attribute__((noinline))
call_of_lua(struct replay *r, struct stream *st, struct cursor *c,
	    const uint64_t *record, unsigned what)
{
	const uint64_t word = *record;
	const bool is_leaf = rec_kind(word) == REC_LEAF;
	const func_id func = r->func[rec_func(word)];
	node_id id;

	pass(r, st, c, is_leaf ? rec_leaf_gap(word) : rec_gap(word), what);
	store(r, st, c);
	id = replay_lua_caller(r, st);
	st->lua->leaf = is_leaf ? record : NULL;
	st->lua->caller = id;
	st->lua->leaf_chunk = r->chunk;
	if (what & SUMS)
		id = cct_child(st->tree, id, func, 0);
	load(c, st);
	begin(r, st, c, func, id, what);
	if (!is_leaf)
		return;
	pass(r, st, c, rec_leaf_duration(word), what);
	leave(r, st, c, func, what);
}

/* Which Lua functions make the next call was said: goes on from there, if it
 * comes. Returns where it is. */
static size_t __attribute__((noinline))
after_lua(struct replay *r, struct stream *st, struct cursor *c,
	  const struct chunk *chunk, size_t i, size_t to, unsigned what)
{
	while (i < to && rec_kind(chunk->records[i]) == REC_OPERAND)
		i++;
	for (; i < to && rec_kind(chunk->records[i]) == REC_TIME; i++)
		pass(r, st, c, decode_record_lead(chunk->records[i]), what);
	if (i == to)
		return i;
	switch (rec_kind(chunk->records[i])) {
	case REC_ENTER:
	case REC_LEAF:
		call_of_lua(r, st, c, &chunk->records[i], what);
		return i + 1;
	case REC_LEAVE:
		forget_lua(st);
		return i;
	default:
		return i;
	}
}

/* The loop itself, inlined once for each `what`. */
HOT size_t run(struct replay *r, struct stream *st, const struct chunk *chunk,
	       size_t from, size_t to, const unsigned what)
{
	struct cursor c = { .calls = 0 };
	size_t i = from;

	load(&c, st);
	if (replay_lua_calls(st))
		i = after_lua(r, st, &c, chunk, i, to, what);
	while (i < to) {
		const uint64_t *const record = &chunk->records[i++];
		const unsigned kind = rec_kind(*record);

		if (__builtin_expect(kind - REC_ENTER <=
				     REC_LEAF - REC_ENTER, 1)) {
			call(r, st, &c, record, what);
			continue;
		}
		if (kind == REC_OPERAND)
			continue;
		pass(r, st, &c, decode_record_lead(*record), what);
		if (kind != REC_TIME)
			slow(r, st, &c, record);
		if (__builtin_expect(replay_lua_calls(st), 0))
			i = after_lua(r, st, &c, chunk, i, to, what);
	}
	store(r, st, &c);
	r->calls += c.calls;
	return i;
}

/* What must be done for a chunk's calls. */
static unsigned what_of(const struct replay *r, const struct stream *st)
{
	const struct replay_sink *const s = r->sink;

	return (r->want.only_events ? 0 :
		s || st->tree->hist ? SUMS | FULL : SUMS) |
	       (!s ? 0 : s->calls ? ENDS :
		s->enter || s->leave || s->pass ? EVENTS : 0);
}

size_t replay_run(struct replay *r, struct stream *st,
		  const struct chunk *chunk, size_t from, size_t to)
{
	assert(from <= to && to <= chunk->header.records);
	r->at_hand = chunk;
	switch (what_of(r, st)) {
	case SUMS:
		return run(r, st, chunk, from, to, SUMS);
	case SUMS | FULL:
		return run(r, st, chunk, from, to, SUMS | FULL);
	case SUMS | FULL | ENDS:
		return run(r, st, chunk, from, to, SUMS | FULL | ENDS);
	case SUMS | FULL | EVENTS:
		return run(r, st, chunk, from, to, SUMS | FULL | EVENTS);
	case ENDS:
		return run(r, st, chunk, from, to, ENDS);
	case EVENTS:
		return run(r, st, chunk, from, to, EVENTS);
	default:
		return run(r, st, chunk, from, to, 0);
	}
}
