/* sym_cold.h - all functions of a module, those that never ran included, and
 * what its machine code tells about why.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_COLD_H
#define WEFT_ANALYZER_SYM_SYM_COLD_H

#include "analyzer/sym/sym.h"

enum sym_state {
	SYM_RECORDED,   /* calls the hook: each call is seen */
	SYM_EXCLUDED,   /* does not, though its file was built with the flag */
	SYM_UNFLAGGED,  /* nor does anything else in its source file */
	SYM_UNHOOKED,   /* does not; nothing tells how its file was built */
	SYM_INLINED,    /* has no code of its own: inlined everywhere */
	SYM_UNREAD,     /* its machine code cannot be read */
	SYM_STATES
};

struct sym_function {
	const char *name, *file;
	uint32_t line;
	enum sym_state state;
	uint64_t offset, size;
	const uint64_t *entries;     /* addresses the hook may have been given;
	                              * offset among them */
	size_t entry_count;
	size_t inlined;              /* places where it was inlined, */
	const char *const *places;   /* and some of them: "a.c:12 in f" */
	size_t place_count;
};

enum { SYM_ENTRIES = 4, SYM_PLACES = 8 };

struct sym_cold {
	struct sym_function *functions;
	size_t count;
	const char *file, *code;     /* read for names and for code, or "" */
	const char *why;             /* what is missing, "" if nothing */
	int has_hook;                /* something in it calls the hook */
	int knows_all;               /* 0: stripped: there may be more */
};

/* Of one module, which is read in a process of its own. Strings and the
 * functions' arrays are the arena's; functions is freed with mem_free. With no
 * time left (0 seconds) it is not read. */
void sym_cold_read(const struct elf_module *, struct arena *,
		   const struct sym_options *, struct sym_cold *);

#endif
