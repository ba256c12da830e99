/* events.c - the event form: both ends of every call, each once, also of frames
 * that a coroutine carries from one thread to another. Changes no stack;
 * without a sink nothing here is called but replay_emit_pair.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

/* What all events of a stream have in common. */
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

/* depth: open frames below the call, over all segments. */
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

void replay_emit_begin(const struct replay *r, struct stream *st)
{
	st->told = event(r, st, st->now);
}

/* An event of a call, to be filled in: made anew, it would cost more than most
 * sinks do. */
static struct replay_event *of_call(struct stream *st)
{
	struct replay_event *const e = &st->told;

	e->tick = st->now;
	e->coroutine = e->in = replay_top(st)->serial;
	e->reason = 0;
	return e;
}

void replay_emit_enter(struct replay *r, struct stream *st, func_id func,
		       size_t depth, enum replay_why why)
{
	if (r->sink->enter)
		emit_enter(r, of_call(st), func, depth, why);
}

void replay_emit_leave(struct replay *r, struct stream *st, func_id func,
		       size_t depth, enum replay_why why, uint32_t reason)
{
	if (r->sink->leave)
		emit_leave(r, of_call(st), func, depth, why, reason);
}

ticks replay_emit_calls(struct replay *r, struct stream *st, size_t n)
{
	struct replay_event *const e = of_call(st);

	e->func = r->ended[n - 1].func;
	e->depth = r->ended[n - 1].depth;
	e->tick = r->ended[n - 1].end;
	e->why = REPLAY_SEEN;
	return r->sink->calls(r->ctx, e, r->ended, n);
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

static func_id named_in(const struct replay *r, const uint64_t *record,
			size_t n, size_t i)
{
	return i >= n || rec_value(record[i]) == REC_FUNC_OMITTED ? 0 :
	       r->func[rec_value(record[i])];
}

void replay_emit_wait(struct replay *r, struct stream *st,
		      const uint64_t *record, size_t n)
{
	struct replay_event e = event(r, st, st->now);

	e.func = st->frame[st->depth - 1].func;
	e.depth = (uint32_t)(st->depth - 2);
	e.reason = rec_func(record[0]);
	e.object = rec_value(record[1]);
	e.owner = (uint32_t)rec_value(record[2]);
	e.place = named_in(r, record, n, 3);
	e.site = named_in(r, record, n, 4);
	if (n > 5 && e.reason == WAIT_CONDITION)
		e.mutex = rec_value(record[5]);
	e.mutex_place = e.mutex ? named_in(r, record, n, 6) : 0;
	e.left = e.mutex && n > 7 ? rec_value(record[7]) : 0;
	if (r->sink->wait)
		r->sink->wait(r->ctx, &e);
}

/* Which flags have which operands, decode_chunk has checked. */
void replay_emit_heap(struct replay *r, struct stream *st,
		      const struct chunk *chunk, const uint64_t *record)
{
	struct replay_event e = event(r, st, st->now);
	const size_t i = (size_t)(record - chunk->records);

	e.depth = (uint32_t)(st->depth - 1);
	e.reason = rec_func(record[0]);
	e.object = rec_value(record[1]);
	e.begin = st->now;
	if (e.reason == HEAP_COLLECTED) {
		e.vm = e.object;
		if (r->sink->collected)
			r->sink->collected(r->ctx, &e);
		return;
	}
	if (e.reason != HEAP_FREE) {
		e.size = rec_value(record[2]);
		e.site = named_in(r, record, 4, 3);
		e.node = decode_heap_node(chunk, i,
					  decode_record_words(chunk, i));
		e.counted = e.node > 0 ? chunk : NULL;
		e.names = r->func;
	}
	if (e.reason == HEAP_MOVE) {
		e.old = rec_value(record[4]);
		if (rec_value(record[5]) < e.begin)
			e.begin -= rec_value(record[5]);
	}
	if (r->sink->heap)
		r->sink->heap(r->ctx, &e);
}

/* Frames that were left out are the outermost ones. */
void replay_emit_noted(struct replay *r, struct stream *st,
		       const uint64_t *record, enum noted state, ticks span)
{
	const bool is_open = (rec_func(record[0]) & NOTED_OPEN) != 0;
	const struct replay_event e = event(r, st, st->now);
	const size_t n = is_open ? 0 : (size_t)rec_value(record[4]);
	struct replay_noted noted = { .state = state, .span = span };
	func_id func[NOTED_FRAMES];

	for (size_t i = 0; i < n; i++)
		if (rec_func(record[5 + i]) != REC_FUNC_OMITTED)
			func[noted.count++] = r->func[rec_func(record[5 + i])];
	noted.func = func;
	r->sink->noted(r->ctx, &e, &noted);
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

void replay_emit_chunk_begin(struct replay *r, struct stream *st,
			     const struct chunk *chunk)
{
	const struct replay_event e = event(r, st, chunk->header.tick_begin);

	if (r->sink->chunk_begin)
		r->sink->chunk_begin(r->ctx, &e, chunk);
}

void replay_emit_chunk_end(struct replay *r, struct stream *st)
{
	const struct replay_event e = event(r, st, st->now);

	if (r->sink->chunk_end)
		r->sink->chunk_end(r->ctx, &e);
}

/* ---- a suspend and the resume after it ---- */

/* Threads are replayed one after the other: whichever of the two comes first is
 * parked under (coroutine and what it is, tick of the suspend) until the other
 * one comes. */
static uint64_t parked_key(uint32_t co, bool is_resume)
{
	return (uint64_t)co << 1 | is_resume;
}

/* The other end, if it is there. A resume that the same stream has had is not
 * that of its suspend now, even if no time has passed in between. */
static struct parked *take_parked(struct replay *r, const struct stream *st,
				  ticks tick, bool is_resume)
{
	const uint64_t key = parked_key(replay_top(st)->co, is_resume);
	const uint32_t id = map_find(r->parked_of, key, tick);
	struct parked *const p = id ? &r->parked[id - 1] : NULL;

	if (!p || (is_resume && p->event.stream == st))
		return NULL;
	assert(p->is_used && p->is_resume == is_resume);
	map_remove(r->parked_of, key, tick);
	return p;
}

/* The pair's number in events; 0 is no pair. */
static uint32_t number_of(const struct replay *r, const struct parked *p)
{
	return (uint32_t)(p - r->parked) + 1;
}

/* The number may be used again from here on. */
static void free_parked(struct replay *r, struct parked *p)
{
	mem_free(p->func);
	*p = (struct parked){ .next_free = r->parked_free };
	r->parked_free = number_of(r, p);
}

/* Its contents are for the caller to set. */
static struct parked *new_parked(struct replay *r)
{
	struct parked *p;

	if (!r->parked_free)
		return vec_add(&r->parked, &r->parked_room, &r->parked_count);
	p = &r->parked[r->parked_free - 1];
	r->parked_free = p->next_free;
	return p;
}

/* The topmost segment's functions, outermost first, without frames left out.
 * The caller frees *func. */
static size_t top_funcs(const struct stream *st, func_id **func)
{
	const size_t base = segment_first(replay_top(st));
	size_t n = 0;

	*func = mem_grow(NULL, st->depth - base, sizeof(**func));
	for (size_t i = base; i < st->depth; i++)
		if (!frame_is_omitted(&st->frame[i]))
			(*func)[n++] = st->frame[i].func;
	return n;
}

/* Park the topmost segment's frames; returns the pair's number. That there are
 * none says something too, unless this is a first resume: returns 0 then. */
static uint32_t park(struct replay *r, const struct stream *st, ticks tick,
		     bool is_resume)
{
	const struct segment *const top = replay_top(st);
	struct parked *p;

	if (st->depth == segment_first(top) && is_resume && tick == st->now)
		return 0;
	p = new_parked(r);
	*p = (struct parked){ .is_resume = is_resume, .is_used = true,
			      .event = event(r, st, st->now) };
	p->count = top_funcs(st, &p->func);
	p->event.depth = (uint32_t)(segment_first(top) - 1);
	*map_put(r->parked_of, parked_key(top->co, is_resume), tick) =
		number_of(r, p);
	return number_of(r, p);
}

/* A frame that the suspend had and the resume has not was left in between; one
 * that only the resume has was entered unseen. Frames are told apart by their
 * functions alone, from the outside in. before, after: the two stacks,
 * outermost first. */
static void reconcile(struct replay *r, struct stream *st,
		      const func_id *before, size_t n, const func_id *after,
		      size_t k)
{
	const size_t depth = segment_first(replay_top(st)) - 1;
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

/* Both ends are known: p, and the stream's stack. */
static void settle(struct replay *r, struct stream *st, struct parked *p)
{
	func_id *now;
	const size_t n = top_funcs(st, &now);

	if (p->is_resume)
		reconcile(r, st, now, n, p->func, p->count);
	else
		reconcile(r, st, p->func, p->count, now, n);
	mem_free(now);
	free_parked(r, p);
}

/* An event of the topmost coroutine, whose resumer is below it. */
static struct replay_event switch_event(const struct replay *r,
					const struct stream *st)
{
	const struct segment *const top = replay_top(st);
	struct replay_event e = event(r, st, st->now);

	e.in = top[-1].serial;
	e.depth = (uint32_t)(segment_first(top) - 1);
	return e;
}

/* The sink sees the resume first, then what ended or began meanwhile. */
void replay_emit_resume(struct replay *r, struct stream *st, uint64_t slept,
			uint32_t flags)
{
	struct replay_event e = switch_event(r, st);
	const ticks suspended = st->now - slept;
	struct parked *const p = take_parked(r, st, suspended, false);

	e.slept = slept;
	e.reason = flags & RESUME_CLOSES ? SUSPEND_CLOSED : 0;
	e.inferred = flags & RESUME_INFERRED;
	e.pair = p ? number_of(r, p) : park(r, st, suspended, true);
	e.is_second = p;
	if (r->sink->resume)
		r->sink->resume(r->ctx, &e);
	if (p)
		settle(r, st, p);
}

/* What ended or began meanwhile comes before the suspend, while the coroutine
 * is on the stack. */
void replay_emit_suspend(struct replay *r, struct stream *st, uint32_t flags)
{
	struct replay_event e = switch_event(r, st);
	struct parked *const p = take_parked(r, st, st->now, true);

	e.reason = flags & SUSPEND_REASON;
	e.inferred = flags & SUSPEND_INFERRED;
	e.pair = p ? number_of(r, p) : park(r, st, st->now, false);
	e.is_second = p;
	if (p)
		settle(r, st, p);
	if (r->sink->suspend)
		r->sink->suspend(r->ctx, &e);
}

/* No second end will come: a coroutine never ran again, or a suspend is
 * lost. */
static void give_up(struct replay *r, const struct parked *p)
{
	struct replay_event e = p->event;

	e.deferred = REPLAY_DEFERRED_FINISH;
	e.stream = NULL;
	if (p->is_resume)
		for (size_t i = 0; i < p->count; i++)
			emit_enter(r, &e, p->func[i], p->event.depth + i,
				   REPLAY_OPEN_BEFORE);
	else
		for (size_t i = p->count; i-- > 0; )
			emit_leave(r, &e, p->func[i], p->event.depth + i,
				   REPLAY_OPEN_AT_END, 0);
}

void replay_emit_finish(struct replay *r)
{
	for (size_t i = 0; i < r->parked_count; i++) {
		struct parked *const p = &r->parked[i];

		if (p->is_used)
			give_up(r, p);
		mem_free(p->func);
		*p = (struct parked){ 0 };
	}
	r->parked_count = r->parked_free = 0;
	map_clear(r->parked_of);
}
