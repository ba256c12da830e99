/* mem.c - memory that never fails, and arenas. All that a command-line tool can
 * do without memory is to say so and end.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, STATUS_BUG = 3 };

/* p, which is NULL only if there is no memory left. */
static void *checked(void *p, size_t size)
{
	if (!p && size > 0) {
		fprintf(stderr, "weft: out of memory (%zu bytes wanted)\n",
			size);
		exit(STATUS_BUG);
	}
	return p;
}

static size_t product(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		checked(NULL, SIZE_MAX);
	return bytes;
}

void *mem_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1), size);
}

void *mem_grow(void *old, size_t count, size_t size)
{
	const size_t bytes = product(count, size);

	return checked(realloc(old, bytes ? bytes : 1), bytes);
}

void mem_free(void *p)
{
	free(p);
}

void mem_free_each(void *const *p, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(p[i]);
}

char *mem_copy(const char *text)
{
	return checked(strdup(text), strlen(text) + 1);
}

/* What vprintf would write. */
static char *printed(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? checked(NULL, SIZE_MAX) :
	       text;
}

char *mem_print(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = printed(format, args);
	va_end(args);
	return text;
}

void *mem_more(void *old, size_t *room, size_t need, size_t size)
{
	size_t want = *room ? *room : 4;

	if (need <= *room)
		return old;
	while (want < need)
		want = want > SIZE_MAX / 2 ? need : want * 2;
	*room = want;
	return mem_grow(old, want, size);
}

/* ---- streams ---- */

void mem_stream_begin(struct mem_stream *s)
{
	*s = (struct mem_stream){ 0 };
	s->to = checked(open_memstream(&s->text, &s->size), SIZE_MAX);
}

/* What could not be kept is seen at the end only. */
char *mem_stream_end(struct mem_stream *s)
{
	const bool is_short = ferror(s->to);

	return checked(fclose(s->to) != 0 || is_short ? NULL : s->text,
		       SIZE_MAX);
}

/* ---- arenas ---- */

/* Blocks form a list that begins with the one being filled. used <= room. */
struct block {
	struct block *next;
	size_t used, room;       /* bytes of data */
	_Alignas(8) char data[];
};

struct arena {
	struct block *first;
};

struct arena *arena_new(void)
{
	return mem_alloc(sizeof(struct arena));
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->first) {
		struct block *const b = a->first;

		a->first = b->next;
		free(b);
	}
	free(a);
}

static struct block *new_block(size_t room)
{
	struct block *const b = mem_alloc(sizeof(*b) + room);

	b->room = room;
	return b;
}

/* A big allocation gets its own block, behind the one being filled. */
static void *alloc_big(struct arena *a, size_t size)
{
	struct block *const b = new_block(size);

	b->used = size;
	if (a->first) {
		b->next = a->first->next;
		a->first->next = b;
	} else {
		a->first = b;
	}
	return b->data;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct block *b = a->first;
	void *p;

	if (size > SIZE_MAX / 2)
		checked(NULL, size);
	size = (size + 7) & ~(size_t)7;
	if (size > BLOCK_BYTES / 4)
		return alloc_big(a, size);
	if (!b || b->room - b->used < size) {
		b = new_block(BLOCK_BYTES);
		b->next = a->first;
		a->first = b;
	}
	p = b->data + b->used;
	b->used += size;
	assert(b->used <= b->room);
	return p;
}

char *arena_copy(struct arena *a, const char *bytes, size_t length)
{
	char *const copy = arena_alloc(a, length + 1);

	if (length > 0)
		memcpy(copy, bytes, length);
	return copy;
}

char *arena_print(struct arena *a, const char *format, ...)
{
	va_list args;
	char *text, *copy;

	va_start(args, format);
	text = printed(format, args);
	va_end(args);
	copy = arena_copy(a, text, strlen(text));
	free(text);
	return copy;
}
