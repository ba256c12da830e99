/* chunk.c - opening, filling and closing chunks. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/chunk.h"
#include "tracer/host/pool/pool_claim.h"
#include "tracer/host/thread/nesting.h"
#include "tracer/host/thread/lua_side.h"
#include "tracer/host/pool/process.h"

#include <errno.h>
#include <string.h>

/* ---------------------------------------------------------- what is lost */

static void count_scrap(struct thread_state *s)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < s->n; i++)
		lost += rec_kind(s->scrap_records[i]) != REC_OPERAND;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_FULL], lost,
				  memory_order_relaxed);
	atomic_store_explicit(&s->slot->scrap, 0, memory_order_relaxed);
}

static void use_scrap(struct thread_state *s)
{
	s->head = &s->scrap_head;
	s->scrap_head.checksum = 0; /* record -1 is no ENTER */
	s->buffer = NO_BUFFER;
	s->records = s->scrap_records;
	s->n = 0;
	s->limit = SCRAP_WORDS - RECORD_SLACK;
	s->published = &s->slot->scrap;
	s->items = s->funcs = 0;
	s->epoch++;
}

/* ------------------------------------------------------------ open, close */

void chunk_disown(struct thread_state *s)
{
	s->leaving = s->opening = 0;
	use_scrap(s);
}

void chunk_close(struct thread_state *s, uint32_t flags)
{
	if (s->level > 0)
		nesting_close(s, flags);
	chunk_hand_over(s, flags);
}

/* A handler's jump left a hook in the midst of a change of chunks: the old one
 * is handed over after all; the new one, in which nothing stands, is given
 * back. */
static void finish_change(struct thread_state *s)
{
	const uint64_t opening = s->opening;

	if (s->leaving != 0 && s->buffer != s->leaving_buffer) {
		s->number = s->scrap_head.number + 1;
		pool_claim_release(s->leaving_buffer, s->leaving, BUFFER_FULL);
	}
	s->leaving = 0;
	if (opening == 0)
		return;
	memset(pool_claim_words(s->opening_buffer), 0, CHUNK_HEADER_WORDS * 8);
	use_scrap(s);
	s->opening = 0;
	barrier();
	pool_claim_release(s->opening_buffer, opening, BUFFER_FREE);
}

void chunk_hand_over(struct thread_state *s, uint32_t flags)
{
	struct chunk_header *h;
	uint32_t b;

	if (unlikely((s->leaving | s->opening) != 0) && !BROKEN(change))
		finish_change(s);
	h = s->head;
	b = s->buffer;
	if (b == NO_BUFFER) {
		if (s->n > 0) {
			count_scrap(s);
			s->resync = 1;
		}
		use_scrap(s);
		return;
	}
	s->cpu = thread_cpu();
	h->tick_end = s->last;
	h->cpu_end = s->cpu;
	h->flags |= flags;
	chunk_show(&h->records, s->n); /* a jump may have come before that */
	/* A handler that jumps away from here must leave the state with a
	 * buffer and a number of its own, so these come first. */
	if (s->level > 0 && s->n >= s->limit)
		s->want_big = 1; /* else a small one will do */
	s->written = h->written + s->n;
	s->scrap_head.number = s->number;
	s->leaving_buffer = b;
	barrier();
	s->leaving = atomic_load_explicit(&process_view.states[b],
					  memory_order_relaxed);
	barrier();
	use_scrap(s);
	barrier(); /* a handler must not find the old n with the new number */
	s->number++;
	barrier();
	BREAK_PAUSE(closed);
	if (s->level == 0)
		nesting_close(s, flags);
	pool_claim_release(b, s->leaving, BUFFER_FULL);
	barrier();
	s->leaving = 0;
}

