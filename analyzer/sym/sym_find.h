/* sym_find.h - where the ELF file of a module is, told by its build-id.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_FIND_H
#define WEFT_ANALYZER_SYM_SYM_FIND_H

#include "analyzer/core/func.h"

#include <limits.h>

enum { SYM_WHY = 256 };

/* A file that was looked for. */
struct sym_found {
	int fd;             /* open, the caller's; -1: none */
	char path[PATH_MAX];
	char why[SYM_WHY];  /* nothing found, or found with doubts: why */
};

/* Find a file that is this module and can name its functions: the recorded path
 * or, when that one is gone, stripped or another build, its debug file: in the
 * debug folders, /usr/lib/debug, beside the program, or by debuginfod if
 * DEBUGINFOD_URLS is set. A file with another build-id is never taken. */
void sym_find_file(const struct elf_module *, const char *debug_dirs,
		   struct sym_found *);

#endif
