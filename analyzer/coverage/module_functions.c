/* module_functions.c - puts functions together from the parts in which debug
 * information and symbol tables describe them, and judges by their machine code
 * whether they can be recorded. A function and its clones share one abstract
 * description, by which they are joined.
 * SPDX-License-Identifier: MIT */
#include "analyzer/coverage/module_functions.h"

#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_elf.h"

#include <assert.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>

/* DEPTH: of descriptions within each other; deeper ones are left out.
 * FUNCTIONS_MAX: of a module. */
enum { DEPTH = 128, FUNCTIONS_MAX = 1 << 20 };

/* ---- what is gathered ---- */

/* A run of a function's machine code. next: index of the group's next one; 0:
 * none. */
struct code_piece { uint64_t begin, size; uint32_t next; };

/* A function with its clones. Owns its strings. */
struct clones {
	char *name, *file;
	uint32_t line, unit;         /* unit: index; 0: none describes it */
	uint32_t piece;              /* index of the first; 0: none */
	uint64_t size;               /* of all pieces */
	uint64_t entries[FUNCTION_ENTRIES];
	size_t entry_count;
	size_t inlined;              /* places where it was inlined */
	int scanned;                 /* HOOK_CODE_ flags of its pieces */
	const char **symbols;        /* at its first entry; the file's */
	size_t symbol_count, symbol_room;
};

/* How a source file was built: what its recorded options say, and whether any
 * of its code calls the hook. */
struct built { bool has_flag, is_hooked; };

/* Element 0 of each array is not used. */
struct gather {
	const struct hook_code *code; /* may be NULL */
	struct clones *groups;
	size_t group_count, group_room;
	struct code_piece *pieces;
	size_t piece_count, piece_room;
	struct built *units;
	size_t unit_count, unit_room;
	struct map *by_key;          /* by offset of the abstract description:
	                              * group */
	struct map *by_begin;        /* by address of a piece: group */
};

/* The description (DIE) that is being read, which is the last, and those that
 * it lies in. */
struct dies { Dwarf_Die die[DEPTH]; size_t depth; };

static void gather_init(struct gather *g, const struct hook_code *code)
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

static void gather_fini(struct gather *g)
{
	for (size_t i = 1; i < g->group_count; i++)
		mem_free_all(g->groups[i].name, g->groups[i].file,
			     g->groups[i].symbols);
	mem_free_all(g->groups, g->pieces, g->units);
	map_free(g->by_key);
	map_free(g->by_begin);
}

/* ---- groups ---- */

/* Zeroed; NULL if there are too many. Groups move when one is added. */
static struct clones *new_group(struct gather *g)
{
	if (g->group_count > FUNCTIONS_MAX)
		return NULL;
	vec_need(&g->groups, &g->group_room, g->group_count + 1);
	memset(&g->groups[g->group_count], 0, sizeof(*g->groups));
	return &g->groups[g->group_count++];
}

/* Name a group after one of its descriptions, in place of the name it had. */
static void name_group(struct clones *group, const struct sym_unit *unit,
		       Dwarf_Die *die, uint64_t address)
{
	const char *const name = sym_die_name(die, NULL);
	char path[4096];

	sym_die_place(unit, die, address, path, sizeof(path), &group->line);
	mem_free_all(group->name, group->file);
	group->name = mem_copy(!name ? "" : name);
	group->file = mem_copy(path);
}

/* Find or add the group of a description; NULL if there are too many. Valid
 * until another group is added. */