static void fill_header(struct thread_state *s, struct chunk_header *h,
			uint32_t flags)
{
	const struct clock_pair pair = clock_pair();

	memset(h, 0, sizeof(*h));
	h->version = CHUNK_VERSION;
	h->flags = flags | (clock_is_tsc ? CHUNK_TSC : 0u) |
		   (s->base_unknown ? CHUNK_BASE_UNKNOWN : 0u);
	h->recording = process_view.recording;
	h->process = s->process_serial;
	h->thread = s->thread_serial;
	h->pid = process_slot->pid;
	h->tid = s->tid;
	h->number = s->number;
	h->level = s->level;
	h->written = s->written;
	if (s->below) {
		h->interrupted_chunk = nesting_chunk(s->below);
		h->interrupted_record = s->below->n;
	} else {
		for (int i = 0; i < LOST_REASONS; i++)
			h->lost[i] = atomic_load_explicit(&s->slot->lost[i],
							  memory_order_relaxed);
	}
	h->process_start = process_start;
	h->tick_begin = s->last;
	h->pair_tick = pair.tick;
	h->pair_mono = pair.mono;
	h->pair_real = pair.real;
	h->pair_width = pair.width;
	h->tick_hz = atomic_load_explicit(&process_pool->tick_hz,
					  memory_order_relaxed);
	h->tick_hz_error = atomic_load_explicit(&process_pool->tick_hz_error,
						memory_order_relaxed);
	h->cpu_begin = s->cpu;
	memcpy(h->thread_name, s->name, sizeof(h->thread_name));
	h->magic = CHUNK_MAGIC;
}

/* A thread that needs more than 50 ms for a chunk is well served by a small
 * one; so is a thread's first. */
static int wants_big(const struct thread_state *s)
{
	const uint64_t slow = clock_is_tsc ? 100000000 : 50000000;

	return s->top - s->frames > 64 || s->segments > 4 || s->want_big ||
	       (s->number > 0 && s->level == 0 && s->last - s->opened < slow);
}

static void put_process(struct thread_state *s)
{
	const size_t length = strnlen(process_slot->path, POOL_PATH_MAX);
	const uint32_t words = 2 + chunk_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return;
	item[0] = item_put(ITEM_PROCESS, words);
	item[1] = process_slot->parent;
	chunk_put_string(item + 2, process_slot->path, length);
	chunk_publish_items(s);
}

static void chunk_open(struct thread_state *s, uint32_t flags)
{
	const uint32_t b = pool_claim(s, wants_big(s));

	s->opened = s->last;
	s->want_big = 0;
	if (b == NO_BUFFER)
		return; /* the scrap is in place */
	s->opening_buffer = b;
	barrier();
	s->opening = atomic_load_explicit(&process_view.states[b],
					  memory_order_relaxed);
	barrier();
	s->epoch++;
	s->buffer = b;
	s->head = (struct chunk_header *)pool_claim_words(b);
	s->buffer_words = b < process_view.small_count ? POOL_SMALL_WORDS :
			  POOL_BIG_WORDS;
	s->limit = pool_record_room(s->buffer_words) - RECORD_SLACK;
	s->items_at = CHUNK_HEADER_WORDS + pool_record_room(s->buffer_words);
	s->n = s->items = s->funcs = 0;
	s->records = (uint64_t *)(s->head + 1);
	s->published = (_Atomic uint32_t *)&s->head->records;
	memset(s->modules_named, 0, sizeof(s->modules_named));
	if (s->resync)
		flags |= CHUNK_GAP;
	s->resync = 0;
	fill_header(s, s->head, flags);
	if (!BROKEN(cut))
		chunk_put_stack(s);
	put_process(s);
	barrier();
	s->opening = 0;
	if (lua_side_chunk)
		lua_side_chunk(s);
}

void chunk_switch(struct thread_state *s, uint32_t flags)
{
	const int saved = errno;

	chunk_close(s, 0);
	chunk_open(s, flags);
	errno = saved;
}

SLOW uint64_t chunk_long_gap(struct thread_state *s, uint64_t gap)
{
	chunk_put(s, rec_put_value(REC_TIME, gap & REC_VALUE_MAX));
	return 0;
}
