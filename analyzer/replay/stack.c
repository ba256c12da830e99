/* stack.c - a stream's stack beyond plain calls: taken over from a chunk's open
 * stacks, compared with them, closed; what it hangs on; how others see it. Must
 * not know in which order chunks come.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include <inttypes.h>
#include <stdio.h>

void replay_stack_need(struct stream *st, size_t frames)
{
	vec_need(&st->frame, &st->room, frames);
}

void replay_stack_init(struct stream *st, node_id root)
{
	replay_stack_need(st, 1);
	vec_need(&st->segment, &st->segment_room, 1);
	st->frame[0] = (struct frame){ .node = root, .entry = ENTRY_UNKNOWN };
	st->depth = 1;
	st->segment[0] = (struct segment){ .base = 1 };
	st->segments = 1;
}

bool replay_stack_is_empty(const struct stream *st)
{
	return st->depth == 1 && st->segments == 1;
}

void replay_stack_set_body(struct replay *r, struct stream *st, func_id func)
{
	const uint32_t co = replay_top(st)->co;

	if (co)
		coroutine_began(&r->session->coroutines[co - 1], func,
				func_get(r->session->funcs,
					 func)->kind == FUNC_LUA,
				(struct instant){ st->now, st->thread });
}

func_id replay_stack_omitted(struct replay *r, uint64_t n)
{
	char name[48];

	snprintf(name, sizeof(name), "[%" PRIu64 " frame%s]", n,
		 n == 1 ? "" : "s");
	return func_special(r->session->funcs, name);
}

/* A frame from its word in a stack. Its age leaves out suspensions. */
static struct frame open_frame(struct replay *r, const struct stream *st,
			       uint64_t word)
{
	const uint64_t age = rec_gap(word);

	if (rec_func(word) == REC_FUNC_OMITTED)
		return (struct frame){ .func = replay_stack_omitted(r, age),
				       .entry = ENTRY_UNKNOWN - age,
				       .self = SELF_GIVEN };
	return (struct frame){
		.func = r->func[rec_func(word)], .self = SELF_GIVEN,
		.entry = age >= REC_AGE_BODY || age > st->now ||
			 st->now - age >= ENTRY_NONE ?
				ENTRY_UNKNOWN : st->now - age,
	};
}

void replay_stack_push_open(struct replay *r, struct stream *st,
			    const uint64_t *word, size_t n)
{
	replay_stack_need(st, st->depth + n);
	for (size_t i = 0; i < n; i++) {
		struct frame f = open_frame(r, st, word[i]);
		uint32_t flags = frame_is_omitted(&f) ? CCT_OMITTED : 0;

		st->omits |= flags != 0;
		if (!flags && rec_gap(word[i]) == REC_AGE_BODY)
			flags = CCT_BODY;
		if (st->segments > 1 &&
		    st->depth == segment_first(replay_top(st))) {
			flags |= replay_time_body(r, st);
			if (!(flags & CCT_OMITTED))
				replay_stack_set_body(r, st, f.func);
		}
		f.node = cct_child(st->tree, replay_here(st), f.func, flags);
		st->frame[st->depth++] = f;
	}
}

void replay_stack_push_body(struct replay *r, struct stream *st,
			    uint64_t word)
{
	struct segment *const top = replay_top(st);

	replay_stack_push_open(r, st, &word, 1);
	top->on_body = true;
	top->base++;
}

/* Tell the sink of the frames from there on, whose entries are not seen. */
static void emit_open(struct replay *r, struct stream *st, size_t from,
		      enum replay_why why)
{
	for (size_t i = from; i < st->depth; i++)
		if (!frame_is_omitted(&st->frame[i]))
			replay_emit_enter(r, st, st->frame[i].func, i - 1, why);
}

void replay_stack_borrow(struct replay *r, struct stream *st,
			 const uint64_t *word, size_t n)
{
	const size_t from = st->depth;

	replay_stack_push_open(r, st, word, n);
	if (r->sink)
		emit_open(r, st, from, REPLAY_BORROWED);
}

