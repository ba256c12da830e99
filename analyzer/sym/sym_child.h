/* sym_child.h - the process that reads an ELF file for its parent.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_CHILD_H
#define WEFT_ANALYZER_SYM_SYM_CHILD_H

#include "analyzer/sym/sym.h"
#include "analyzer/sym/sym_dwarf.h"

/* What the child writes into the pipe: this, then the bytes of two strings,
 * each at most SYM_NAME_BYTES. About the module itself (id 0) the strings are
 * the file used and what is wrong. */
struct sym_answer { uint32_t id, line, name_size, file_size; };

enum { SYM_NAME_BYTES = 4096 };

/* Find the module's file, answer the queries into the pipe, and end. To be
 * called right after fork, in the child. */
_Noreturn void sym_child_run(const struct elf_module *, struct sym_query *,
			     size_t count, const struct sym_options *,
			     int pipe);

#endif
