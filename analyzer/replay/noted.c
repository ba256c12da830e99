/* noted.c - which Lua functions a sampled VM was in: nodes below the call that
 * was open then. Their time is still that call's; correct/noted.c gives it to
 * them when all is known. Where each call is recorded, lines alone.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include <math.h>

/* What the innermost frame had caused, if its time is not its own. */
static func_id cause(struct replay *r, enum noted state)
{
	return state == NOTED_COLLECTOR ?
	       func_special(r->session->funcs, "[garbage collector]") :
	       state == NOTED_COMPILER ?
	       func_special(r->session->funcs, "[JIT compiler]") : 0;
}

/* The last frame is the innermost one. */
static void note_line(struct replay *r, uint64_t frame, enum noted state,
		      uint64_t ns)
{
	const uint64_t line = rec_gap(frame);
	struct noted_line add = { .notes = 1, .ns = ns };

	if (rec_func(frame) == REC_FUNC_OMITTED)
		return;
	add.func = r->func[rec_func(frame)];
	add.line = line > INT32_MAX ? 0 : (uint32_t)line;
	if (state == NOTED_COLLECTOR || state == NOTED_COMPILER)
		add.why = state;
	session_note_line(r->session, r->line_of, &r->line_room, &add);
}

/* The ticks that ns of a record are, whatever the trace says. */
static ticks ticks_of(const struct replay *r, uint64_t ns)
{
	return (ticks)fmin((double)ns * (double)r->session->tick_hz / 1e9,
			   1e18);
}

/* ---- what Lua calls ---- */

/* What was said in another chunk is not known there. */
static void take_calls(const struct replay *r, struct stream *st,
		       const uint64_t *word, size_t n)
{
	struct lua_calls *c = st->lua;

	if (!c)
		c = st->lua = mem_alloc(sizeof(*c));
	if (n > 0) {
		c->count = 0;
		c->chunk = r->chunk;
	}
	for (size_t i = 0; i < n; i++)
		if (rec_func(word[i]) != REC_FUNC_OMITTED)
			c->func[c->count++] = r->func[rec_func(word[i])];
	c->pending = c->chunk == r->chunk && c->count > 0;
}

/* The outermost one may be the body of a coroutine. */
static uint32_t outermost(struct replay *r, struct stream *st, func_id func)
{
	if (st->segments == 1 || st->depth != segment_first(replay_top(st)))
		return CCT_NOTED;
	replay_stack_set_body(r, st, func);
	return CCT_NOTED | replay_time_body(r, st);
}

node_id replay_lua_caller(struct replay *r, struct stream *st)
{
	struct lua_calls *const c = st->lua;
	node_id node = replay_here(st);
	uint32_t flags;

	if (!replay_lua_calls(st))
		return node;
	c->pending = false;
	flags = outermost(r, st, c->func[0]);
	for (uint32_t i = 0; i < c->count; i++, flags = CCT_NOTED)
		node = cct_child(st->tree, node, c->func[i], flags);
	return node;
}

/* ---- ticks ---- */

void replay_noted(struct replay *r, struct stream *st, const uint64_t *record)
{
	const uint64_t ns = rec_value(record[1]);
	const size_t n = (size_t)rec_value(record[4]);
	const enum noted state = rec_func(record[0]) & NOTED_STATE;
	const func_id why = cause(r, state);
	struct thread *const thread = &r->session->threads[st->thread];
	node_id node = replay_here(st);
	uint32_t flags = 0;

	if (rec_func(record[0]) == NOTED_CALLS) {
		take_calls(r, st, record + 5, n);
		return;
	}
	if (r->sink && r->sink->noted)
		replay_emit_noted(r, st, record, state, ticks_of(r, ns));
	if ((rec_func(record[0]) & NOTED_OPEN) != 0) {
		if (n > 0)
			note_line(r, record[4 + n], state, ns);
		return;
	}
	thread->unnoted += rec_value(record[2]);
	if (n == 0 || r->want.only_events) {
		thread->unnoted += n == 0 ? ns : 0;
		return;
	}
	thread->noted += ns;
	for (size_t i = 0; i < n; i++) {
		const uint32_t word = rec_func(record[5 + i]);

		if (word == REC_FUNC_OMITTED)
			continue;
		flags = flags ? CCT_NOTED : outermost(r, st, r->func[word]);
		node = cct_child(st->tree, node, r->func[word], flags);
	}
	if (why)
		node = cct_child(st->tree, node, why, CCT_NOTED);
	cct_note(st->tree, node, 1, ns);
	note_line(r, record[4 + n], state, ns);
}
