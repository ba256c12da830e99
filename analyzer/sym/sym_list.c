/* sym_list.c - all functions that an ELF file names, and whether each can be
 * recorded: judged by its machine code and by its neighbours'.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_list.h"

#include "analyzer/sym/sym_gather.h"

#include <elfutils/libdwfl.h>
#include <string.h>
#include <unistd.h>

static void look_at_code(struct sym_gather *g)
{
	for (size_t i = 1; g->code && i < g->group_count; i++) {
		struct sym_group *const group = &g->groups[i];

		for (uint32_t p = group->piece; p != 0; p = g->pieces[p].next)
			for (size_t e = 0; e < group->entry_count; e++)
				group->looks |= sym_code_look(
					g->code, g->pieces[p].begin,
					g->pieces[p].size, group->entries[e]);
		/* A hook inside, be it that of a function inlined there: the
		 * source file was built with the flag. */
		if (group->looks & SYM_CALLS_HOOK)
			g->units[group->unit].is_hooked = 1;
	}
}

static enum sym_state state_of(const struct sym_gather *g,
			       const struct sym_group *group)
{
	const struct sym_built *const unit = &g->units[group->unit];

	if (group->piece == 0)
		return SYM_INLINED;
	if (!g->code)
		return SYM_UNREAD;
	if (group->looks == (SYM_CALLS_HOOK | SYM_NAMES_ITSELF))
		return SYM_RECORDED;
	if (!sym_code_has_hook(g->code))
		return SYM_UNFLAGGED;
	if (group->unit == 0)
		return SYM_UNHOOKED;
	return unit->is_hooked || unit->has_flag ? SYM_EXCLUDED :
	       SYM_UNFLAGGED;
}

/* A clone that the symbol table alone names calls the hook for the function it
 * was made from. */
static int is_clone(const struct sym_group *group)
{
	return group->unit == 0 && group->looks == SYM_CALLS_HOOK &&
	       (strstr(group->name, ".constprop.") ||
		strstr(group->name, "[clone") ||
		strstr(group->name, ".isra."));
}

static void tell(const struct sym_gather *g, sym_listed_fn fn, void *ctx)
{
	for (size_t i = 1; i < g->group_count; i++) {
		const struct sym_group *const group = &g->groups[i];
		const struct sym_listed listed = {
			.name = group->name, .file = group->file,
			.line = group->line, .state = state_of(g, group),
			.offset = group->entries[0], .size = group->size,
			.entries = group->entries,
			.entry_count = group->entry_count,
			.inlined = group->inlined,
			.places = (const char *const *)group->places,
			.place_count = group->place_count,
		};

		if (group->name[0] != '\0' && !is_clone(group) &&
		    (group->piece != 0 || group->inlined > 0))
			fn(ctx, &listed);
	}
}

static void gather_symbols(struct sym_gather *g, Dwfl_Module *module)
{
	const int count = dwfl_module_getsymtab(module);

	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *const name = dwfl_module_getsym_info(
			module, i, &symbol, &address, NULL, NULL, NULL);

		if (name && symbol.st_shndx != SHN_UNDEF &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
			sym_gather_symbol(g, name, address, symbol.st_size);
	}
}

/* The file alone is read: where else names may be, sym_find looks. */
static int find_no_debug(Dwfl_Module *module, void **data, const char *name,
			 Dwarf_Addr base, const char *file, const char *link,
			 GElf_Word sum, char **found)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)sum, (void)found;
	return -1;
}

int sym_list_all(int fd, const struct sym_code *code, sym_listed_fn fn,
		 void *ctx)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_debug,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *const dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = NULL;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	struct sym_gather g;

	if (dwfl) {
		dwfl_report_begin(dwfl);
		module = dwfl_report_elf(dwfl, "module", "", dup(fd), 0, 1);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	if (!module) {
		dwfl_end(dwfl);
		return -1;
	}
	sym_gather_init(&g, code);
	while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
		sym_gather_unit(&g, unit);
	gather_symbols(&g, module);
	look_at_code(&g);
	tell(&g, fn, ctx);
	sym_gather_fini(&g);
	dwfl_end(dwfl);
	return 0;
}