static struct clones *group_of(struct gather *g, const struct sym_unit *unit,
			      Dwarf_Die *die)
{
	Dwarf_Die root = sym_die_root(die);
	uint32_t *const at = map_put(g->by_key, dwarf_dieoffset(&root), 1);
	struct clones *group;

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

/* False if the code is another function's, or the linker left it out. */
static bool add_piece(struct gather *g, struct clones *group,
		     uint64_t begin, uint64_t size)
{
	uint32_t *owner;

	if (begin == 0 || size == 0 || g->piece_count > 2 * FUNCTIONS_MAX ||
	    (g->code && !hook_code_holds(g->code, begin)))
		return false;
	owner = map_put(g->by_begin, begin, 1);
	if (*owner != 0)
		return false;
	*owner = (uint32_t)(group - g->groups);
	vec_need(&g->pieces, &g->piece_room, g->piece_count + 1);
	g->pieces[g->piece_count] = (struct code_piece){ begin, size,
						    group->piece };
	group->piece = (uint32_t)g->piece_count++;
	group->size += size;
	return true;
}

/* Entries beyond the limit are dropped; their calls get a row of their own. */
static void add_entry(struct clones *group, uint64_t entry)
{
	if (group->entry_count < FUNCTION_ENTRIES)
		group->entries[group->entry_count++] = entry;
}

/* ---- debug information ---- */

/* Add a function that the debug information describes, with its code. */
static void add_function(struct gather *g, const struct sym_unit *unit,
			 Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end, entry = 0;
	struct clones *group;
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
	/* The unit that has the code has the options, too. */
	if (group->entry_count == 0) {
		group->unit = (uint32_t)(g->unit_count - 1);
		name_group(group, unit, die, entry);
	}
	add_entry(group, entry);
}

/* Note that a function was inlined here. */
static void add_inlined(struct gather *g, const struct sym_unit *unit,
			Dwarf_Die *die)
{
	struct clones *group;
	Dwarf_Addr base, begin, end;

	/* It may have no instruction of its own left. */
	if (dwarf_entrypc(die, &begin) != 0 &&
	    dwarf_ranges(die, 0, &base, &begin, &end) <= 0)
		return;
	if (begin == 0 ||
	    (g->code && !hook_code_holds(g->code, begin)))
		return;
	group = group_of(g, unit, die);
	if (group)
		group->inlined++;
}

/* Take the description if it is of a function. */
static void visit(struct gather *g, const struct sym_unit *unit,
		  Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		add_function(g, unit, die);
		break;
	case DW_TAG_inlined_subroutine:
		add_inlined(g, unit, die);
		break;
	default:
		break;
	}
}

/* Visit all descriptions below the unit's, outer ones first. Not recursive: a
 * file may nest them as deeply as it likes. */
static void walk(struct gather *g, const struct sym_unit *unit,
		 struct dies *around)
{
	Dwarf_Die *const here = around->die;

	here[0] = *unit->die;
	around->depth = 1;
	while (around->depth > 0) {
		Dwarf_Die *const top = &here[around->depth - 1];

		if (around->depth < DEPTH &&
		    dwarf_child(top, top + 1) == 0) {
			around->depth++;
			visit(g, unit, top + 1);
			continue;
		}
		while (around->depth > 1 &&
		       dwarf_siblingof(&here[around->depth - 1],
				       &here[around->depth - 1]) != 0)
			around->depth--;
		if (around->depth <= 1)
			break;
		visit(g, unit, &here[around->depth - 1]);
	}
}

/* Is -finstrument-functions among the options, other than by the names of its
 * exclude lists? */
static bool has_flag_in(const char *options)
{
	static const char flag[] = "-finstrument-functions";

	while ((options = strstr(options, flag)) != NULL) {
		options += sizeof(flag) - 1;
		if (strncmp(options, "-exclude", 8) != 0)
			return true;
	}
	return false;
}

/* gcc writes its options into the unit, unless told not to. */
static struct built built_by(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *const producer = dwarf_formstring(
		dwarf_attr(unit, DW_AT_producer, &attribute));

	return (struct built){ .has_flag = producer && has_flag_in(producer) };
}

/* Add all functions that a unit of the debug information describes. */
static void gather_unit(struct gather *g, Dwarf_Die *die)
{
	const struct sym_unit unit = sym_unit_of(die);
	struct dies *const around = mem_alloc(sizeof(*around));

	*vec_add(&g->units, &g->unit_room, &g->unit_count) = built_by(die);
	walk(g, &unit, around);
	mem_free(around);
}

/* ---- symbols ---- */

static void note_symbol(struct clones *group, const char *name)
{
	*vec_add(&group->symbols, &group->symbol_room, &group->symbol_count) =
		name;
}

/* Name groups by all their symbols, if these are of functions that a linker has
 * folded, or if nothing else names them. */
static void name_joint(struct gather *g)
{
	for (size_t i = 1; i < g->group_count; i++) {
		struct clones *const group = &g->groups[i];
		char *const all = group->symbol_count < 2 ? NULL :
			sym_symbols_name(group->symbols, group->symbol_count);

		if (!all)
			continue;
		if (group->unit == 0 || text_name_next(all)) {
			mem_free(group->name);
			group->name = all;
		} else {
			mem_free(all);
		}
	}
}

/* Add a function of the symbol table, unless its code is known already. */
static void gather_symbol(struct gather *g, const char *name, uint64_t begin,
		       uint64_t size)
{
	const uint32_t known = map_find(g->by_begin, begin, 1);
	struct clones *group;

	if (known != 0 && g->groups[known].entries[0] == begin)
		note_symbol(&g->groups[known], name);
	/* Debug information has no linker names of local functions. */
	if (known != 0 && strncmp(name, "_Z", 2) == 0 &&
	    !strchr(name, '.') &&
	    g->groups[known].entries[0] == begin) {
		mem_free(g->groups[known].name);
		g->groups[known].name = mem_copy(sym_demangle(name));
	}
	/* Parts that gcc split off belong to what they were split from. */
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
	group->name = mem_copy(sym_demangle(name));
	group->file = mem_copy("");
	note_symbol(group, name);
}

