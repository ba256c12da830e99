/* sym_gather.c - functions put together from the parts in which debug
 * information and symbol tables tell of them. A function and its clones share
 * one abstract description, which joins them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_gather.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_demangle.h"
#include "analyzer/sym/sym_inline.h"

#include <dwarf.h>
#include <string.h>

enum { HOPS = 4, FUNCTIONS_MAX = 1 << 20 };

void sym_gather_init(struct sym_gather *g, const struct sym_code *code)
{
	memset(g, 0, sizeof(*g));
	g->code = code;
	g->by_key = map_new();
	g->by_begin = map_new();
	vec_need(&g->groups, &g->group_room, 1);
	vec_need(&g->pieces, &g->piece_room, 1);
	vec_need(&g->units, &g->unit_room, 1);
	memset(&g->units[0], 0, sizeof(g->units[0]));
	g->group_count = g->piece_count = g->unit_count = 1;
}

void sym_gather_fini(struct sym_gather *g)
{
	for (size_t i = 1; i < g->group_count; i++) {
		mem_free(g->groups[i].name);
		mem_free(g->groups[i].file);
		for (size_t k = 0; k < g->groups[i].place_count; k++)
			mem_free(g->groups[i].places[k]);
	}
	mem_free(g->groups);
	mem_free(g->pieces);
	mem_free(g->units);
	map_free(g->by_key);
	map_free(g->by_begin);
}

/* --- groups ------------------------------------------------------------ */

static struct sym_group *new_group(struct sym_gather *g)
{
	if (g->group_count > FUNCTIONS_MAX)
		return NULL;
	vec_need(&g->groups, &g->group_room, g->group_count + 1);
	memset(&g->groups[g->group_count], 0, sizeof(*g->groups));
	return &g->groups[g->group_count++];
}

static void name_group(struct sym_group *group, const struct sym_unit *unit,
		       Dwarf_Die *die, uint64_t address)
{
	const char *const name = sym_die_name(die, NULL);
	char path[4096];

	sym_die_place(unit, die, address, path, sizeof(path), &group->line);
	mem_free(group->name);
	mem_free(group->file);
	group->name = mem_copy(!name ? "" : name);
	group->file = mem_copy(path);
}

/* What die is an instance of, which may be itself. */
static Dwarf_Die root_of(Dwarf_Die *die)
{
	Dwarf_Die root = *die, next;
	Dwarf_Attribute attribute;

	for (int i = 0; i < HOPS; i++) {
		if (dwarf_attr(&root, DW_AT_abstract_origin, &attribute) ==
		    NULL || !dwarf_formref_die(&attribute, &next))
			break;
		root = next;
	}
	return root;
}

static struct sym_group *group_of(struct sym_gather *g,
				  const struct sym_unit *unit, Dwarf_Die *die)
{
	Dwarf_Die root = root_of(die);
	uint32_t *const at = map_put(g->by_key, dwarf_dieoffset(&root), 1);
	struct sym_group *group;

	if (*at != 0)
		return &g->groups[*at];
	group = new_group(g);
	if (!group)
		return NULL;
	*at = (uint32_t)(g->group_count - 1);
	group->unit = (uint32_t)(g->unit_count - 1);
	name_group(group, unit, &root, 0);
	return group;
}

/* 0: that code is another function's, or the linker left it out. */
static int add_piece(struct sym_gather *g, struct sym_group *group,
		     uint64_t begin, uint64_t size)
{
	uint32_t *owner;

	if (begin == 0 || size == 0 || g->piece_count > 2 * FUNCTIONS_MAX ||
	    (g->code && !sym_code_holds(g->code, begin)))
		return 0;
	owner = map_put(g->by_begin, begin, 1);
	if (*owner != 0)
		return 0;
	*owner = (uint32_t)(group - g->groups);
	vec_need(&g->pieces, &g->piece_room, g->piece_count + 1);
	g->pieces[g->piece_count] = (struct sym_piece){ begin, size,
							group->piece };
	group->piece = (uint32_t)g->piece_count++;
	group->size += size;
	return 1;
}

static void add_entry(struct sym_group *group, uint64_t entry)
{
	if (group->entry_count < SYM_ENTRIES)
		group->entries[group->entry_count++] = entry;
}

/* --- debug information ------------------------------------------------- */

