/* sym_inline.c - where a function was inlined, as text.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_inline.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

static Dwarf_Word number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	dwarf_formudata(dwarf_attr(die, name, &attribute), &value);
	return value;
}

/* One link of the chain: the call that was inlined, and in which function. */
static int put_call(char *to, size_t size, Dwarf_Files *files, Dwarf_Die *call,
		    Dwarf_Die *in)
{
	const char *const path = !files ? NULL :
		dwarf_filesrc(files, number(call, DW_AT_call_file), NULL,
			      NULL);
	const char *const name = sym_die_name(in, NULL);

	return snprintf(to, size, "%s:%llu in %s",
			!path ? "?" : text_base_name(path),
			(unsigned long long)number(call, DW_AT_call_line),
			!name ? "?" : name);
}

char *sym_inline_place(const struct sym_unit *unit, struct sym_around *around)
{
	char text[512] = "";
	size_t used = 0;
	Dwarf_Files *files = NULL;
	Dwarf_Die *call = NULL;

	dwarf_getsrcfiles(unit->die, &files, NULL);
	for (size_t i = around->depth; i-- > 0; ) {
		Dwarf_Die *const die = &around->die[i];
		const int tag = dwarf_tag(die);

		if (tag != DW_TAG_subprogram &&
		    tag != DW_TAG_inlined_subroutine)
			continue;
		if (call && used > 0 && used < sizeof(text))
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used, ", ");
		if (call && used < sizeof(text))
			used += (size_t)put_call(text + used,
						 sizeof(text) - used, files,
						 call, die);
		call = die;
		if (tag == DW_TAG_subprogram)
			break;
	}
	return mem_copy(text);
}
