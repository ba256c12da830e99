/* explode.c - sorts events of all threads by time. Chunks, which are small,
 * wait for the time of their beginning, and only then are replayed, so that not
 * much more than one chunk of events a thread waits. Must not know babeltrace2,
 * so that it can be tested without it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/explode/explode.h"

#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_order.h"

#include <assert.h>
#include <string.h>

/* ---- heaps ---- */

/* Each item begins with its due time. The item with the earliest time comes out
 * first; of items with one time, the one of the least order. Chunks and events
 * are of different sizes, so a heap does not know its items' type. */
struct due { uint64_t ns, order; };

struct heap {
	char *items;
	size_t count, room;
	size_t size;      /* of an item; set before the first is pushed */
};

/* A binary heap: the item at i is due before those at 2i + 1 and 2i + 2. */
static struct due *due_at(const struct heap *h, size_t i)
{
	return (struct due *)(void *)(h->items + i * h->size);
}

static bool is_before(const struct due *a, const struct due *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

/* Copies the item, which must not lie in the heap. */
static void heap_push(struct heap *h, const void *item)
{
	size_t i = h->count++;

	h->items = mem_more(h->items, &h->room, h->count, h->size);
	while (i > 0 && is_before(item, due_at(h, (i - 1) / 2))) {
		memcpy(due_at(h, i), due_at(h, (i - 1) / 2), h->size);
		i = (i - 1) / 2;
	}
	memcpy(due_at(h, i), item, h->size);
}

/* Copies the first item out. The heap must not be empty. The last item stays
 * where it is, behind the end, until its new place is found. */
static void heap_pop(struct heap *h, void *item)
{
	const struct due *const last = due_at(h, h->count - 1);
	size_t i = 0;

	assert(h->count > 0);
	h->count--;
	memcpy(item, h->items, h->size);
	for (size_t k = 1; k < h->count; k = 2 * i + 1) {
		k += k + 1 < h->count && is_before(due_at(h, k + 1),
						   due_at(h, k));
		if (!is_before(due_at(h, k), last))
			break;
		memcpy(due_at(h, i), due_at(h, k), h->size);
		i = k;
	}
	if (h->count)
		memmove(due_at(h, i), last, h->size);
}

/* Borrowed until the heap changes; NULL if it is empty. */
static const struct due *heap_first(const struct heap *h)
{
	return h->count ? due_at(h, 0) : NULL;
}

static void heap_fini(struct heap *h)
{
	mem_free(h->items);
	h->items = NULL;
	h->count = h->room = 0;
}

/* ---- events ---- */

/* Invariants: every waiting chunk begins, and every waiting event happens,
 * after the last event that was passed on, except what is late. */
enum { MAX_NODES = 1000 }; /* the tree is not used */

struct waiting_chunk { struct due due; const struct chunk *chunk; };
struct waiting_event { struct due due; struct explode_event event; };

/* A recording's clock: tick was at real, CLOCK_REALTIME ns. It is taken from
 * one chunk only. A pair of its own for each chunk would follow the steps of
 * CLOCK_REALTIME, and times could go back. */
struct clock_line { uint64_t recording, tick, real, hz; };

struct explode {
	struct session *session;
	struct replay *replay;
	struct in_order *order;
	struct heap chunks, events;
	/* one for each recording, few */
	struct clock_line *lines;
	size_t line_count, line_room;
	/* ns; what the next item's order will be */
	uint64_t window, order_count;
	uint64_t newest;  /* when the latest chunk was closed, ns */
	uint64_t last;    /* the time of the last event passed on */
	bool has_ended;   /* no chunk follows */
	bool has_finished; /* the replay was finished */
};

/* ---- time ---- */

static const struct clock_line *line_of(struct explode *x, uint64_t recording)
{
	for (size_t i = 0; i < x->line_count; i++)
		if (x->lines[i].recording == recording)
			return &x->lines[i];
	return NULL;
}

/* Learn the clock of a recording from its first chunk. */
static void add_line(struct explode *x, const struct chunk_header *h)
{
	if (line_of(x, h->recording))
		return;
	*vec_add(&x->lines, &x->line_room, &x->line_count) =
		(struct clock_line){
			h->recording, h->pair_tick, h->pair_real,
			h->tick_hz ? h->tick_hz : 1000000000,
		};
}

/* The product needs more than 64 bits. */
static uint64_t to_ns(ticks t, uint64_t hz)
{
	return (uint64_t)((unsigned __int128)t * 1000000000 / hz);
}

/* CLOCK_REALTIME ns of a tick; 0 if the recording is unknown. */
static uint64_t time_of(struct explode *x, uint64_t recording, ticks tick)
{
	const struct clock_line *const l = line_of(x, recording);

	if (!l)
		return 0;
	return tick >= l->tick ? l->real + to_ns(tick - l->tick, l->hz) :
	       l->real - to_ns(l->tick - tick, l->hz);
}

/* ---- chunks ---- */

/* An in_chunk_fn: gets chunks from in_order, so that numbers rise. The
 * recorder's own chunks have no events. Always returns 0. */
static int wait_for_turn(void *ctx, const struct chunk *chunk)
{
	struct explode *const x = ctx;
	struct waiting_chunk w = { .chunk = NULL };
	const uint64_t recording = chunk->header.recording;
	uint64_t end;

	if (chunk->header.flags & CHUNK_META)
		return 0;
	add_line(x, &chunk->header);
	end = time_of(x, recording, chunk->header.tick_end);
	if (end > x->newest)
		x->newest = end;
	/* The chunk of a signal handler goes first: the replay keeps it for the
	 * chunk that it interrupted. */
	w.due.ns = chunk->header.level > 0 ? 0 :
		   time_of(x, recording, chunk->header.tick_begin);
	w.due.order = x->order_count++;
	w.chunk = held_keep(chunk);
	heap_push(&x->chunks, &w);
	return 0;
}

/* Replay the first chunk that waits: its events wait from now on. */
static void replay_first(struct explode *x)
{
	struct waiting_chunk w;

	heap_pop(&x->chunks, &w);
	replay_chunk(x->replay, w.chunk);
	held_drop(w.chunk);
}

void explode_put(struct explode *x, const struct chunk *chunk)
{
	const struct in_key key = in_key_of(chunk);

	if (in_order_put(x->order, chunk) == IN_ORDER_GAP)
		in_order_give_up(x->order, &key);
}

void explode_end(struct explode *x)
{
	if (x->has_ended)
		return;
	in_order_finish(x->order);
	x->has_ended = true;
}

/* ---- events ---- */

/* Let an event wait for its turn: other threads, and what the replay deferred,
 * may still bring earlier ones. */
static void add_event(struct explode *x, enum explode_event_kind kind,
		      const struct replay_event *e)
{
	/* Calls that are open at the end end with the whole trace. */
	const uint64_t ns = e->why == REPLAY_OPEN_AT_END ? x->newest :
			    time_of(x, e->recording, e->tick);
	struct waiting_event w = {
		.due = { ns, x->order_count++ },
		.event = { .kind = kind, .at = *e, .ns = ns },
	};
	const struct clock_line *const l = line_of(x, e->recording);

	if (l)
		w.event.slept = to_ns(e->slept, l->hz);
	heap_push(&x->events, &w);
}

/* An event of a function: native or Lua; others are not shown. */
static void add_call(struct explode *x, bool is_exit,
		     const struct replay_event *e)
{
	const struct func *const f = func_get(x->session->funcs, e->func);

	switch (f->kind) {
	case FUNC_NATIVE:
	case FUNC_CODE:
	case FUNC_NAME:
		add_event(x, is_exit ? EXPLODE_NATIVE_EXIT :
			  EXPLODE_NATIVE_ENTER, e);
		break;
	case FUNC_LUA:
		add_event(x, is_exit ? EXPLODE_LUA_RETURN : EXPLODE_LUA_CALL,
			  e);
		break;
	case FUNC_NONE:
	case FUNC_SPECIAL: /* stands for unknown frames */
		break;
	}
}

static void on_enter(void *ctx, const struct replay_event *e)
{
	add_call(ctx, false, e);
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	add_call(ctx, true, e);
}

static void on_resume(void *ctx, const struct replay_event *e)
{
	add_event(ctx, EXPLODE_RESUME, e);
}

static void on_suspend(void *ctx, const struct replay_event *e)
{
	add_event(ctx, EXPLODE_SUSPEND, e);
}

static void on_mark(void *ctx, const struct replay_event *e)
{
	add_event(ctx, EXPLODE_MARK, e);
}

/* Take the first event off the heap. Times must not go back, so one that is
 * late gets the time of the event before it, and late_by says by how much. */
static void give(struct explode *x, struct explode_event *event)
{
	struct waiting_event w;

	heap_pop(&x->events, &w);
	*event = w.event;
	if (event->ns < x->last) {
		event->late_by = x->last - event->ns;
		event->ns = x->last;
	}
	x->last = event->ns;
}

/* Nothing later than edge is passed on, because a chunk that is still to come
 * may have earlier events. Of a chunk and an event with one time the chunk is
 * first, as it may have events of that time. */
int explode_next(struct explode *x, struct explode_event *event)
{
	const uint64_t edge = x->has_ended ? UINT64_MAX :
			      x->newest > x->window ? x->newest - x->window : 0;

	for (;;) {
		const struct due *const c = heap_first(&x->chunks);
		const struct due *const e = heap_first(&x->events);

		if (c && c->ns <= edge && (!e || c->ns <= e->ns)) {
			replay_first(x);
		} else if (e && e->ns <= edge) {
			give(x, event);
			return 1;
		} else if (x->has_ended && !x->has_finished) {
			replay_finish(x->replay);
			x->has_finished = true;
		} else {
			return x->has_ended ? -1 : 0;
		}
	}
}

/* ---- life ---- */

struct explode *explode_new(uint64_t window)
{
	static const struct replay_sink sink = {
		.enter = on_enter, .leave = on_leave, .resume = on_resume,
		.suspend = on_suspend, .mark = on_mark,
	};
	struct explode *const x = mem_alloc(sizeof(*x));

	x->window = window;
	x->session = session_new(MAX_NODES);
	x->replay = replay_new(x->session, &sink, x);
	replay_be_eager(x->replay);
	x->order = in_order_new(wait_for_turn, x);
	x->chunks.size = sizeof(struct waiting_chunk);
	x->events.size = sizeof(struct waiting_event);
	return x;
}

void explode_free(struct explode *x)
{
	if (!x)
		return;
	while (x->chunks.count) {
		struct waiting_chunk w;

		heap_pop(&x->chunks, &w);
		held_drop(w.chunk);
	}
	in_order_free(x->order);
	replay_free(x->replay);
	session_free(x->session);
	heap_fini(&x->chunks);
	heap_fini(&x->events);
	mem_free_all(x->lines, x);
}

const struct session *explode_session(const struct explode *x)
{
	return x->session;
}
