/* vec.h - arrays that grow. An array is three variables of its owner: a pointer
 * (NULL at first, freed with mem_free), the number of elements it has room for,
 * and the number of elements in use. Elements move when an array grows. Who
 * includes this has mem.h, too.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"

#include <string.h>

/* Behind the macros: the array, moved if it had to grow. */
static inline void *vec_grown(void *array, size_t *room, size_t need,
			      size_t size)
{
	return need <= *room ? array : mem_more(array, room, need, size);
}

static inline void *vec_grown_zeroed(void *array, size_t *room, size_t need,
				     size_t size)
{
	const size_t before = *room;

	if (need <= before)
		return array;
	array = mem_more(array, room, need, size);
	memset((char *)array + before * size, 0, (*room - before) * size);
	return array;
}

/* Make room for at least need elements. array and room are addresses:
 *	vec_need(&t->funcs, &t->room, id + 1);
 * New elements hold no defined value. */
#define vec_need(array, room, need) \
	((void)(*(array) = vec_grown(*(array), (room), (need), \
				     sizeof(**(array)))))

/* The same; new elements are zero. All elements up to the room may be used. */
#define vec_need_zeroed(array, room, need) \
	((void)(*(array) = vec_grown_zeroed(*(array), (room), (need), \
					    sizeof(**(array)))))

/* Append an element, and give its address for the caller to fill:
 *	*vec_add(&s->labels, &r->label_room, &s->label_count) = label;
 * The value assigned must not read the array or its count. */
#define vec_add(array, room, count) \
	(vec_need((array), (room), *(count) + 1), *(array) + (*(count))++)
