/* waits.c - follows the calls that wait until they end. A stream may have
 * several open ones: a signal handler may wait, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/watch/site.h"

/* A call that waits: its frame's depth, and its span. */
struct waits_open { uint32_t depth; size_t span; };

void waits_init(struct waits *w, const struct session *session)
{
	*w = (struct waits){ .session = session, .stacks = stack_table_new() };
}

void waits_fini(struct waits *w)
{
	for (size_t i = 0; i < w->lane_room; i++)
		mem_free(w->lanes[i].open);
	mem_free_all(w->lanes, w->spans, w->ends);
	stack_table_free(w->stacks);
}

static struct waits_lane *lane(struct waits *w, const struct stream *st)
{
	const size_t number = stream_number(st);

	vec_need_zeroed(&w->lanes, &w->lane_room, number + 1);
	return &w->lanes[number];
}

static struct waits_object object_of(const struct replay_event *e)
{
	const uint32_t kind = e->reason & WAIT_KIND;

	return (struct waits_object){
		.process = e->process, .address = e->object,
		.kind = kind == WAIT_WRITE ? WAIT_READ : kind };
}

/* The stack of a call that waits; who makes the call is among it also without
 * hooks. */
static stack_id stack_of(struct waits *w, const struct replay_event *e)
{
	const stack_id stack = site_stack(w->session, w->stacks, e->stream,
					  stream_depth(e->stream) - 1, e->site);

	return stack_table_push(w->stacks, stack, e->func, 0);
}

/* A call may say two things: that it lets a mutex go, and that it waits. */
static void on_wait(void *ctx, const struct replay_event *e)
{
	struct waits *const w = ctx;
	const size_t depth = stream_depth(e->stream);
	const stack_id stack = stack_of(w, e);
	const struct stream_frame f = stream_frame(e->stream, depth - 1);
	struct waits_lane *const l = lane(w, e->stream);

	if (e->reason & WAIT_ENDS) {
		*vec_add(&w->ends, &w->end_room, &w->end_count) =
			(struct waits_end){ object_of(e), e->tick, e->thread,
					    stack, e->coroutine };
		return;
	}
	*vec_add(&l->open, &l->room, &l->count) =
		(struct waits_open){ e->depth, w->span_count };
	*vec_add(&w->spans, &w->span_room, &w->span_count) =
		(struct waits_span){
			.of = object_of(e), .begin = f.is_known ? f.entry :
			e->tick, .end = e->tick, .thread = e->thread,
			.owner = e->owner, .stack = stack, .place = e->place,
			.is_open = true };
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	struct waits *const w = ctx;
	struct waits_lane *const l = e->deferred != REPLAY_NOW ? NULL :
				     lane(w, e->stream);

	while (l && l->count > 0 && l->open[l->count - 1].depth >= e->depth) {
		struct waits_span *const s =
			&w->spans[l->open[--l->count].span];

		s->end = e->tick;
		s->is_open = e->why == REPLAY_CUT ||
			     e->why == REPLAY_OPEN_AT_END;
	}
}

const struct replay_sink waits_sink = { .wait = on_wait, .leave = on_leave };

const char *waits_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[WAIT_MUTEX] = "mutex", [WAIT_READ] = "rwlock",
		[WAIT_SEMAPHORE] = "semaphore", [WAIT_CONDITION] = "condition",
		[WAIT_BARRIER] = "barrier", [WAIT_JOIN] = "join",
	};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ?
	       names[kind] : "other";
}

int waits_compare(const struct waits_object *x, const struct waits_object *y)
{
	return UP(process) ?: UP(kind) ?: UP(address);
}

static int compare_spans(const void *a, const void *b)
{
	const struct waits_span *const x = a, *const y = b;

	return waits_compare(&x->of, &y->of) ?: UP(begin) ?: UP(end) ?:
	       UP(thread);
}

static int compare_ends(const void *a, const void *b)
{
	const struct waits_end *const x = a, *const y = b;

	return waits_compare(&x->of, &y->of) ?: UP(at) ?: UP(thread);
}

void waits_sort(struct waits *w)
{
	order_sort(w->spans, w->span_count, compare_spans);
	order_sort(w->ends, w->end_count, compare_ends);
}
