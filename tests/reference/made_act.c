/* made_act.c - what a thread does next: calls, returns, jumps, marks; each is
 * told to the log and to the chunk.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

enum { DEEPEST = 14 };

/* Mostly few functions, so that they recur. */
uint32_t made_act_func(struct made *m, struct made_thread *t)
{
	if (made_chance(m, 4))
		return (uint32_t)made_random(m, m->funcs);
	return (t->first_func + (uint32_t)made_random(m, 4)) % m->funcs;
}

static void tell(struct made *m, const char *what, const struct made_thread *t)
{
	fprintf(m->log, "%llu %s %u", (unsigned long long)m->now, what,
		t->serial);
}

static void log_enter(struct made *m, struct made_thread *t, uint32_t func)
{
	m->calls++;
	tell(m, "enter", t);
	fprintf(m->log, " %u\n", func);
}

static void log_leave(struct made *m, struct made_thread *t)
{
	tell(m, "leave", t);
	putc('\n', m->log);
}

static void enter(struct made *m, struct made_thread *t, uint32_t func,
		  int is_tail)
{
	struct made_stream *const s = &t->stream[0];
	struct made_stack *const k = made_top(m, t);
	const uint32_t i = made_chunk_func(m, t, 0, func);

	cb_put(s->build, REC_ENTER, i, made_chunk_gap(m, s));
	k->on_body &= is_tail || k->depth > 0;
	k->frame[k->depth].func = func;
	k->frame[k->depth++].entry = m->now;
	log_enter(m, t, func);
}

static void leave(struct made *m, struct made_thread *t)
{
	struct made_stream *const s = &t->stream[0];
	struct made_stack *const k = made_top(m, t);
	const uint32_t i = made_chunk_func(m, t, 0,
					   k->frame[k->depth - 1].func);

	cb_put(s->build, REC_LEAVE, i, made_chunk_gap(m, s));
	k->depth--;
	log_leave(m, t);
}

/* A call that records nothing inside; a handler may have interrupted it, when
 * it was still an ENTER. */
static void leaf(struct made *m, struct made_thread *t, uint32_t func)
{
	struct made_stream *const s = &t->stream[0];
	struct chunk_build *const b = s->build;
	const uint32_t i = made_chunk_func(m, t, 0, func);
	const uint64_t gap = made_chunk_gap(m, s);
	const uint64_t began = m->now;

	made_top(m, t)->on_body &= made_top(m, t)->depth > 0;
	log_enter(m, t, func);
	m->now += made_random(m, 300);
	if (made_chance(m, 12)) {
		m->now++;
		made_handler(m, t, b->header.records + 1);
	}
	log_leave(m, t);
	if (gap <= REC_LEAF_MAX && m->now - began <= REC_LEAF_MAX) {
		cb_word(b, rec_enter_to_leaf(rec_put(REC_ENTER, i, gap),
					     m->now - began));
	} else {
		cb_word(b, rec_put(REC_ENTER, i, gap));
		cb_word(b, rec_put(REC_LEAVE, i, m->now - began));
	}
	b->tick = m->now;
}

static void unwind(struct made *m, struct made_thread *t)
{
	struct made_stream *const s = &t->stream[0];
	struct made_stack *const k = made_top(m, t);
	static const enum unwind whys[] = { UNWIND_JUMP, UNWIND_SKIPPED,
		UNWIND_ERROR, UNWIND_TAIL };
	const int is_body = t->segments > 1 && k->depth == 1;
	const enum unwind why = is_body && made_chance(m, 2) ? UNWIND_TAIL :
				whys[made_random(m, 4)];
	const uint32_t n = why == UNWIND_TAIL ? 1 :
			   1 + (uint32_t)made_random(m, k->depth);

	cb_unwind(s->build, n, why, made_chunk_gap(m, s));
	if (why == UNWIND_TAIL && is_body && !k->on_body) {
		k->body = k->frame[0];
		k->on_body = 1;
	}
	k->depth -= n;
	tell(m, "unwind", t);
	fprintf(m->log, " %u %u\n", n, why);
	if (why == UNWIND_TAIL)
		enter(m, t, made_act_func(m, t), 1);
}

static void mark(struct made *m, struct made_thread *t)
{
	static const char *const names[] = { "begin-request", "end-request",
		"weft.start lunch", "weft.stop lunch" };
	const char *const name = names[made_random(m, 4)];
	struct made_stream *const s = &t->stream[0];
	const uint64_t gap = made_chunk_gap(m, s);

	cb_mark(s->build, name, gap);
	tell(m, "mark", t);
	fprintf(m->log, " %s\n", name);
}

static void cut(struct made *m, struct made_thread *t)
{
	made_chunk_end(m, t, 0, 0);
	made_chunk_begin(m, t, 0);
}

static void pass_time(struct made *m)
{
	const uint64_t kind = made_random(m, 1000);

	m->now += 1 + made_random(m, kind < 900 ? 200 : kind < 990 ? 20000 :
				  kind < 999 ? 3000000 : 2000000000);
}

void made_act(struct made *m, struct made_thread *t)
{
	const struct made_stack *const k = made_top(m, t);
	const uint64_t what = made_random(m, 100);

	pass_time(m);
	if (made_chance(m, 60) ||
	    t->stream[0].build->header.records > CHUNK_MAX_RECORDS - 100)
		cut(m, t);
	if (what < 26 && k->depth < DEEPEST)
		enter(m, t, made_act_func(m, t), 0);
	else if (what < 48 && k->depth > 0)
		leave(m, t);
	else if (what < 66)
		leaf(m, t, made_act_func(m, t));
	else if (what < (t->segments > 1 && k->depth == 1 ? 75 : 69) &&
		 k->depth > 0)
		unwind(m, t);
	else if (what < 70)
		mark(m, t);
	else if (what < 73)
		made_handler(m, t, t->stream[0].build->header.records);
	else
		made_switch(m, t);
}
