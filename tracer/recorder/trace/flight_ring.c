/* flight_ring.c - what the entries of a queue say. A chunk of a thread never
 * ends before an earlier one of it: what is gone of a thread is the oldest.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/flight_ring.h"

#include <string.h>

void flight_ring_init(struct flight_ring *f, struct chunk_queue *chunks)
{
	memset(f, 0, sizeof(*f));
	f->chunks = chunks;
	f->from = chunks->from;
}

static void add_to(uint64_t *gone, const struct chunk_queue_entry *e)
{
	if (!e->may_come_again && e->tick > *gone)
		*gone = e->tick;
}

/* Nobody asks for ticks before the last that is gone. If all the others take
 * more than half of the room, every second one is forgotten: then less is known
 * to have been lost by a tick, and more after it. */
static void make_room(struct flight_ring *f)
{
	size_t old = 0, n = 0;

	while (old + 1 < f->losses && f->loss[old + 1].tick <= f->gone)
		old++;
	const size_t step = f->losses - old > FLIGHT_LOSSES / 2 ? 2 : 1;

	for (size_t i = old; i < f->losses; i += step)
		f->loss[n++] = f->loss[i];
	f->losses = n;
}

void flight_ring_note_lost(struct flight_ring *f,
			   const struct flight_gone *now)
{
	const size_t n = f->losses;

	if (n > 0 && memcmp(f->loss[n - 1].lost, now->lost,
			    sizeof(now->lost)) == 0)
		return;
	if (n == FLIGHT_LOSSES)
		make_room(f);
	f->loss[f->losses++] = *now;
}

/* What was lost by gone->tick. A chunk comes later than it ends: what is lost
 * meanwhile is missing among those that follow it. */
static void find_lost(const struct flight_ring *f, struct flight_gone *gone)
{
	size_t n = f->losses;

	while (n > 0 && f->loss[n - 1].tick > gone->tick)
		n--;
	memset(gone->lost, 0, sizeof(gone->lost));
	if (n > 0)
		memcpy(gone->lost, f->loss[n - 1].lost, sizeof(gone->lost));
}

/* The queue has made room. */
static void follow(struct flight_ring *f)
{
	for (; f->from < f->chunks->from; f->from++)
		add_to(&f->gone, chunk_queue_at(f->chunks, f->from));
}

void flight_ring_keep(struct flight_ring *f, const struct chunk_header *h,
		      uint32_t words)
{
	follow(f);
	struct chunk_queue_entry *const e = chunk_queue_keep(f->chunks, words);

	e->tick = h->tick_end;
	e->may_come_again = (h->flags & CHUNK_PARTIAL) != 0;
}

void flight_ring_renew(struct flight_ring *f)
{
	f->again = f->chunks->next;
}

void flight_ring_each(struct flight_ring *f, uint64_t since,
		      struct flight_gone *gone,
		      void (*call)(void *ctx, const uint64_t *words,
				   uint32_t n),
		      void *ctx)
{
	follow(f);
	gone->tick = f->gone;
	for (size_t i = f->from; i < f->chunks->next; i++) {
		const struct chunk_queue_entry *const e =
			chunk_queue_at(f->chunks, i);

		/* The beginning of a chunk that ended before would leave a gap
		 * behind it. */
		if (e->tick >= since || (e->may_come_again && i >= f->again))
			call(ctx, f->chunks->words + e->at, e->words);
		else
			add_to(&gone->tick, e);
	}
	find_lost(f, gone);
}
