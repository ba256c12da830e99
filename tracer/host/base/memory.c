/* memory.c - a bump allocator: threads take pieces of the current block by
 * adding to its count, and who finds it full maps the next.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/base/kernel.h"

#include <errno.h>

enum { BLOCK = 1 << 20, HEAD = 64 }; /* bytes */

/* At the start of its memory. */
struct block {
	_Atomic size_t used; /* bytes, HEAD included; may exceed size */
	size_t size;
};

static struct block *_Atomic current;

/* A block of zeros; pages that nobody touches cost nothing. */
static struct block *map_block(size_t size)
{
	struct block *const b = kernel_map(size);

	if (!b)
		return NULL;
	b->size = size;
	atomic_store(&b->used, HEAD);
	return b;
}

/* The first look keeps the count from growing without end in a full block. */
static void *take(struct block *b, size_t size)
{
	size_t at;

	if (!b || atomic_load(&b->used) + size > b->size)
		return NULL;
	at = atomic_fetch_add(&b->used, size);
	return at + size <= b->size ? (char *)b + at : NULL;
}

/* Who loses the race for a new block gives its own back. A block that is
 * replaced keeps its pieces; its rest is lost. */
static void *get(size_t size)
{
	for (int tries = 0; tries < 8; tries++) {
		struct block *b = atomic_load(&current);
		void *const p = take(b, size);
		struct block *made;

		if (p)
			return p;
		made = map_block(BLOCK);
		if (!made)
			return NULL;
		if (!atomic_compare_exchange_strong(&current, &b, made))
			kernel_unmap(made, BLOCK);
	}
	return NULL;
}

void *memory_get(size_t size)
{
	const int saved = errno;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (size > BLOCK / 4) {
		struct block *const b = map_block((size + HEAD + 4095) &
						  ~(size_t)4095);

		p = !b ? NULL : (char *)b + HEAD;
	} else {
		p = get(size);
	}
	errno = saved;
	return p;
}

void *memory_grow(void *old, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t to = *room == 0 ? 8 : *room;
	void *made;

	if (need <= *room)
		return old;
	while (to < need)
		to *= 2;
	made = memory_get(to * size);
	if (made)
		*room = to;
	return made;
}

/* Not watched by the sanitizers: what lies there may have been freed, which
 * is what the caller wants to know. */
__attribute__((no_sanitize("address", "thread")))
bool memory_copy(void *to, const void *from, size_t size)
{
	const volatile char *const bytes = from;

	for (size_t i = 0; i < size; i++) {
		if ((i == 0 || ((uintptr_t)&bytes[i] & 4095) == 0) &&
		    !kernel_can_read((const char *)from + i))
			return false;
		((char *)to)[i] = bytes[i];
	}
	return true;
}
