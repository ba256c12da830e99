/* sym_lines.h - the source lines of instructions: those of a function, of what
 * is inlined into it, and of any other code.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/func.h"
#include "analyzer/sym/sym_options.h"

#include <stdbool.h>

/* An instruction. offset is given, as a recorded function's is: an address in
 * the file, without the load bias. All else is found out; strings are the
 * arena's, never NULL. */
struct sym_line {
	uint64_t offset;
	bool is_own;             /* it is the function's code, or of what was
	                          * inlined into it */
	uint32_t own_line;       /* if so: the line of the function on which it
	                          * is, or on which the inlined call is; 0: not
	                          * known, or in a file that it includes */
	const char *name;        /* the innermost function whose code it is, or
	                          * "": not known, or the function itself */
	const char *file;        /* of the instruction itself; "": not known */
	uint32_t line;           /* there; 0: not known */
};

/* Find out the lines of instructions of one module; `of` is the function, or
 * NULL if it is in another module: then no instruction is its own. Sorts the
 * lines by offset. The ELF file is read in a process of its own. Returns NULL,
 * or what went wrong or is missing (the arena's); what could be found out is
 * there all the same. */
const char *sym_lines(struct sym_line *, size_t count, const struct func *of,
		      const struct elf_module *, struct arena *,
		      const struct sym_options *);
