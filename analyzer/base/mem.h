/* mem.h - memory that never fails (the program ends with a message instead) and
 * arenas for what lives as long as its session.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_BASE_MEM_H
#define WEFT_ANALYZER_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);                /* zeroed */
void *mem_grow(void *old, size_t count, size_t size); /* realloc of an array */
void mem_free(void *);
char *mem_copy(const char *text);            /* strdup */

/* Grow *array (of element size) to hold at least need elements; *room is the
 * number there is room for. */
void mem_need(void **array, size_t *room, size_t need, size_t size);

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *);             /* and all that was taken from it */
void *arena_alloc(struct arena *, size_t size); /* zeroed, 8-byte aligned */
char *arena_copy(struct arena *, const char *bytes, size_t length); /* + NUL */

#endif
