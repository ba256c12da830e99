/* offcpu.c - from context switches to the times at which a thread did not run.
 * Does not know where the switches come from.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/offcpu.h"

#include <assert.h>
#include <stdlib.h>

enum {
	MAX_SPANS = 4096,          /* kept of a thread until its chunk comes */
	SURE_PART = 100000,        /* of a second, which is more than a tick
				    * can be wrong by */
};

static void begin_spans(struct offcpu *o, uint64_t at, enum offcpu_place place)
{
	o->spans = 0;
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
	if (!o->span)
		o->span = malloc(MAX_SPANS * sizeof(*o->span));
	if (!o->span)
		return false;
	if (o->spans == MAX_SPANS)
		begin_spans(o, o->known_to, o->place);
	o->span[o->spans++] = (struct offcpu_span){
		o->known_to, at & UINT64_MAX >> 1,
		o->place == OFFCPU_READY };
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

static uint32_t put_pair(uint64_t *to, uint32_t n, uint64_t from, uint64_t end)
{
	to[n] = from;
	to[n + 1] = end;
	return n + 2;
}

uint32_t offcpu_item(struct offcpu *o, const struct chunk_header *h,
		     uint64_t *to, uint32_t room)
{
	uint32_t n = 1, kept = 0;
	bool is_full = false;

	if (room < 3)
		return 0;
	settle_place(o, h);
	to[n++] = clip(o->known_from, h);
	to[n++] = clip(o->known_to, h);
	if (o->known_from == 0 || to[1] >= to[2])
		return 0;
	for (uint32_t i = 0; i < o->spans; i++) {
		const uint64_t from = clip(o->span[i].from, h);
		const uint64_t end = clip(o->span[i].to, h);

		/* A span that ends after this chunk is also the next one's. */
		if (o->span[i].to > h->tick_end)
			o->span[kept++] = o->span[i];
		if (from >= end || is_full)
			continue;
		is_full = n + (o->span[i].is_ready ? 4 : 2) > room;
		if (is_full) {
			/* What is left out makes the rest unknown. */
			to[2] = from;
			continue;
		}
		n = put_pair(to, n, from, end);
		if (o->span[i].is_ready)
			n = put_pair(to, n, end, end);
	}
	o->spans = kept;
	to[0] = item_put(ITEM_OFFCPU, n);
	return n;
}
