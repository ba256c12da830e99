/* chunk_stack.c - the stacks open at a chunk's start, written into it.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/chunk.h"

/* The words of one frame of the stack item; frames that find no name (there is
 * no room for it) are left out like those in the middle of a deep stack. */
static uint64_t *put_frame(struct thread_state *s, const struct frame *f,
			   uint64_t *to, const uint64_t *begin, int omit)
{
	const uint64_t age = s->last - f->tick;
	uint32_t index = CHUNK_NO_INDEX;

	if (!omit)
		index = chunk_try_name(
			s, f->key,
			&s->table[(f->key * GOLDEN) >> (64 - TABLE_BITS)]);
	if (index != CHUNK_NO_INDEX) {
		*to++ = rec_put(REC_OPERAND, index, age < REC_AGE_UNKNOWN ?
				age : REC_AGE_UNKNOWN);
		return to;
	}
	if (to > begin && rec_func(to[-1]) == REC_FUNC_OMITTED) {
		to[-1] += UINT64_C(1) << REC_GAP_SHIFT;
		return to;
	}
	*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED, 1);
	return to;
}

uint64_t *chunk_put_frames(struct thread_state *s, const struct frame *f,
			   uint32_t count, uint32_t first, uint32_t total,
			   uint64_t *to)
{
	const uint64_t *const begin = to;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t k = first + i;

		to = put_frame(s, &f[i], to, begin,
			       k >= CHUNK_STACK_OUTER &&
			       k + CHUNK_STACK_INNER < total);
	}
	return to;
}

/* One segment after the other; all frames of each left out if omit. */
static uint64_t *put_segments(struct thread_state *s, uint64_t *to, int omit)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;

	for (uint32_t i = 0; i < s->segments; i++) {
		const struct segment *const g = &s->segment[i];
		const uint32_t end = i + 1 < s->segments ? g[1].base :
				     total + 1;
		uint64_t *const count = to + 1;

		*to = g->serial;
		to += 2;
		if (omit && end > g->base)
			*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED,
					end - g->base);
		else
			to = chunk_put_frames(s, s->frames + g->base,
					      end - g->base, g->base - 1, total,
					      to);
		*count = (uint64_t)(to - count - 1);
	}
	return to;
}

/* The stack item goes where the items begin: its room is set aside first, since
 * naming its functions makes items too; what is left over is an item of type 0,
 * which readers skip. */
void chunk_put_stack(struct thread_state *s)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER;
	uint32_t words = 2 + 3 * s->segments + (total < most ? total : most);
	uint64_t *item = chunk_item(s, words), *to;
	const int omit = !item;

	if (omit) {
		words = 2 + 3 * s->segments;
		item = chunk_item(s, words);
	}
	if (!item) {
		s->head->flags |= CHUNK_BASE_UNKNOWN;
		return;
	}
	item[1] = s->segments;
	to = put_segments(s, item + 2, omit);
	item[0] = item_put(ITEM_STACK, (uint64_t)(to - item));
	if (to < item + words)
		*to = item_put(ITEM_NOTHING, (uint64_t)(item + words - to));
	chunk_publish_items(s);
}
