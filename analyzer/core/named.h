/* named.h - functions by what a person calls them. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORE_NAMED_H
#define WEFT_ANALYZER_CORE_NAMED_H

#include "analyzer/core/func.h"

#include <stddef.h>

/* The functions of that name, in full or without what tells namesakes apart:
 * "f" is also "f(int)" and "f <app.lua:12>". If there is none, those that the
 * name fits as a shell's pattern (* ? [...]), in full or without. An array of
 * *count, by rising func_id, that the caller frees with mem_free. */
func_id *named_find(struct func_table *, const char *name, size_t *count);

/* The length of a name without parameters or source. */
size_t named_base(const char *name);

#endif
