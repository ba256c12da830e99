/* mem.h - memory that never fails (the program ends with a message instead) and
 * arenas for what lives as long as its session.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* size zeroed bytes; the caller frees them with mem_free. */
void *mem_alloc(size_t size);
/* The array at old (or NULL), moved to where count elements of size bytes fit.
 * New elements hold no defined value. */
void *mem_grow(void *old, size_t count, size_t size);
/* The same for need elements or more, so that growing one by one is cheap.
 * *room is the number of elements there is room for. Use vec.h. */
void *mem_more(void *old, size_t *room, size_t need, size_t size);
void mem_free(void *);
/* The same of each: mem_free_all(f->rows, f). */
#define mem_free_all(...)                                                      \
	mem_free_each((void *const[]){ __VA_ARGS__ },                          \
		      sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void mem_free_each(void *const *, size_t count);
/* A copy of text; the caller frees it with mem_free. */
char *mem_copy(const char *text);
/* The same of what printf would write. */
__attribute__((format(printf, 1, 2)))
char *mem_print(const char *format, ...);

/* What is written to `to` becomes a text. The struct stays where it is until
 * the end. */
struct mem_stream { FILE *to; char *text; size_t size; };
void mem_stream_begin(struct mem_stream *);
/* Close it. The text, with a NUL after it; the caller frees it with
 * mem_free. */
char *mem_stream_end(struct mem_stream *);

/* Allocations that are freed together. */
struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *);
/* size zeroed bytes, aligned to 8. */
void *arena_alloc(struct arena *, size_t size);
/* A copy of length bytes, with a NUL after them. */
char *arena_copy(struct arena *, const char *bytes, size_t length);
/* A copy of what printf would write. */
__attribute__((format(printf, 2, 3)))
char *arena_print(struct arena *, const char *format, ...);
