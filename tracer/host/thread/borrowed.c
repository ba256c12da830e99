/* borrowed.c - which of another thread's calls are borrowed.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/borrowed.h"
#include "tracer/host/base/break.h"

#include <string.h>

/* Adds the segment's calls after the n that are there; returns how many there
 * are then. */
static uint32_t add_segment(const struct thread_state *s, uint32_t i,
			    uint64_t *key, uint32_t n, uint32_t most)
{
	const struct segment *const g = &s->segment[i];
	const struct frame *const end = depth_recorded_end(s, i);
	const struct frame *f = s->frames + g->base;
	uint64_t body = i > 0 ? KEY_BODY : 0;

	if (g->body.key != 0 && f->tick == g->body.on && n < most) {
		key[n++] = g->body.key | body;
		body = 0;
	}
	for (; f < end && n < most; f++) {
		key[n++] = f->key | body |
			   (frame_begins_borrowed(f) ? KEY_BODY : 0);
		body = 0;
	}
	return n;
}

uint32_t borrowed_keys(const struct thread_state *s, uint64_t *key,
		       uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->segments; i++)
		n = add_segment(s, i, key, n, most);
	return n;
}

/* How many of the calls this thread has itself; all of them, too, if its own
 * are others, or go on. */
static uint32_t own_of(const struct thread_state *s, const uint64_t *key,
		       uint32_t count)
{
	uint64_t own[BORROWED_MOST + 1];
	const uint32_t n = borrowed_keys(s, own, count + 1);

	return n <= count && memcmp(own, key, n * sizeof(*own)) == 0 ? n :
	       count;
}

struct borrowed borrowed_begin(struct thread_state *s, const uint64_t *key,
			       uint32_t count, uint64_t sp)
{
	struct borrowed b = { shadow_mark(s), 0 };
	const uint32_t own = own_of(s, key, count);
	uint32_t n = count - own;

	if (s->chooses && s->top + n > depth_end(s))
		n = s->top < depth_end(s) ? (uint32_t)(depth_end(s) - s->top) :
		    0;
	if (n > 0 && !BROKEN(borrowed) &&
	    shadow_borrow(s, key + own, n, sp, chunk_clock(s)))
		b.count = n;
	return b;
}

void borrowed_end(struct thread_state *s, const struct borrowed *b)
{
	const uint64_t now = chunk_clock(s);
	struct shadow_mark calls = b->from;

	if (b->count == 0)
		return;
	calls.depth += b->count;
	shadow_cut(s, calls, UNWIND_SKIPPED, now);
	shadow_cut(s, b->from, UNWIND_BORROWED, now);
}
