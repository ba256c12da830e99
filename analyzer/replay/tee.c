/* tee.c - each event goes to every part that has a function for it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/tee.h"

#include "analyzer/base/order.h"

#include <assert.h>

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
OF_EVENT(enter)
OF_EVENT(leave)
OF_EVENT(resume)
OF_EVENT(suspend)
OF_EVENT(create)
OF_EVENT(mark)
OF_EVENT(wait)
OF_EVENT(heap)
OF_EVENT(collected)
OF_EVENT(chunk_end)
OF_EVENT(adopt)

static ticks calls(void *ctx, const struct replay_event *e,
		   const struct replay_call *call, size_t n)
{
	const struct tee *const t = ctx;
	ticks brief = UINT64_MAX;

	for (const struct tee_part *p = t->part; p < t->part + t->count; p++) {
		const ticks its = p->sink->calls ?
			p->sink->calls(p->ctx, e, call, n) : UINT64_MAX;

		brief = MIN(its, brief);
	}
	return brief;
}

static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	TELL(ctx, chunk_begin, e, chunk);
}

static void off(void *ctx, const struct stream *s, ticks from, ticks to,
		bool ready)
{
	TELL(ctx, off, s, from, to, ready);
}

static void unknown(void *ctx, const struct stream *s, ticks from, ticks to)
{
	TELL(ctx, unknown, s, from, to);
}

static void noted(void *ctx, const struct replay_event *e,
		  const struct replay_noted *n)
{
	TELL(ctx, noted, e, n);
}

/* What no part has a function for costs nothing. */
void tee_add(struct tee *t, const struct replay_sink *sink, void *ctx)
{
	assert(t->count < TEE_PARTS && !sink->pass);
	t->part[t->count++] = (struct tee_part){ sink, ctx };
#define ADD(event) \
	if (sink->event) \
		t->sink.event = event
	ADD(enter);
	ADD(leave);
	ADD(calls);
	ADD(resume);
	ADD(suspend);
	ADD(create);
	ADD(mark);
	ADD(wait);
	ADD(heap);
	ADD(collected);
	ADD(chunk_begin);
	ADD(chunk_end);
	ADD(adopt);
	ADD(off);
	ADD(unknown);
	ADD(noted);
#undef ADD
}