/* The chunk's open stacks become ours; the stack is empty. */
static void adopt(struct replay *r, struct stream *st,
		  const struct chunk *chunk)
{
	const uint32_t process = r->session->threads[st->thread].process;
	struct chunk_segment s = { 0 };

	while (decode_next_segment(chunk, &s)) {
		const node_id under = replay_here(st);

		if (s.serial) {
			const uint32_t co =
				replay_identities_coroutine(r, process,
							    s.serial);

			*vec_add(&st->segment, &st->segment_room,
				 &st->segments) = (struct segment){
					.serial = s.serial, .co = co,
					.base = st->depth, .since = st->now,
					.under = under };
			coroutine_ran(&r->session->coroutines[co - 1],
				      st->thread);
			if (s.body)
				replay_stack_push_body(r, st, *s.body);
			/* What replaces it may be yet to come. */
			replay_top(st)->tail = s.body && s.frames == 0;
		}
		replay_stack_push_open(r, st, s.frame, s.frames);
		if (r->sink)
			emit_open(r, st, segment_first(replay_top(st)),
				  REPLAY_OPEN_BEFORE);
	}
}

/* Are the frames the same, without a body that was replaced? Frames left out on
 * either side stand for any, but their number must be right. a and b count how
 * much of a group of them is used up already. */
static bool same_frames(const struct replay *r, const struct frame *ours,
		       size_t n, const uint64_t *word, size_t k)
{
	uint64_t a = 0, b = 0; /* frames of ours[i] and word[j] compared */
	size_t i = 0, j = 0;

	while (i < n && j < k) {
		const bool any = frame_is_omitted(&ours[i]) ||
				rec_func(word[j]) == REC_FUNC_OMITTED;
		const uint64_t x = frame_is_omitted(&ours[i]) ?
			frame_omitted(&ours[i]) - a : 1;
		const uint64_t y = rec_func(word[j]) == REC_FUNC_OMITTED ?
			rec_gap(word[j]) - b : 1;

		if (!any && ours[i].func != r->func[rec_func(word[j])])
			return false;
		a = x <= y ? 0 : a + y;
		b = y <= x ? 0 : b + x;
		i += x <= y;
		j += y <= x;
	}
	return i == n && j == k;
}

/* A chunk without a stack says that nothing is open. */
bool replay_stack_same(const struct replay *r, const struct stream *st,
		      const struct chunk *chunk)
{
	struct chunk_segment s = { 0 };
	size_t i = 0;

	if (!chunk->stack)
		return replay_stack_is_empty(st);
	for (; decode_next_segment(chunk, &s); i++) {
		const size_t end = i + 1 < st->segments ?
			segment_first(&st->segment[i + 1]) : st->depth;

		if (i >= st->segments || st->segment[i].serial != s.serial ||
		    !same_frames(r, st->frame + st->segment[i].base,
				 end - st->segment[i].base, s.frame, s.frames))
			return false;
	}
	return i == st->segments;
}

/* A contiguous chunk that gives a different stack: the tracer is believed, as
 * it has seen the calls. What was open here ends. */
void replay_stack_begin(struct replay *r, struct stream *st,
			const struct chunk *chunk, bool contiguous)
{
	const bool same = contiguous && replay_stack_same(r, st, chunk);

	if (contiguous && !same) {
		replay_unnested(r, st);
		replay_stack_close(r, st, REPLAY_CUT);
	}
	st->now = chunk->header.tick_begin;
	if (same)
		return;
	adopt(r, st, chunk);
	if (r->sink)
		replay_emit_adopt(r, st);
}

/* Was the end of the call seen when it happened? */
static bool is_seen(enum replay_why why, uint32_t reason)
{
	return why == REPLAY_SEEN || why == REPLAY_DIED ||
	       (why == REPLAY_UNWOUND && reason != UNWIND_RESET);
}

/* How long the call took counts only if its end was seen; that it was called
 * counts anyway. */
void replay_stack_pop(struct replay *r, struct stream *st,
		      enum replay_why why, uint32_t reason)
{
	const struct frame *const f = &st->frame[st->depth - 1];

	assert(st->depth > replay_top(st)->base);
	if (f->entry < ENTRY_NONE && is_seen(why, reason))
		cct_time(st->tree, f->node, st->now - f->entry);
	if (r->sink && !frame_is_omitted(f))
		replay_emit_leave(r, st, f->func, st->depth - 2, why, reason);
	st->depth--;
}

