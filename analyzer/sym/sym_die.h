/* sym_die.h - names and places of functions as debug information has them. To
 * be called in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_DIE_H
#define WEFT_ANALYZER_SYM_SYM_DIE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

/* A unit of the debug information, as it is read. */
struct sym_unit {
	Dwarf_Die *die;
	const char *folder;    /* where the compiler ran, or NULL */
	const char *source;    /* or NULL */
};

struct sym_unit sym_unit_of(Dwarf_Die *);

/* Its linker name demangled, with the whole signature, for C++; its plain name
 * otherwise; NULL: it has none. symbol: the linker's name if the debug
 * information does not tell, or NULL. */
const char *sym_die_name(Dwarf_Die *, const char *symbol);

/* Where it is declared, or, for what the compiler made, such as a lambda's
 * operator(), where the code at address begins. file gets "" and line 0 if that
 * is not known. */
void sym_die_place(const struct sym_unit *, Dwarf_Die *, uint64_t address,
		   char *file, size_t size, uint32_t *line);

#endif
