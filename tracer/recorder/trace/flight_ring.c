/* flight_ring.c - a stamp beside each entry of a backlog. A chunk of a thread
 * never ends before an earlier one of it: what is gone of a thread is the
 * oldest.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/flight_ring.h"

#include <string.h>
#include <sys/mman.h>

int flight_ring_init(struct flight_ring *f, struct backlog *chunks)
{
	memset(f, 0, sizeof(*f));
	f->chunks = chunks;
	f->from = chunks->from;
	f->stamp = backlog_reserve(BACKLOG_ENTRIES * sizeof(*f->stamp));
	return f->stamp ? 0 : -1;
}

static void add_to(uint64_t *gone, const struct flight_stamp *s)
{
	if (!s->may_come_again && s->tick > *gone)
		*gone = s->tick;
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

/* The backlog has made room. */
static void follow(struct flight_ring *f)
{
	for (; f->from < f->chunks->from; f->from++)
		add_to(&f->gone, &f->stamp[f->from % BACKLOG_ENTRIES]);
}

void flight_ring_keep(struct flight_ring *f, const struct chunk_header *h,
		      uint32_t words)
{
	struct flight_stamp *const s =
		&f->stamp[f->chunks->next % BACKLOG_ENTRIES];

	follow(f);
	s->tick = h->tick_end;
	s->may_come_again = (h->flags & CHUNK_PARTIAL) != 0;
	backlog_keep(f->chunks, words);
}

void flight_ring_renew(struct flight_ring *f)
{
	f->again = f->chunks->next;
}

/* One walk over the entries. */
struct walk {
	struct flight_ring *f;
	uint64_t since;
	size_t at;
	struct flight_gone *gone;
	void (*call)(void *ctx, const uint64_t *words, uint32_t n);
	void *ctx;
};

/* The beginning of a chunk that ended before would leave a gap behind it. */
static void pass(void *ctx, const uint64_t *words, uint32_t n)
{
	struct walk *const w = ctx;
	const bool is_new = w->at >= w->f->again;
	const struct flight_stamp *const s =
		&w->f->stamp[w->at++ % BACKLOG_ENTRIES];

	if (s->tick >= w->since || (s->may_come_again && is_new))
		w->call(w->ctx, words, n);
	else
		add_to(&w->gone->tick, s);
}

void flight_ring_each(struct flight_ring *f, uint64_t since,
		      struct flight_gone *gone,
		      void (*call)(void *ctx, const uint64_t *words,
				   uint32_t n),
		      void *ctx)
{
	struct walk w = { f, since, f->chunks->from, gone, call, ctx };

	follow(f);
	gone->tick = f->gone;
	backlog_each(f->chunks, pass, &w);
	find_lost(f, gone);
}
