/* tee.c - each event goes to every part that has a function for it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/tee.h"

#define TELL(to, event, ...) \
	do { \
		const struct tee *const t = (to); \
\
		for (const struct tee_part *p = t->part; \
		     p < t->part + t->count; p++) \
			if (p->sink->event) \
				p->sink->event(p->ctx, __VA_ARGS__); \
	} while (0)

#define OF_EVENT(event) \
	static void event(void *ctx, const struct replay_event *e) \
	{ \
		TELL(ctx, event, e); \
	}
OF_EVENT(resume)
OF_EVENT(suspend)
OF_EVENT(create)
OF_EVENT(mark)
OF_EVENT(chunk_end)
OF_EVENT(adopt)

/* Of a call, by its parts alone. */
#define TELL_CALL(to, event, ...) \
	do { \
		const struct tee *const t = (to); \
\
		for (size_t i = 0; i < t->call_count; i++) \
			t->calls[i].sink->event(t->calls[i].ctx, __VA_ARGS__); \
	} while (0)

static void enter(void *ctx, const struct replay_event *e)
{
	TELL_CALL(ctx, enter, e);
}

static void leave(void *ctx, const struct replay_event *e)
{
	TELL_CALL(ctx, leave, e);
}

static void leaf(void *ctx, const struct replay_event *e, ticks took)
{
	TELL_CALL(ctx, leaf, e, took);
}

static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	TELL(ctx, chunk_begin, e, chunk);
}

static void pass(void *ctx, const struct stream *s, ticks from, ticks to)
{
	const struct tee *const t = ctx;

	/* Seldom of more than one part. */
	if (t->pass_count == 1) {
		t->pass[0].sink->pass(t->pass[0].ctx, s, from, to);
		return;
	}
	for (size_t i = 0; i < t->pass_count; i++)
		t->pass[i].sink->pass(t->pass[i].ctx, s, from, to);
}

static void off(void *ctx, const struct stream *s, ticks from, ticks to)
{
	TELL(ctx, off, s, from, to);
}

void tee_add(struct tee *t, const struct replay_sink *sink, void *ctx)
{
	const struct tee_part p = { sink, ctx };

	t->part[t->count++] = p;
	if (sink->leaf)
		t->calls[t->call_count++] = p;
	if (sink->pass)
		t->pass[t->pass_count++] = p;
}

const struct replay_sink tee_sink = {
	.enter = enter, .leave = leave, .leaf = leaf, .resume = resume,
	.suspend = suspend, .create = create, .mark = mark,
	.chunk_begin = chunk_begin, .chunk_end = chunk_end, .adopt = adopt,
	.pass = pass, .off = off,
};
