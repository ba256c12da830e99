/* coverage_module.h - all functions of a module, called or not, and what its
 * machine code tells about why they may not be.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/coverage/module_functions.h"
#include "analyzer/sym/sym.h"

/* What is known about one module, whether or not its file was found. */
struct coverage_module {
	struct module_function *functions;
	size_t count;
	const char *file, *code;     /* read for names and for code, or "" */
	const char *why;             /* what is missing, "" if nothing */
	bool has_hook;               /* something in it calls the hook */
	bool is_recorded;            /* a function of it was called; samples
	                              * alone may lie in other modules */
	bool knows_all;              /* false: stripped, there may be more */
};

/* List the functions of one module, which is read in a process of its own. All
 * strings and entries are the arena's; functions is to be freed with
 * mem_free. A module for which no time is left (0 seconds) is not read. Nothing
 * is a failure: *out is always filled in, with what came before something went
 * wrong, and why is set then. Servers get 10 seconds in all for the modules of
 * a run of weft. */
void coverage_module_read(const struct elf_module *, struct arena *,
			  const struct sym_options *, struct coverage_module *);
