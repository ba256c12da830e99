/* sym_dwarf.h - names of addresses out of an ELF file. To be called in a
 * process that may crash or hang: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_DWARF_H
#define WEFT_ANALYZER_SYM_SYM_DWARF_H

#include <stddef.h>
#include <stdint.h>

/* A function asked for, by its entry's address in the file. */
struct sym_query { uint64_t offset; uint32_t id; };

/* Gets an answer: name and file may be "", line 0. An address may be answered
 * again, better. */
typedef void (*sym_answer_fn)(void *ctx, uint32_t id, const char *name,
			      const char *file, uint32_t line);

/* Answer the queries, which it sorts, from the file open as fd. First from the
 * symbol table, which is quick, then from the debug information. Returns 0, or
 * -1 with a reason in why if the file is no ELF file libdw can read. */
int sym_dwarf_name(int fd, const char *path, struct sym_query *, size_t count,
		   sym_answer_fn, void *ctx, char *why, size_t why_size);

#endif
