/* made_handler.c - a signal handler that interrupted a hook: a run in a stream
 * of its own, level 1. To the log its calls are the thread's calls like any.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

enum { STEPS = 8, DEEPEST = 4 };

static void put(struct made *m, struct made_thread *t, enum rec_kind kind,
		uint32_t func)
{
	struct made_stream *const s = &t->stream[1];
	const uint32_t i = made_chunk_func(m, t, 1, func);

	cb_put(s->build, kind, i, made_chunk_gap(m, s));
	fprintf(m->log, "%llu %s %u", (unsigned long long)m->now,
		kind == REC_ENTER ? "enter" : "leave", t->serial);
	if (kind == REC_ENTER) {
		fprintf(m->log, " %u", func);
		m->calls++;
	}
	putc('\n', m->log);
}

void made_handler(struct made *m, struct made_thread *t, uint32_t records)
{
	struct made_stream *const s = &t->stream[1];
	uint32_t open[DEEPEST], depth = 0;

	if (!s->is_open)
		made_chunk_begin(m, t, 1);
	fprintf(m->log, "%llu handler %u\n", (unsigned long long)m->now,
		t->serial);
	cb_interrupt(s->build, t->stream[0].number - 1, records,
		     made_chunk_gap(m, s));
	for (int i = 0; i < STEPS || depth > 0; i++) {
		m->now += made_random(m, 100);
		if (i < STEPS && depth < DEEPEST && made_chance(m, 2)) {
			open[depth] = made_act_func(m, t);
			put(m, t, REC_ENTER, open[depth++]);
		} else if (depth > 0) {
			put(m, t, REC_LEAVE, open[--depth]);
		}
	}
	fprintf(m->log, "%llu back %u\n", (unsigned long long)m->now,
		t->serial);
	m->now++;
}
