/* memory.h - memory that is taken once and never given back; and memory of
 * others, which may not be there. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* Zeroed, 16-byte aligned; NULL: none left. Hook-safe: no lock, no malloc; does
 * not change errno. */
void *memory_get(size_t size);

/* An array of elements of that size with room for need of them: the old one, if
 * *room does, or a new one, empty (zeroed), and at least twice as large. The
 * old one stays as it is, for the caller to copy from. NULL: none left; *room
 * is changed on success alone. Hook-safe. */
void *memory_grow(void *old, uint32_t *room, uint32_t need, size_t size);

/* Sets so many words to 0. Not by memset: in a program that was built with
 * ThreadSanitizer that is the sanitizer's, which sees what one thread does with
 * memory that another gave back, but not how. */
INLINE void memory_clear(void *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_store_n((uint64_t *)words + i, 0, __ATOMIC_RELAXED);
}

/* Copies size bytes from an address that may be wrong; returns whether it
 * worked. If not, some bytes may have been copied. Asks the kernel once for
 * each page of 4 KiB. Hook-safe. */
bool memory_copy(void *to, const void *from, size_t size);
