/* chunk_dictionary.h - naming functions in a chunk: each function that its
 * records refer to has an index there. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/chunk.h"
#include "tracer/host/thread/depth.h"

/* The function's index in the open chunk, which is named there if need be, or
 * NO_INDEX: there is no room. */
#define NO_INDEX UINT32_MAX
uint32_t dictionary_try_name(struct thread_state *s, uint64_t key);

/* The same, with the address for a name: for a function that finds no room even
 * in a chunk that was just opened. NO_INDEX: it is a mark. Counted. */
uint32_t dictionary_name_poorly(struct thread_state *s, uint64_t key);

/* What is done with the calls of a function that is not open. One that the
 * chunk has named is recorded; another is looked up, and if its calls are left
 * out the table says so until the chunk's end. */
enum verdict dictionary_verdict(struct thread_state *s, uint64_t key);

/* Does recording wait for this function? Then it begins. The recorder is asked
 * if need be, for a second at most. */
bool dictionary_begins(uint64_t key);

/* The function's calls are counted, under that index: the table says so until
 * the chunk's end, and no longer that the chunk has named it. */
void dictionary_counts(struct thread_state *s, uint64_t key, uint32_t index);

/* May calls of this function have no frames, even if the open chunk has named
 * it meanwhile? */
bool dictionary_may_skip(const struct thread_state *s, uint64_t key);

/* Has the open chunk named the function only because a call of it was open at
 * its start, and is that one over? Since its calls are left out or counted by
 * now, but recorded by a chunk that names it, this chunk must end before the
 * next one. Else a loop that is as long as a chunk would be recorded for ever.
 * true: once in so many records. */
bool dictionary_has_outlived(struct thread_state *s, uint64_t key);

/* May the next call on the stack be left out? What begins a coroutine is
 * recorded: it is told by that. */
INLINE bool dictionary_decides(const struct thread_state *s)
{
	return mapped_view.verdicts &&
	       (s->segments == 1 ||
		s->top > s->frames + s->segment[s->segments - 1].base);
}

/* Writes count frames as open-frame words, the first being the first-th of
 * total open ones (which decides what a deep stack leaves out); returns the
 * word after. At most count words are written. */
uint64_t *dictionary_put_frames(struct thread_state *s, const struct frame *f,
				uint32_t count, uint32_t first, uint32_t total,
				uint64_t *to);

/* The open-frame word of the body under the segment's frames, which a tail call
 * has replaced; 0: there is none, or it finds no name. */
uint64_t dictionary_body(struct thread_state *s, const struct segment *g);

/* Writes the item of all open stacks into a chunk that was just opened. */
void dictionary_put_stack(struct thread_state *s);