/* ---- list ---- */

/* Scan the code of all groups for the hook and the functions' addresses. It
 * comes when all is gathered, as the code of a group is spread over its
 * pieces. */
static void scan_code(struct gather *g)
{
	for (size_t i = 1; g->code && i < g->group_count; i++) {
		struct clones *const group = &g->groups[i];

		for (uint32_t p = group->piece; p != 0; p = g->pieces[p].next)
			for (size_t e = 0; e < group->entry_count; e++)
				group->scanned |= hook_code_scan(
					g->code, g->pieces[p].begin,
					g->pieces[p].size, group->entries[e]);
		/* A call of the hook, if only of a function inlined there,
		 * shows that the source file was built with the flag. */
		if (group->scanned & HOOK_CODE_CALLS)
			g->units[group->unit].is_hooked = true;
	}
}

/* clang makes a coroutine of C++20 into three functions after it has put the
 * hooks into one, from which the others have the symbol. */
static bool is_resumed(const struct clones *group)
{
	static const char *const ends[] = { ".resume", ".destroy", ".cleanup" };

	for (size_t i = 0; i < group->symbol_count; i++)
		for (size_t k = 0; k < 3; k++) {
			const char *const dot = strrchr(group->symbols[i], '.');

			if (dot && strcmp(dot, ends[k]) == 0 &&
			    strncmp(group->symbols[i], "_Z", 2) == 0)
				return true;
		}
	return false;
}

/* Whether a function can be recorded, and why not. The order of the tests
 * matters: each relies on those before it. */
static enum function_state state_of(const struct gather *g,
				    const struct clones *group)
{
	const struct built *const unit = &g->units[group->unit];

	if (group->piece == 0)
		return FUNCTION_INLINED;
	if (!g->code)
		return FUNCTION_UNREAD;
	if (group->scanned == (HOOK_CODE_CALLS | HOOK_CODE_OWN_ADDRESS))
		return FUNCTION_RECORDED;
	if (!hook_code_has_hook(g->code))
		return FUNCTION_UNFLAGGED;
	if (is_resumed(group))
		return FUNCTION_RESUMED;
	if (group->unit == 0)
		return FUNCTION_UNHOOKED;
	return unit->is_hooked || unit->has_flag ? FUNCTION_EXCLUDED :
	       FUNCTION_UNFLAGGED;
}

/* A clone that only the symbol table names calls the hook for the function that
 * it was made from. */
static bool is_clone(const struct clones *group)
{
	return group->unit == 0 && group->scanned == HOOK_CODE_CALLS &&
	       (strstr(group->name, ".constprop.") ||
		strstr(group->name, "[clone") ||
		strstr(group->name, ".isra."));
}

/* Call fn with each group that is a function: it has a name, and code or places
 * where it was inlined. */
static void list(const struct gather *g, module_function_fn fn, void *ctx)
{
	for (size_t i = 1; i < g->group_count; i++) {
		const struct clones *const group = &g->groups[i];
		const struct module_function function = {
			.name = group->name, .file = group->file,
			.line = group->line, .state = state_of(g, group),
			.offset = group->entries[0], .size = group->size,
			.entries = group->entries,
			.entry_count = group->entry_count,
			.inlined = group->inlined,
		};

		assert(group->entry_count <= FUNCTION_ENTRIES);
		if (group->name[0] != '\0' && !is_clone(group) &&
		    (group->piece != 0 || group->inlined > 0))
			fn(ctx, &function);
	}
}

/* Add the functions of the symbol table, after the debug information, which
 * knows more about them. */
static void gather_symbols(struct gather *g, Dwfl_Module *module)
{
	const int count = dwfl_module_getsymtab(module);

	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *const name = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);

		if (name && symbol.st_shndx != SHN_UNDEF &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
			gather_symbol(g, name, address, symbol.st_size);
	}
	name_joint(g);
}

int module_functions_list(int fd, const struct hook_code *code,
			  module_function_fn fn, void *ctx)
{
	Dwfl *dwfl;
	Dwfl_Module *const module = sym_elf_open(fd, "", &dwfl);
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	struct gather g;

	if (!module)
		return -1;
	gather_init(&g, code);
	while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
		gather_unit(&g, unit);
	gather_symbols(&g, module);
	scan_code(&g);
	list(&g, fn, ctx);
	gather_fini(&g);
	dwfl_end(dwfl);
	return 0;
}
