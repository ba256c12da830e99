/* order.h - what is less and what comes first: comparisons for qsort. Each is
 * below 0, 0 or above 0; x ?: y ?: z is the first of several that is not 0.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Their arguments are evaluated twice. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Of numbers, or of pointers into one array: the lower one first. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines the comparison of rows x and y:
 *	ORDER_BY(by_calls, struct row, DOWN(calls) ?: UP(func))
 * has the row with the most calls first; of equal ones, the lower func. */
#define ORDER_BY(name, type, how)                                              \
	static int name(const void *a, const void *b)                          \
	{                                                                      \
		type const *const x = a;                                       \
		type const *const y = b;                                       \
                                                                               \
		return how;                                                    \
	}
#define UP(field) ORDER(x->field, y->field)
#define DOWN(field) ORDER(y->field, x->field)

/* Texts in the order of their bytes, in an array of char *. */
static inline int order_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The first i below count for which `is_before` is false, an expression that is
 * true of all i in front and false of all behind; count if there is none. */
#define ORDER_FIRST(i, count, is_before)                                       \
	({                                                                     \
		size_t low_##i = 0, high_##i = (count);                        \
                                                                               \
		while (low_##i < high_##i) {                                   \
			const size_t i = low_##i + (high_##i - low_##i) / 2;   \
                                                                               \
			if (is_before)                                         \
				low_##i = i + 1;                               \
			else                                                   \
				high_##i = i;                                  \
		}                                                              \
		low_##i;                                                       \
	})

/* qsort of count rows; rows may be NULL if there are none. */
#define order_sort(rows, count, by)                                            \
	((count) > 1 ? qsort((rows), (count), sizeof(*(rows)), (by)) : (void)0)
