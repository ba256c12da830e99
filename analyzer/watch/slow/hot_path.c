/* hot_path.c - follows chosen calls from entry to exit, on whatever threads,
 * and collects what happens above them in a tree. Must not know how the calls
 * were chosen.
 *
 * A call is found again by its function, its depth in its coroutine and its
 * entry. To look for it at each event would be slow: a lane remembers the calls
 * that can be open until some tick, and each of them the nodes of the frames
 * above it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/hot_path.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/cct.h"

#include <assert.h>

/* Is a watched call on the stream's stack? NOT_LOOKED: the stack has changed
 * since it was looked for. */
enum where { NOT_LOOKED, IS_OFF, IS_ON };

/* A call that is open at the moment, seen from one stream. */
struct watch {
	uint32_t call;           /* index */
	enum where where;        /* is it on this stack? */
	size_t frame;            /* if so: where */
	node_id *node;           /* of the frames from it on; the first */
	size_t known, room;      /* `known` ones are right */
};

/* A stream. Its watches are right until a tick. */
struct lane {
	uint32_t process, thread, level;
	ticks until;
	struct watch *watches; size_t count, room;
};

struct hot_path {
	const struct slow_call *calls;
	size_t count;
	struct cct *tree;
	node_id *root;           /* by call */
	ticks *total, *suspended; /* by node, when all is collected */
	struct lane **lanes; size_t lane_room; /* by stream_number */
};

struct hot_path *hot_path_new(const struct slow_call *calls, size_t count,
			      func_id deeper)
{
	struct hot_path *const in = mem_alloc(sizeof(*in));

	in->calls = calls;
	in->count = count;
	in->tree = cct_new(1 << 20);
	cct_set_deeper(in->tree, deeper);
	in->root = mem_alloc((count + 1) * sizeof(*in->root));
	for (size_t i = 0; i < count; i++)
		in->root[i] = cct_root(in->tree, (uint32_t)i);
	return in;
}

void hot_path_free(struct hot_path *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->lane_room; i++) {
		if (!in->lanes[i])
			continue;
		for (size_t k = 0; k < in->lanes[i]->count; k++)
			mem_free(in->lanes[i]->watches[k].node);
		mem_free_all(in->lanes[i]->watches, in->lanes[i]);
	}
	mem_free(in->lanes);
	cct_free(in->tree);
	mem_free_all(in->root, in->total, in->suspended, in);
}

/* The stream's lane; made when it is first asked for. */
static struct lane *lane(struct hot_path *in, const struct stream *st)
{
	const size_t number = stream_number(st);
	struct lane *l;

	vec_need_zeroed(&in->lanes, &in->lane_room, number + 1);
	l = in->lanes[number];
	if (!l) {
		l = in->lanes[number] = mem_alloc(sizeof(*l));
		l->thread = stream_thread(st);
		l->level = stream_level(st);
	}
	return l;
}

/* ---- watched calls ---- */

static ticks end_of(const struct slow_call *c)
{
	return c->begin + c->total + c->suspended;
}

/* Watch the calls that are open at a tick, and find out until when these are
 * the same. A call of a coroutine may be on any thread of the process. What is
 * known of those that were watched before is kept: each chunk comes here, and
 * the stack may be deep. */
static void refresh(const struct hot_path *in, struct lane *l, ticks at)
{
	struct lane before = *l;
	size_t k = 0;

	if (at < l->until)
		return;
	l->until = UINT64_MAX;
	l->watches = NULL;
	l->count = l->room = 0;
	for (size_t i = 0; i < in->count; i++) {
		const struct slow_call *const c = &in->calls[i];
		const ticks edge = at < c->begin ? c->begin :
				   at <= end_of(c) ? end_of(c) + 1 : UINT64_MAX;

		if (c->process != l->process || c->level != l->level ||
		    (c->coroutine == 0 && c->thread != l->thread))
			continue;
		if (edge < l->until)
			l->until = edge;
		if (at < c->begin || at > end_of(c))
			continue;
		while (k < before.count && before.watches[k].call < i)
			mem_free(before.watches[k++].node);
		*vec_add(&l->watches, &l->room, &l->count) =
			k < before.count && before.watches[k].call == i ?
			before.watches[k++] :
			(struct watch){ .call = (uint32_t)i };
	}
	while (k < before.count)
		mem_free(before.watches[k++].node);
	mem_free(before.watches);
}