void replay_stack_end_body(struct replay *r, struct stream *st,
			   enum replay_why why, uint32_t reason)
{
	struct segment *const top = replay_top(st);

	if (!top->on_body)
		return;
	assert(st->depth == top->base);
	top->on_body = false;
	top->base--;
	replay_stack_pop(r, st, why, reason);
}

/* A second call there, which replaces none, shows that the first one, or what
 * has replaced it, has ended. */
uint32_t replay_stack_outermost(struct replay *r, struct stream *st,
				func_id func)
{
	struct segment *const top = replay_top(st);

	if (top->tail && top->on_body) {
		top->tail = false;
		return 0;
	}
	replay_stack_end_body(r, st, REPLAY_UNWOUND, UNWIND_SKIPPED);
	top->tail = false;
	replay_stack_set_body(r, st, func);
	return replay_time_body(r, st);
}

/* The first one is the body, which stays. */
bool replay_stack_tail(struct stream *st)
{
	struct segment *const top = replay_top(st);

	if (st->segments == 1 || st->depth != top->base + 1 ||
	    frame_is_omitted(&st->frame[top->base]))
		return false;
	top->tail = true;
	if (top->on_body)
		return false;
	top->on_body = true;
	top->base++;
	return true;
}

/* Innermost first, one coroutine after the other, as a sink expects. */
void replay_stack_close(struct replay *r, struct stream *st,
			enum replay_why why)
{
	struct session *const s = r->session;

	for (;;) {
		const struct segment *const top = replay_top(st);

		while (st->depth > top->base)
			replay_stack_pop(r, st, why, 0);
		replay_stack_end_body(r, st, why, 0);
		if (st->segments == 1)
			return;
		s->coroutines[top->co - 1].active += st->now - top->since;
		st->segments--;
	}
}

/* ---- where handlers stand ---- */

/* From now on, what is entered on an empty stack stands there. Frames that a
 * jump has left behind keep their places. */
static void stand(struct replay *r, struct stream *st, struct place place)
{
	if (place.node) {
		if (r->want.to)
			place.node = cct_beside(place.tree, place.node,
						st->outside);
		if (replay_stack_is_empty(st)) {
			st->tree = place.tree;
			replay_stack_init(st, place.node);
		} else if (st->tree == place.tree) {
			st->frame[0].node = place.node;
		}
		return;
	}
	r->session->threads[st->thread].unplaced++;
	if (!replay_stack_is_empty(st))
		return;
	st->tree = r->session->cct;
	replay_stack_init(st, replay_time_side(st,
				cct_root(st->tree, st->thread)));
}

void replay_stack_hang(struct replay *r, struct stream *st,
			 const struct chunk *chunk, const struct waiting *w)
{
	const bool says_itself = chunk->header.records > 0 &&
				rec_kind(chunk->records[0]) == REC_INTERRUPT;
	struct place under = { 0 };

	st->settled = chunk->header.tick_begin;
	st->place = NULL;
	st->places = 0;
	if (w && w->places > 0) {
		under = w->place[0];
		st->place = w->place + 1;
		st->places = w->places - 1;
	}
	if (replay_stack_is_empty(st) && (under.node || !says_itself))
		stand(r, st, under);
}

/* The gap before it was the interrupted call's, not that of frames which a jump
 * had ended. */
void replay_stack_interrupt(struct replay *r, struct stream *st,
			    const uint64_t *record)
{
	struct place place = { 0 };

	if (st->level == 0) {
		replay_unnested(r, st);
		return;
	}
	if (!replay_stack_is_empty(st))
		replay_time_take_back(st, rec_gap(*record));
	replay_time_settle(r, st);
	if (st->places > 0) {
		place = *st->place++;
		st->places--;
	}
	stand(r, st, place);
}

/* ---- seen from outside ---- */

/* A sink cannot change anything else of a stream. */
void stream_be_quiet(const struct stream *st, ticks until)
{
	((struct stream *)(uintptr_t)st)->quiet = until;
}

size_t stream_number(const struct stream *st)
{
	return st->number;
}

