/* prof_in.h - a profile being read: field after field of its outermost message,
 * so that no more of it is in memory than one field.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_IN_H
#define WEFT_ANALYZER_PROFILE_PROF_IN_H

#include <stddef.h>
#include <stdint.h>

struct prof_in;
struct prof_in *prof_in_new(const char *path); /* NULL: cannot be opened */
void prof_in_free(struct prof_in *);

/* A field: its number, and its value or its bytes, which are valid until the
 * next call. */
struct prof_in_field {
	uint64_t number;
	uint64_t value;      /* of one that is a number */
	const uint8_t *bytes;/* of one that is bytes, else NULL */
	size_t size;
};

/* 1: a field; 0: the end; -1: damaged, with the cause in the chain. Only fields
 * that wanted() says yes to are given. */
int prof_in_next(struct prof_in *, int (*wanted)(uint64_t number),
		 struct prof_in_field *);

#endif
