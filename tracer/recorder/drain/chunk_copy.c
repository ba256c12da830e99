/* chunk_copy.c - from buffer to chunk. All is read from the pool once, the
 * counts first, and only the copy is used after that.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/buffer.h"
#include "tracer/recorder/drain/chunk_copy.h"
#include "tracer/recorder/drain/chunk_samples.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

/* ---- copying a buffer ---- */

/* Calls that gave their records back may have come after the last record. */
static void last_for_brief(struct chunk_header *h,
			   const struct chunk_source *source, uint64_t end)
{
	struct rate_pair now;

	if (end <= h->tick_end)
		return;
	rate_read(source->rate, &now);
	if (now.tick > h->tick_end)
		h->tick_end = end < now.tick ? end : now.tick;
}

/* Calls that are only counted have no ticks. Of a thread that has ended, the
 * kernel knows until when it ran. */
static uint64_t last_of_counted(const struct chunk_source *source,
				const struct chunk_header *h)
{
	struct cpu_watch *const w = source->cpu;

	if (!w || source->slot >= w->slots || h->level != 0 ||
	    h->records > 0 || !(source->flags & CHUNK_TAKEN) ||
	    chunk_counted(source) == 0)
		return 0;
	cpu_watch_read(w, source->slot);
	return w->slot[source->slot].offcpu.known_to;
}

/* Add what the kernel has noted of the thread. A PARTIAL chunk has no samples:
 * what is written once is not kept for the whole chunk. */
static void add_noted(const struct chunk_source *source,
		      struct chunk_items *items)
{
	struct cpu_watch *const w = source->cpu;
	const struct chunk_header *const h = items->h;

	if (!w || h->level != 0 || source->slot >= w->slots ||
	    h->tick_hz == 0)
		return;
	cpu_watch_read(w, source->slot);
	chunk_items_add(items, offcpu_item(&w->slot[source->slot].offcpu, h,
					   items->to, items->room));
	if ((h->flags & CHUNK_PARTIAL) == 0)
		chunk_samples_put(w, source->slot, source->maps, items);
}

int chunk_copy(uint64_t *out, const struct chunk_source *source,
	       struct chunk_items *items)
{
	const struct buffer b = { source->buffer, source->words,
				  source->recording, source->flags };
	struct chunk_header *const h = (void *)out;
	const int found = buffer_open(out, &b);
	uint64_t end;

	if (found <= 0)
		return found;
	h->tick_hz = source->rate->hz;
	h->tick_hz_error = source->rate->error_ppb;
	uint64_t *const behind = buffer_body(out, &b, &end);

	last_for_brief(h, source, end);
	last_for_brief(h, source, last_of_counted(source, h));
	chunk_items_read(items, out, CHUNK_MAX_WORDS);
	items->to = behind;
	items->room = CHUNK_MAX_WORDS - (uint32_t)(behind - out) - h->funcs;
	h->flags &= ~(uint32_t)CHUNK_PARTIAL;
	h->flags |= source->flags & CHUNK_PARTIAL;
	add_noted(source, items);
	h->items += (uint32_t)(items->to - behind);
	buffer_end(h, &b, items->to);
	if (rate_is_stepped(source->rate, h->pair_tick, h->pair_mono,
			    h->pair_width))
		h->flags |= CHUNK_CLOCK_STEPPED;
	assert(h->total_words <= CHUNK_MAX_WORDS);
	return (int)h->total_words;
}

uint64_t chunk_counted(const struct chunk_source *source)
{
	const struct chunk_header *const in = (const void *)source->buffer;
	const uint32_t room = pool_record_room(source->words);
	const uint64_t *node = source->buffer + CHUNK_HEADER_WORDS + room;
	uint32_t n = buffer_count(&in->counted);
	uint64_t calls = 0;

	for (n = n < room / COUNTED_WORDS ? n : 0; n > 0; n--) {
		node -= COUNTED_WORDS;
		if (rec_kind(node[0]) == (enum rec_kind)COUNTED_CALL)
			calls += __atomic_load_n(&node[1], __ATOMIC_RELAXED);
	}
	return calls;
}

/* ---- chunks of notes ---- */

void chunk_copy_begin_meta(struct meta *m, uint64_t *words, uint64_t recording,
			   uint64_t number, const struct rate *rate)
{
	struct chunk_header *const h = (void *)words;
	struct rate_pair now;

	rate_read(rate, &now);
	memset(h, 0, sizeof(*h));
	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	h->flags = CHUNK_META | (rate->tsc ? (unsigned)CHUNK_TSC : 0u);
	h->recording = recording;
	h->pid = h->tid = (uint32_t)getpid();
	h->number = number;
	h->tick_begin = h->tick_end = h->pair_tick = now.tick;
	h->pair_mono = now.mono;
	h->pair_real = now.real;
	h->pair_width = now.width;
	h->process_start = now.real;
	h->tick_hz = rate->hz;
	h->tick_hz_error = rate->error_ppb;
	memcpy(h->thread_name, "weft-record", 11);
	m->words = words;
	m->n = CHUNK_HEADER_WORDS;
}