static void add_function(struct sym_gather *g, const struct sym_unit *unit,
			 Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end, entry = 0;
	struct sym_group *group;
	ptrdiff_t at = 0;
	int added = 0;

	if (dwarf_hasattr(die, DW_AT_declaration))
		return;
	group = group_of(g, unit, die);
	if (!group)
		return;
	dwarf_entrypc(die, &entry);
	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		if (entry == 0)
			entry = begin;
		added += end > begin &&
			 add_piece(g, group, begin, end - begin);
	}
	if (added == 0)
		return;
	/* Where the code is, the flags are told by that unit. */
	if (group->entry_count == 0) {
		group->unit = (uint32_t)(g->unit_count - 1);
		name_group(group, unit, die, entry);
	}
	add_entry(group, entry);
}

static void add_inlined(struct sym_gather *g, const struct sym_unit *unit,
			struct sym_around *around)
{
	Dwarf_Die *const die = &around->die[around->depth - 1];
	struct sym_group *group;
	Dwarf_Addr base, begin, end;

	/* What is left of it may be no instruction of its own. */
	if (dwarf_entrypc(die, &begin) != 0 &&
	    dwarf_ranges(die, 0, &base, &begin, &end) <= 0)
		return;
	if (begin == 0 ||
	    (g->code && !sym_code_holds(g->code, begin)))
		return;
	group = group_of(g, unit, die);
	if (!group)
		return;
	group->inlined++;
	if (group->place_count < SYM_PLACES)
		group->places[group->place_count++] =
			sym_inline_place(unit, around);
}

static void visit(struct sym_gather *g, const struct sym_unit *unit,
		  struct sym_around *around)
{
	Dwarf_Die *const die = &around->die[around->depth - 1];

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		add_function(g, unit, die);
		break;
	case DW_TAG_inlined_subroutine:
		add_inlined(g, unit, around);
		break;
	default:
		break;
	}
}

/* Over all descriptions below the unit's, each before those in it. */
static void walk(struct sym_gather *g, const struct sym_unit *unit,
		 struct sym_around *around)
{
	Dwarf_Die *const here = around->die;

	here[0] = *unit->die;
	around->depth = 1;
	while (around->depth > 0) {
		Dwarf_Die *const top = &here[around->depth - 1];

		if (around->depth < SYM_DEPTH &&
		    dwarf_child(top, top + 1) == 0) {
			around->depth++;
			visit(g, unit, around);
			continue;
		}
		while (around->depth > 1 &&
		       dwarf_siblingof(&here[around->depth - 1],
				       &here[around->depth - 1]) != 0)
			around->depth--;
		if (around->depth <= 1)
			break;
		visit(g, unit, around);
	}
}

/* The flag itself, or one of those that stand for it: not the exclude lists. */
static int has_flag_in(const char *options)
{
	static const char flag[] = "-finstrument-functions";

	while ((options = strstr(options, flag)) != NULL) {
		options += sizeof(flag) - 1;
		if (strncmp(options, "-exclude", 8) != 0)
			return 1;
	}
	return 0;
}

/* gcc puts its options into the unit, unless told not to. */
static struct sym_built built_by(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *const producer = dwarf_formstring(
		dwarf_attr(unit, DW_AT_producer, &attribute));
	const int has_flag = producer && has_flag_in(producer);

	return (struct sym_built){
		.has_flag = has_flag,
		.has_no_flag = !has_flag && producer &&
			       strncmp(producer, "GNU C", 5) == 0 &&
			       strstr(producer, " -m") != NULL,
	};
}

void sym_gather_unit(struct sym_gather *g, Dwarf_Die *die)
{
	const struct sym_unit unit = sym_unit_of(die);
	struct sym_around *const around = mem_alloc(sizeof(*around));

	*vec_add(&g->units, &g->unit_room, &g->unit_count) = built_by(die);
	walk(g, &unit, around);
	mem_free(around);
}

/* --- symbols ----------------------------------------------------------- */

void sym_gather_symbol(struct sym_gather *g, const char *name, uint64_t begin,
		       uint64_t size)
{
	const uint32_t known = map_find(g->by_begin, begin, 1);
	struct sym_group *group;

	/* Debug information leaves out linker names of local functions. */
	if (known != 0 && strncmp(name, "_Z", 2) == 0 &&
	    !strchr(name, '.') &&
	    g->groups[known].entries[0] == begin) {
		mem_free(g->groups[known].name);
		g->groups[known].name = mem_copy(sym_demangle_name(name));
	}
	/* What gcc split off goes with what it was split from. */
	if (known != 0 || name[0] == '\0' || strstr(name, ".cold") ||
	    strstr(name, ".part."))
		return;
	group = new_group(g);
	if (!group)
		return;
	if (!add_piece(g, group, begin, size)) {
		g->group_count--;
		return;
	}
	add_entry(group, begin);
	group->name = mem_copy(sym_demangle_name(name));
	group->file = mem_copy("");
}
