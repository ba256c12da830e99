/* sym_inline.h - where a function was inlined, as text. To be called in a
 * process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_INLINE_H
#define WEFT_ANALYZER_SYM_SYM_INLINE_H

#include "analyzer/sym/sym_die.h"

enum { SYM_DEPTH = 128 };

/* The descriptions around the one that is being read, which is the last. */
struct sym_around { Dwarf_Die die[SYM_DEPTH]; size_t depth; };

/* Of an inlined function: "a.c:12 in f, b.c:30 in main", from the innermost
 * call outwards. Freed with mem_free. */
char *sym_inline_place(const struct sym_unit *, struct sym_around *);

#endif