/* The frames of a coroutine, or of the thread itself (serial 0): [*from, *to).
 * False if it is not on this stack. */
static bool find_segment(const struct stream *st, uint64_t serial,
			size_t *from, size_t *to)
{
	const size_t count = stream_segments(st);
	struct stream_segment s;

	*to = stream_depth(st);
	for (size_t i = count; i-- > 0; *to = s.base) {
		s = stream_segment(st, i);
		*from = s.base;
		if (s.serial == serial)
			return true;
	}
	return false;
}

/* Is the frame that call? Its entry is later by what it slept so far. */
static bool is_call(const struct stream *st, size_t frame,
		   const struct slow_call *c)
{
	struct stream_frame f;

	f = stream_frame(st, frame);
	return f.omitted == 0 && f.func == c->func && f.is_known &&
	       f.entry >= c->begin && f.entry <= c->begin + c->suspended;
}

/* Is the call on this stack? The answer holds until forget. */
static bool is_on(const struct hot_path *in, struct watch *w,
		  const struct stream *st)
{
	const struct slow_call *const c = &in->calls[w->call];
	size_t from, to;

	if (w->where != NOT_LOOKED)
		return w->where == IS_ON;
	w->known = 0;
	w->where = IS_OFF;
	if (!find_segment(st, c->coroutine, &from, &to) ||
	    c->depth >= to - from || !is_call(st, from + c->depth, c))
		return false;
	w->frame = from + c->depth;
	w->where = IS_ON;
	return true;
}

/* Is it the outermost frame of a coroutine? */
static bool is_base(const struct stream *st, size_t frame)
{
	struct stream_segment s;

	for (size_t i = stream_segments(st); i-- > 1; ) {
		s = stream_segment(st, i);
		if (s.base <= frame)
			return s.base == frame;
	}
	return false;
}

/* The node of a frame at or above that of a call which is on the stack. It is
 * valid until the tree grows. Nodes are looked up once for each frame, from the
 * call on. */
static struct cct_node *node(struct hot_path *in, struct watch *w,
			     const struct stream *st, size_t frame)
{
	const size_t wanted = frame - w->frame;
	struct stream_frame f;

	assert(w->where == IS_ON && frame >= w->frame);
	vec_need(&w->node, &w->room, wanted + 1);
	for (; w->known <= wanted; w->known++) {
		const size_t at = w->frame + w->known;

		if (w->known == 0) {
			w->node[0] = in->root[w->call];
			continue;
		}
		f = stream_frame(st, at);
		w->node[w->known] = cct_child(in->tree, w->node[w->known - 1],
			f.func, (is_base(st, at) ? CCT_BODY : 0) |
			(f.omitted > 0 ? CCT_OMITTED : 0));
	}
	return cct_get(in->tree, w->node[wanted]);
}

/* Frames from this one on are others now. Nodes below it stay right. */
static void forget(struct watch *w, size_t frame)
{
	if (w->where != IS_ON || frame <= w->frame)
		w->where = NOT_LOOKED;
	else if (frame - w->frame < w->known)
		w->known = frame - w->frame;
}

/* ---- events ---- */

/* The stack has changed from a frame on. */
static struct lane *forget_all(struct hot_path *in,
			       const struct replay_event *e, size_t frame)
{
	struct lane *const l = lane(in, e->stream);

	refresh(in, l, e->tick);
	for (size_t i = 0; i < l->count; i++)
		forget(&l->watches[i], frame);
	return l;
}

/* Time belongs to the node of the innermost frame, in the tree of each open
 * call. */
static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct hot_path *const in = ctx;
	struct lane *const l = lane(in, st);
	const size_t depth = stream_depth(st);

	refresh(in, l, from);
	if (l->count == 0)
		stream_be_quiet(st, l->until);
	for (size_t i = 0; i < l->count; i++)
		if (is_on(in, &l->watches[i], st))
			node(in, &l->watches[i], st, depth - 1)->self +=
				to - from;
}

