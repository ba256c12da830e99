/* offcpu.c - from context switches to the times at which a thread did not run.
 * Does not know where the switches come from.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/offcpu.h"
#include "tracer/recorder/base/grow.h"

#include <assert.h>
#include <string.h>

enum {
	MAX_SPANS = 16384,         /* kept of a thread until its chunk comes */
	SURE_PART = 100000,        /* of a second, which is more than a tick
				    * can be wrong by */
	MAX_SPAN_BYTES = 30,       /* three numbers of 64 bits in LEB128 */
};

static void begin_spans(struct offcpu *o, uint64_t at, enum offcpu_place place)
{
	o->spans = o->settled = 0;
	o->waited = UINT64_MAX;
	o->place = place;
	o->known_from = o->known_to = o->read_to = at;
}

void offcpu_begin(struct offcpu *o, uint64_t at, enum offcpu_place away)
{
	begin_spans(o, at, OFFCPU_UNSEEN);
	o->away = away;
}

/* False: no memory. */
static bool add_span(struct offcpu *o, uint64_t at)
{
	if (o->spans == MAX_SPANS)
		begin_spans(o, o->known_to, o->place);
	if (!grow(&o->span, &o->room, o->spans + 1, sizeof(*o->span)))
		return false;
	o->span[o->spans++] = (struct offcpu_span){ o->known_to,
		o->place == OFFCPU_READY ? o->known_to : at, at };
	return true;
}

/* A span is known when the thread comes back. A switch that does not follow
 * from the one before shows that one was lost. */
void offcpu_switch(struct offcpu *o, enum offcpu_place after, uint64_t at)
{
	const bool comes = after == OFFCPU_ON;

	if (o->place == OFFCPU_UNSEEN)
		o->place = comes ? o->away : OFFCPU_ON;
	const bool is_wrong = o->place == OFFCPU_UNSEEN ||
			      (o->place == OFFCPU_ON) == comes;

	/* The kernel may have noted it while the ring was read. */
	if (at < o->known_to)
		at = o->known_to;
	if (is_wrong || (comes && !add_span(o, at)))
		begin_spans(o, at, after);
	o->place = after;
	o->known_to = at;
}

void offcpu_reach(struct offcpu *o, uint64_t at)
{
	/* If the thread is off the CPU now, the end of this span is unknown. */
	if (at > o->known_to)
		o->read_to = at;
	if (o->place == OFFCPU_ON && at > o->known_to)
		o->known_to = at;
	assert(o->known_from <= o->known_to && o->spans <= MAX_SPANS);
}

bool offcpu_is_crowded(const struct offcpu *o)
{
	return o->spans > MAX_SPANS / 2;
}

/* Shorten sleeps by that, in all: each by as much; what some are too short for,
 * by what the others have left. */
static void wake(struct offcpu_span *first, const struct offcpu_span *end,
		 uint32_t sleeps, uint64_t left)
{
	for (int rest = 0; rest < 2; rest++)
		for (struct offcpu_span *s = first; s < end; s++) {
			const uint64_t most = s->ready - s->from;
			const uint64_t share = rest || most == 0 ? left :
					       left / sleeps--;
			const uint64_t part = share < most ? share : most;

			s->ready -= part;
			left -= part;
		}
}

void offcpu_waited(struct offcpu *o, uint64_t at, uint64_t all)
{
	struct offcpu_span *const first = o->span + o->settled;
	uint64_t known = o->waited;
	uint32_t sleeps = 0;

	for (; o->settled < o->spans && o->span[o->settled].to <= at;
	     o->settled++) {
		const struct offcpu_span *const s = &o->span[o->settled];

		known += s->to - s->ready;
		sleeps += s->ready > s->from;
	}
	if (o->waited != UINT64_MAX && all > known && sleeps > 0)
		wake(first, o->span + o->settled, sleeps, all - known);
	/* What all sleeps were too short for is dropped. */
	o->waited = o->waited == UINT64_MAX || all > known ? all : known;
}

/* ---- the item ---- */

static uint64_t clip(uint64_t tick, const struct chunk_header *h)
{
	return tick < h->tick_begin ? h->tick_begin :
	       tick > h->tick_end ? h->tick_end : tick;
}

/* A thread that wrote a record since its last switch was on the CPU then, and
 * so all the time from that switch to the last reading. */
static void settle_place(struct offcpu *o, const struct chunk_header *h)
{
	if (o->place != OFFCPU_UNSEEN || o->known_from == 0 ||
	    o->known_from + h->tick_hz / SURE_PART >= h->tick_end)
		return;
	o->place = OFFCPU_ON;
	o->known_to = o->read_to;
}

/* LEB128: seven bits a byte, the lowest first; the eighth says that more
 * follow. */
static size_t put_number(uint8_t *to, uint64_t n)
{
	size_t bytes = 0;

	for (; n > 127; n >>= 7)
		to[bytes++] = (uint8_t)(n | 128);
	to[bytes++] = (uint8_t)n;
	return bytes;
}

/* Spans, as bytes of the item. */
struct put {
	uint8_t *to;
	size_t n, room;
	uint64_t at;               /* the end of the last span */
};

/* False: there is no room. */
static bool put_span(struct put *p, struct offcpu_span s)
{
	uint8_t bytes[MAX_SPAN_BYTES];
	size_t n = put_number(bytes, s.from - p->at);

	n += put_number(bytes + n, s.ready - s.from);
	n += put_number(bytes + n, s.to - s.ready);
	if (n > p->room - p->n)
		return false;
	memcpy(p->to + p->n, bytes, n);
	p->n += n;
	p->at = s.to;
	return true;
}

/* A span that ends after the chunk is also the next one's. */
static void forget_until(struct offcpu *o, uint64_t end)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->spans; i++)
		if (o->span[i].to > end)
			o->span[kept++] = o->span[i];
	/* What is gone cannot be compared any more. */
	if (o->settled < o->spans)
		o->waited = UINT64_MAX;
	o->spans = o->settled = kept;
}

uint32_t offcpu_item(struct offcpu *o, const struct chunk_header *h,
		     uint64_t *to, uint32_t room)
{
	struct offcpu seen = *o;
	uint32_t n = 3;

	if (room < n)
		return 0;
	settle_place(&seen, h);
	if ((h->flags & CHUNK_PARTIAL) == 0)
		*o = seen;
	to[1] = clip(seen.known_from, h);
	to[2] = clip(seen.known_to, h);
	if (seen.known_from == 0 || to[1] >= to[2])
		return 0;
	struct put put = { .to = (uint8_t *)(to + n), .at = to[1],
			   .room = (room - n) * sizeof(*to) };
	for (uint32_t i = 0; i < seen.spans; i++) {
		const struct offcpu_span whole = seen.span[i];
		const struct offcpu_span s = { clip(whole.from, h),
			clip(whole.ready, h), clip(whole.to, h) };

		if (s.from < s.to && !put_span(&put, s)) {
			/* What is left out makes the rest unknown. */
			to[2] = s.from;
			break;
		}
	}
	if ((h->flags & CHUNK_PARTIAL) == 0)
		forget_until(o, h->tick_end);
	memset(put.to + put.n, 0, -put.n % sizeof(*to));
	n += (uint32_t)((put.n + sizeof(*to) - 1) / sizeof(*to));
	to[0] = item_put(ITEM_SWITCHES, n);
	return n;
}
