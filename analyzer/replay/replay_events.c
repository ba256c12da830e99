/* replay_events.c - the event form: every call's two ends, each once, also for
 * frames that a coroutine carries from one thread to another.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

static struct replay_event event(const struct replay *r,
				 const struct stream *st, ticks tick)
{
	const struct session *const s = r->session;
	const struct thread *const t = &s->threads[st->thread];
	const struct process *const p = &s->processes[t->process];

	return (struct replay_event){
		.tick = tick, .recording = p->recording,
		.process = t->process, .thread = st->thread,
		.process_serial = p->serial, .thread_serial = t->serial,
		.pid = p->pid, .tid = t->tid, .level = st->level,
		.coroutine = replay_top(st)->serial,
		.in = replay_top(st)->serial, .stream = st };
}

static void emit_enter(struct replay *r, struct replay_event *e, func_id func,
		       size_t depth, enum replay_why why)
{
	e->func = func;
	e->depth = (uint32_t)depth;
	e->why = why;
	if (r->sink->enter)
		r->sink->enter(r->ctx, e);
}

static void emit_leave(struct replay *r, struct replay_event *e, func_id func,
		       size_t depth, enum replay_why why, uint32_t reason)
{
	e->func = func;
	e->depth = (uint32_t)depth;
	e->why = why;
	e->reason = reason;
	if (r->sink->leave)
		r->sink->leave(r->ctx, e);
}

void replay_emit_enter(struct replay *r, struct stream *st, ticks tick,
		       func_id func, size_t depth, enum replay_why why)
{
	struct replay_event e = event(r, st, tick);

	emit_enter(r, &e, func, depth, why);
}

void replay_emit_leave(struct replay *r, struct stream *st, ticks tick,
		       func_id func, size_t depth, enum replay_why why,
		       uint32_t reason)
{
	struct replay_event e = event(r, st, tick);

	emit_leave(r, &e, func, depth, why, reason);
}

void replay_emit_pair(struct replay *r, struct stream *st, func_id func,
		      enum replay_deferred deferred)
{
	struct replay_event e;

	if (!r->sink)
		return;
	e = event(r, st, st->now);
	e.deferred = deferred;
	emit_enter(r, &e, func, st->depth - 1, REPLAY_OPEN_BEFORE);
	emit_leave(r, &e, func, st->depth - 1, REPLAY_OPEN_BEFORE, 0);
}

void replay_emit_adopt(struct replay *r, struct stream *st)
{
	const struct replay_event e = event(r, st, st->now);

	if (r->sink->adopt)
		r->sink->adopt(r->ctx, &e);
}

void replay_emit_mark(struct replay *r, struct stream *st, func_id func)
{
	struct replay_event e = event(r, st, st->now);

	e.func = func;
	e.depth = (uint32_t)(st->depth - 1);
	if (r->sink->mark)
		r->sink->mark(r->ctx, &e);
}

void replay_emit_create(struct replay *r, struct stream *st, uint64_t serial,
			uint64_t vm)
{
	struct replay_event e = event(r, st, st->now);

	e.coroutine = serial;
	e.vm = vm;
	e.depth = (uint32_t)(st->depth - 1);
	if (r->sink->create)
		r->sink->create(r->ctx, &e);
}

void replay_emit_chunk(struct replay *r, struct stream *st,
		       const struct chunk *v)
{
	const struct replay_event e = event(r, st, v->header.tick_begin);

	if (r->sink->chunk_begin)
		r->sink->chunk_begin(r->ctx, &e, v);
}

void replay_emit_chunk_end(struct replay *r, struct stream *st)
{
	const struct replay_event e = event(r, st, st->now);

	if (r->sink->chunk_end)
		r->sink->chunk_end(r->ctx, &e);
}

/* A suspend and the resume that follows it may come in either order, since
 * threads are replayed one after the other. Whichever comes first is parked
 * under (coroutine, tick of the suspend) until the other comes. */
static struct parked *take_parked(struct replay *r, uint32_t co, ticks tick,
				  int resumed)
{
	const uint32_t id = map_find(r->parked_of, co, tick);
	struct parked *const p = id ? &r->parked[id - 1] : NULL;

	if (!p || p->resumed != resumed)
		return NULL;
	map_remove(r->parked_of, co, tick);
	return p;
}

static void free_parked(struct replay *r, struct parked *p)
{
	mem_free(p->func);
	*p = (struct parked){ .next_free = r->parked_free };
	r->parked_free = (uint32_t)(p - r->parked) + 1;
}

static struct parked *new_parked(struct replay *r)
{
	struct parked *p;

	if (r->parked_free) {
		p = &r->parked[r->parked_free - 1];
		r->parked_free = p->next_free;
		return p;
	}
	vec_need(&r->parked, &r->parked_room, r->parked_count + 1);
	return &r->parked[r->parked_count++];
}

/* Park the topmost segment's frames, those left out apart: that there are none
 * says something, too, unless it is a first resume. */