uint32_t stream_thread(const struct stream *st)
{
	return st->thread;
}

uint32_t stream_level(const struct stream *st)
{
	return st->level;
}

uint64_t stream_window(const struct stream *st)
{
	return st->window ? st->windows : 0;
}

size_t stream_depth(const struct stream *st)
{
	return st->depth - 1;
}

/* frame[0] is no call: from outside, numbers are lower by one. */
struct stream_frame stream_frame(const struct stream *st, size_t i)
{
	const struct frame *const f = &st->frame[i + 1];

	assert(i + 1 < st->depth);
	return (struct stream_frame){
		.func = f->func,
		.omitted = frame_is_omitted(f) ? frame_omitted(f) : 0,
		.is_known = f->entry < ENTRY_NONE,
		.entry = f->entry < ENTRY_NONE ? f->entry : 0,
		.self = f->self & ~SELF_GIVEN };
}

size_t stream_segments(const struct stream *st)
{
	return st->segments;
}

struct stream_segment stream_segment(const struct stream *st, size_t i)
{
	const struct segment *const s = &st->segment[i];

	assert(i < st->segments);
	return (struct stream_segment){ s->serial, segment_first(s) - 1,
					s->since };
}

struct stream_segment stream_top(const struct stream *st)
{
	return stream_segment(st, st->segments - 1);
}

/* The node that frame i's call was made on, as far as one of sampled Lua. */
static node_id caller(const struct stream *st, size_t i)
{
	const node_id node = st->frame[i + 1].node;

	return node == st->frame[i].node ||
	       cct_get(st->tree, node)->flags & CCT_NOTED ? node :
	       cct_get(st->tree, node)->parent;
}

/* Where the caller's coroutine begins at frame i: the node that it stands on,
 * or that of the frame below. */
static node_id stands_on(const struct stream *st, size_t i)
{
	size_t k = st->segments;

	while (k > 1 && segment_first(&st->segment[k - 1]) > i + 1)
		k--;
	return k > 1 && segment_first(&st->segment[k - 1]) == i + 1 ?
	       st->segment[k - 1].under : st->frame[i].node;
}

/* Is the body of the coroutine that begins at frame i one of sampled Lua? */
static bool is_noted_body(const struct stream *st, size_t i)
{
	return st->lua && caller(st, i) != stands_on(st, i) &&
	       cct_get(st->tree, caller(st, i))->flags & CCT_NOTED;
}

/* A frame as the table has it; k: the first segment whose base may be there. */
static stack_id push_frame(const struct stream *st, size_t i, size_t *k,
			   struct stack_table *t, stack_id id)
{
	const struct stream_frame f = stream_frame(st, i);
	uint32_t flags = 0;

	/* The last segment that begins here: others are empty. */
	for (; *k < st->segments && stream_segment(st, *k).base <= i; ++*k)
		if (stream_segment(st, *k).base == i && *k > 0)
			flags = is_noted_body(st, i) ? 0 : STACK_BODY;
	if (f.omitted > 0)
		return stack_table_push(t, id, f.omitted < UINT32_MAX ?
					(func_id)f.omitted : UINT32_MAX,
					flags | STACK_OMITTED);
	return stack_table_push(t, id, f.func,
				flags | (f.is_known ? 0 : STACK_BEFORE));
}

/* On it, the functions of the nodes from there up to another one, outermost
 * first: a sampled VM was in them. */
static stack_id push_noted(const struct stream *st, node_id node, node_id above,
			   struct stack_table *t, stack_id id)
{
	const struct cct_node *const n = cct_get(st->tree, node);

	if (node == above || !(n->flags & CCT_NOTED))
		return id;
	id = push_noted(st, n->parent, above, t, id);
	return stack_table_push(t, id, n->func,
				n->flags & CCT_BODY ? STACK_BODY : 0);
}

/* Those between frame i and the one below it. */
static stack_id push_between(const struct stream *st, size_t i,
			     struct stack_table *t, stack_id id)
{
	return push_noted(st, caller(st, i), st->frame[i].node, t, id);
}

