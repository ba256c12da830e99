/* sym_die.c - names and places of functions as debug information has them, with
 * what gcc and clang do differently.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_die.h"

#include "analyzer/sym/sym_demangle.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

struct sym_unit sym_unit_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return (struct sym_unit){
		die,
		dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute)),
		dwarf_diename(die)
	};
}

const char *sym_die_name(Dwarf_Die *die, const char *symbol)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		name = symbol;
	if (!name || strncmp(name, "_Z", 2) != 0) {
		const char *const plain = dwarf_diename(die);

		if (plain)
			name = plain;
	}
	return !name ? NULL : sym_demangle_name(name);
}

/* In DWARF 5, which clang writes so, file 0 is the unit's own source; libdw
 * 0.188 takes that for no file. */
static const char *declared_in(const struct sym_unit *unit, Dwarf_Die *die)
{
	const char *const file = dwarf_decl_file(die);
	Dwarf_Attribute attribute;
	Dwarf_Word index;

	if (!file &&
	    dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) &&
	    dwarf_formudata(&attribute, &index) == 0 && index == 0)
		return unit->source;
	return file;
}

static const char *begins_in(const struct sym_unit *unit, uint64_t address,
			     int *line)
{
	Dwarf_Line *const at = dwarf_getsrc_die(unit->die, address);

	if (!at || dwarf_lineno(at, line) != 0) {
		*line = 0;
		return NULL;
	}
	return dwarf_linesrc(at, NULL, NULL);
}

/* A relative source name counts from where the compiler ran. */
void sym_die_place(const struct sym_unit *unit, Dwarf_Die *die,
		   uint64_t address, char *to, size_t size, uint32_t *line)
{
	const char *file = declared_in(unit, die);
	int number = 0;

	if (dwarf_decl_line(die, &number) != 0 || number <= 0)
		file = begins_in(unit, address, &number);
	if (!file)
		to[0] = '\0';
	else if (file[0] == '/' || !unit->folder)
		snprintf(to, size, "%s", file);
	else
		snprintf(to, size, "%s/%s", unit->folder, file);
	*line = number < 0 ? 0 : (uint32_t)number;
}