static void park(struct replay *r, const struct stream *st, ticks tick,
		 int resumed)
{
	const struct segment *const top = replay_top(st);
	const size_t n = st->depth - top->base;
	struct parked *p;

	if (n == 0 && resumed && tick == st->now)
		return;
	p = new_parked(r);
	*p = (struct parked){ .func = mem_grow(NULL, n, sizeof(*p->func)),
			      .resumed = resumed, .used = 1,
			      .who = event(r, st, st->now) };
	p->who.depth = (uint32_t)(top->base - 1);
	for (size_t i = top->base; i < st->depth; i++)
		if (!frame_is_omitted(&st->frame[i]))
			p->func[p->count++] = st->frame[i].func;
	*map_put(r->parked_of, top->co, tick) = (uint32_t)(p - r->parked) + 1;
}

/* What stood on the coroutine's stack at its suspend and does not at its resume
 * was left in between; what is there only at the resume was entered unseen.
 * before, after: the two stacks, outermost first. */
static void reconcile(struct replay *r, struct stream *st,
		      const func_id *before, size_t n, const func_id *after,
		      size_t k)
{
	const size_t depth = replay_top(st)->base - 1;
	struct replay_event e = event(r, st, st->now);
	size_t j = 0;

	e.deferred = REPLAY_DEFERRED_YIELD;
	for (size_t i = 0; i < n; i++)
		if (j < k && before[i] == after[j])
			j++;
		else
			emit_leave(r, &e, before[i], depth + i, REPLAY_UNWOUND,
				   UNWIND_YIELD);
	for (e.reason = 0; j < k; j++)
		emit_enter(r, &e, after[j], depth + j, REPLAY_OPEN_BEFORE);
}

static size_t top_funcs(const struct stream *st, func_id **out)
{
	const size_t base = replay_top(st)->base;
	size_t n = 0;

	*out = mem_grow(NULL, st->depth - base, sizeof(**out));
	for (size_t i = base; i < st->depth; i++)
		if (!frame_is_omitted(&st->frame[i]))
			(*out)[n++] = st->frame[i].func;
	return n;
}

void replay_emit_resume(struct replay *r, struct stream *st, uint64_t slept,
			int inferred)
{
	const struct segment *const top = replay_top(st);
	struct replay_event e = event(r, st, st->now);
	struct parked *p;
	func_id *now;
	size_t n;

	e.in = top[-1].serial;
	e.depth = (uint32_t)(top->base - 1);
	e.slept = slept;
	e.inferred = inferred != 0;
	if (r->sink->resume)
		r->sink->resume(r->ctx, &e);
	p = take_parked(r, top->co, st->now - slept, 0);
	if (!p) {
		park(r, st, st->now - slept, 1);
		return;
	}
	n = top_funcs(st, &now);
	reconcile(r, st, p->func, p->count, now, n);
	mem_free(now);
	free_parked(r, p);
}

static void emit_suspend(struct replay *r, struct stream *st, uint32_t flags)
{
	const struct segment *const top = replay_top(st);
	struct replay_event e = event(r, st, st->now);

	e.in = top[-1].serial;
	e.depth = (uint32_t)(top->base - 1);
	e.reason = flags & SUSPEND_REASON;
	e.inferred = (flags & SUSPEND_INFERRED) != 0;
	if (r->sink->suspend)
		r->sink->suspend(r->ctx, &e);
}

void replay_emit_suspend(struct replay *r, struct stream *st, uint32_t flags)
{
	struct parked *const p = take_parked(r, replay_top(st)->co, st->now, 1);
	func_id *now;
	size_t n;

	if (!p) {
		park(r, st, st->now, 0);
	} else {
		n = top_funcs(st, &now);
		reconcile(r, st, now, n, p->func, p->count);
		mem_free(now);
		free_parked(r, p);
	}
	emit_suspend(r, st, flags);
}

/* Coroutines that never ran again, and resumes whose suspend was lost. */
void replay_emit_finish(struct replay *r)
{
	for (size_t at = 0; at < r->parked_count; at++) {
		struct parked *const p = &r->parked[at];
		void (*const end)(void *, const struct replay_event *) =
			p->resumed ? r->sink->enter : r->sink->leave;

		if (!p->used)
			continue;
		p->who.why = p->resumed ? REPLAY_OPEN_BEFORE :
					  REPLAY_OPEN_AT_END;
		p->who.deferred = REPLAY_DEFERRED_FINISH;
		p->who.stream = NULL;
		for (size_t k = 0; end && k < p->count; k++) {
			/* Leaves from the inside out. */
			const size_t i = p->resumed ? k : p->count - 1 - k;
			struct replay_event e = p->who;

			e.func = p->func[i];
			e.depth += (uint32_t)i;
			end(r->ctx, &e);
		}
		mem_free(p->func);
		*p = (struct parked){ 0 };
	}
	r->parked_count = r->parked_free = 0;
	map_clear(r->parked_of);
}