/* The same of an open frame, or of one that is yet to come. */
static stack_id push_lua(const struct stream *st, size_t i,
			 struct stack_table *t, stack_id id)
{
	if (!st->lua)
		return id;
	if (i < stream_depth(st))
		return push_between(st, i, t, id);
	for (uint32_t k = 0; st->lua->pending && k < st->lua->count; k++)
		id = stack_table_push(t, id, st->lua->func[k], 0);
	return id;
}

stack_id stream_stack(const struct stream *st, size_t from, size_t to,
		      struct stack_table *t, stack_id id)
{
	size_t k = 0;

	for (size_t i = from; i < to; i++)
		id = push_frame(st, i, &k, t, push_lua(st, i, t, id));
	return to < stream_depth(st) ? id : push_lua(st, to, t, id);
}

stack_id stream_own_stack(const struct stream *st, struct stack_table *t)
{
	const size_t base = stream_top(st).base, depth = stream_depth(st);
	size_t k = 0;
	stack_id id = 0;

	if (base == depth)
		return push_lua(st, depth, t, 0);
	if (st->lua)
		id = push_noted(st, caller(st, base), stands_on(st, base), t,
				0);
	id = push_frame(st, base, &k, t, id);
	for (size_t i = base + 1; i < depth; i++)
		id = push_frame(st, i, &k, t, push_lua(st, i, t, id));
	return push_lua(st, depth, t, id);
}

/* How many functions of sampled Lua lie between two nodes. */
static size_t count_noted(const struct stream *st, node_id node, node_id above)
{
	size_t n = 0;

	for (; node != above && cct_get(st->tree, node)->flags & CCT_NOTED; n++)
		node = cct_get(st->tree, node)->parent;
	return n;
}

size_t stream_seam(const struct stream *st, size_t segment)
{
	const size_t base = stream_segment(st, segment).base;
	size_t n = base;

	for (size_t i = 0; st->lua && i < base; i++)
		n += count_noted(st, caller(st, i), st->frame[i].node);
	return !st->lua || segment == 0 ? n :
	       n + count_noted(st, st->segment[segment].under,
			       st->frame[base].node);
}

stack_id stream_lua(const struct stream *st, size_t at, func_id func,
		    ticks entry, struct stack_table *t, stack_id id)
{
	return st->lua && at + 1 < st->room &&
	       st->frame[at + 1].func == func &&
	       st->frame[at + 1].entry == entry ?
	       push_between(st, at, t, id) : id;
}

/* The functions of the nodes from there up to another one, of one coroutine. */
static size_t list_noted(const struct stream *st, node_id node, node_id above,
			 func_id to[NOTED_FRAMES])
{
	const struct cct_node *n = cct_get(st->tree, node);
	size_t count = 0;

	for (; node != above && n->flags & CCT_NOTED && count < NOTED_FRAMES;
	     n = cct_get(st->tree, node)) {
		to[count++] = n->func;
		node = n->flags & CCT_BODY ? above : n->parent;
	}
	for (size_t i = 0; i < count / 2; i++) {
		const func_id last = to[count - 1 - i];

		to[count - 1 - i] = to[i];
		to[i] = last;
	}
	return count;
}

size_t stream_lua_funcs(const struct stream *st, size_t at, func_id func,
			ticks entry, func_id to[NOTED_FRAMES])
{
	const struct frame *const f = &st->frame[at + 1];

	return !st->lua || at + 1 >= st->room || f->func != func ||
	       f->entry != entry ? 0 :
	       list_noted(st, caller(st, at), stands_on(st, at), to);
}

size_t stream_lua_resumers(const struct stream *st, func_id to[NOTED_FRAMES])
{
	const struct segment *const top = replay_top(st);

	return !st->lua || st->segments == 1 ? 0 :
	       list_noted(st, top->under,
			  st->frame[segment_first(top) - 1].node, to);
}

bool stream_is_sampled(const struct stream *st)
{
	return st->lua;
}

void stream_stacks(const struct stream *st, size_t from, size_t to,
		   struct stack_table *t, stack_id *stack)
{
	size_t k = 0;

	for (size_t i = from; i < to; i++)
		stack[i + 1] = push_frame(st, i, &k, t,
					  push_lua(st, i, t, stack[i]));
}
