/* sym_list.h - all functions that an ELF file names, and whether each can be
 * recorded. To be called in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_LIST_H
#define WEFT_ANALYZER_SYM_SYM_LIST_H

#include "analyzer/sym/sym_code.h"
#include "analyzer/sym/sym_cold.h"

/* A function, as it is told. Strings are valid until the callback returns. */
struct sym_listed {
	const char *name, *file;
	uint32_t line;
	enum sym_state state;
	uint64_t offset, size;       /* 0, 0: it has no code of its own */
	const uint64_t *entries;     /* of its clones, offset among them */
	size_t entry_count;
	size_t inlined;              /* places where it was inlined */
	const char *const *places;   /* some of them: "a.c:12 in f" */
	size_t place_count;
};

typedef void (*sym_listed_fn)(void *ctx, const struct sym_listed *);

/* Tell of each function that the file open as fd names: those of its debug
 * information, then those of its symbol table alone. code may be NULL. Returns
 * 0, or -1 if it is no ELF file libdw can read. */
int sym_list_all(int fd, const struct sym_code *code, sym_listed_fn, void *ctx);

#endif
