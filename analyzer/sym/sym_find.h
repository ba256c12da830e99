/* sym_find.h - where the ELF file of a module is, told by its build-id.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_FIND_H
#define WEFT_ANALYZER_SYM_SYM_FIND_H

#include "analyzer/sym/sym.h"
#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_elf.h"

#include <limits.h>

struct sym_wish {
	const struct sym_options *options;
	enum sym_want want;
	unsigned server_seconds; /* for servers; 0: they are not asked */
};

/* A file that was looked for. */
struct sym_found {
	int fd;             /* open, the caller's; -1: none */
	enum sym_worth worth;
	char path[PATH_MAX];
	char why[SYM_WHY];  /* nothing found, or found with doubts: why */
	int is_refused;     /* nothing found but other builds */
	unsigned server_seconds; /* that were spent */
};

/* Find a file that is this module and tells what is wanted: the recorded path
 * or, when that one is gone, stripped or another build: in the debug folders,
 * the archive, /usr/lib/debug, where its .gnu_debuglink says, or by debuginfod.
 * A file with another build-id is never taken. */
void sym_find_file(const struct elf_module *, const struct sym_wish *,
		   struct sym_found *);

#endif
