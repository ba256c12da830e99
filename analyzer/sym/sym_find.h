/* sym_find.h - where the ELF file of a module is, told by its build-id.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_elf.h"
#include "analyzer/sym/sym_options.h"

#include <limits.h>

/* What is looked for. server_seconds is the most that servers may take. */
struct sym_wish {
	const struct sym_options *options;
	enum sym_want want;
	unsigned server_seconds; /* 0: no server is asked */
};

struct sym_found {
	int fd;             /* open, the caller's to close; -1: none */
	enum sym_worth worth;
	char path[PATH_MAX];
	char why[SYM_WHY];  /* why nothing was found, or what the file lacks */
	bool is_refused;    /* only other builds were found */
	unsigned server_seconds; /* spent on servers */
};

/* Find a file that is this module and can tell what is wanted. Tries the
 * recorded path; if that file is gone, stripped or another build, then the
 * debug folders, the archive, /usr/lib/debug, the file that its .gnu_debuglink
 * names, and debuginfod's servers. A file with another build-id is never taken.
 * Of those that are taken, the first of the highest worth is given. *found is
 * always filled in; a failure is an fd of -1 with the reason in why. Changes
 * the environment (DEBUGINFOD_*), so it is to be called in a child. */
void sym_find_file(const struct elf_module *, const struct sym_wish *,
		   struct sym_found *);