/* Count calls above the watched ones. */
static void enter(void *ctx, const struct replay_event *e)
{
	struct hot_path *const in = ctx;
	struct lane *l;

	if (e->deferred != REPLAY_NOW)
		return;
	l = forget_all(in, e, e->depth);
	for (size_t i = 0; i < l->count && e->why == REPLAY_SEEN; i++) {
		struct watch *const w = &l->watches[i];

		if (is_on(in, w, e->stream) &&
		    e->depth > w->frame)
			node(in, w, e->stream, e->depth)->calls++;
	}
}

static void leave(void *ctx, const struct replay_event *e)
{
	if (e->deferred == REPLAY_NOW)
		forget_all(ctx, e, e->depth);
}

/* The sleep belongs to the frame that was innermost, if its coroutine is the
 * call's. */
static void resume(void *ctx, const struct replay_event *e)
{
	struct hot_path *const in = ctx;
	struct lane *const l = forget_all(in, e, e->depth);
	const size_t depth = stream_depth(e->stream);

	for (size_t i = 0; i < l->count; i++) {
		struct watch *const w = &l->watches[i];

		if (in->calls[w->call].coroutine == e->coroutine &&
		    is_on(in, w, e->stream))
			node(in, w, e->stream, depth - 1)->suspended +=
				e->slept;
	}
}

static void suspend(void *ctx, const struct replay_event *e)
{
	forget_all(ctx, e, e->depth);
}

/* All frames may be others now. */
static void adopt(void *ctx, const struct replay_event *e)
{
	forget_all(ctx, e, 0);
}

/* The stream's process is known from here on. */
static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *v)
{
	struct lane *const l = lane(ctx, e->stream);

	(void)v;
	l->process = e->process;
	l->until = 0; /* time passes from the chunk's begin on */
	stream_be_quiet(e->stream, 0);
}

const struct replay_sink hot_path_sink = {
	.enter = enter, .leave = leave, .resume = resume, .suspend = suspend,
	.chunk_begin = chunk_begin, .adopt = adopt, .pass = pass,
};

/* ---- the path ---- */

/* The time by which callees are compared. Self has no callees, so total is
 * taken for it. */
static ticks time_of(const struct hot_path *in, node_id id, enum slow_key key)
{
	switch (key) {
	case SLOW_WALL:
		return in->total[id] + in->suspended[id];
	case SLOW_SUSPENDED:
		return in->suspended[id];
	case SLOW_TOTAL:
	case SLOW_SELF:
		break;
	}
	return in->total[id];
}

/* The callee with the most time; 0: none. */
static node_id next(const struct hot_path *in, node_id id, enum slow_key key)
{
	node_id best = 0, child = cct_get(in->tree, id)->child;

	for (; child != 0; child = cct_get(in->tree, child)->sibling)
		if (best == 0 || time_of(in, child, key) >
				 time_of(in, best, key))
			best = child;
	return best;
}

struct hot_path_step *hot_path_steps(struct hot_path *in, size_t call,
				enum slow_key key, size_t *count)
{
	struct hot_path_step *steps = NULL;
	const size_t nodes = cct_count(in->tree) + 1;
	node_id id = in->root[call];
	size_t room = 0;
	ticks all;

	if (!in->total) {
		in->total = mem_alloc(nodes * sizeof(*in->total));
		in->suspended = mem_alloc(nodes * sizeof(*in->suspended));
		cct_totals(in->tree, in->total, in->suspended);
	}
	all = time_of(in, id, key);
	for (*count = 0; (id = next(in, id, key)) != 0; (*count)++) {
		const struct cct_node *const n = cct_get(in->tree, id);

		if (time_of(in, id, key) == 0 ||
		    time_of(in, id, key) < all / 10)
			break;
		vec_need(&steps, &room, *count + 1);
		steps[*count] = (struct hot_path_step){ n->func,
			(n->flags & CCT_BODY) != 0, n->calls, in->total[id],
			in->suspended[id] };
	}
	return steps;
}
