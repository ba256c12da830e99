/* sym_dwarf.c - names of addresses out of an ELF file, by libdw: first from the
 * symbol table, then from the debug information, where static functions have
 * files and lines as well.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_dwarf.h"

#include "analyzer/sym/sym_demangle.h"
#include "analyzer/sym/sym_die.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct naming {
	Dwfl_Module *module;
	const struct sym_query *queries;
	size_t count;
	sym_answer_fn answer;
	void *ctx;
	struct sym_unit unit;  /* that is being read */
};

static int by_offset(const void *a, const void *b)
{
	const struct sym_query *const x = a, *const y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The first query at or after offset. */
static size_t first_from(const struct naming *n, uint64_t offset)
{
	size_t low = 0, high = n->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (n->queries[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A hook is given the entry of a function, so a symbol that begins elsewhere is
 * another one's. */
static const char *symbol_from(const struct naming *n, uint64_t address)
{
	GElf_Off inside;
	GElf_Sym symbol;
	const char *const name = dwfl_module_addrinfo(
		n->module, address, &inside, &symbol, NULL, NULL, NULL);

	return name && inside == 0 ? name : NULL;
}

/* The tracer books a function at an odd address to the even one before it; no
 * instrumented function is a single byte long, so it cannot be another's. */
static const char *symbol_at(const struct naming *n, uint64_t offset)
{
	const char *const name = symbol_from(n, offset);

	return !name && offset % 2 == 0 ? symbol_from(n, offset + 1) :
	       name;
}

static void answer_symbols(const struct naming *n)
{
	for (size_t i = 0; i < n->count; i++) {
		const char *const name = symbol_at(n, n->queries[i].offset);

		if (name)
			n->answer(n->ctx, n->queries[i].id,
				  sym_demangle_name(name), "", 0);
	}
}

static void answer_die(const struct naming *n, Dwarf_Die *die, size_t query)
{
	const struct sym_query *const q = &n->queries[query];
	const char *name;
	char path[4096];
	uint32_t line;

	sym_die_place(&n->unit, die, q->offset, path, sizeof(path), &line);
	name = sym_die_name(die, symbol_at(n, q->offset));
	n->answer(n->ctx, q->id, !name ? "" : name, path, line);
}

static void answer_at(const struct naming *n, Dwarf_Die *die,
		      uint64_t offset)
{
	for (size_t i = first_from(n, offset);
	     i < n->count && n->queries[i].offset == offset; i++)
		answer_die(n, die, i);
}

static void answer_entry(const struct naming *n, Dwarf_Die *die,
			 uint64_t entry)
{
	answer_at(n, die, entry);
	if (entry % 2 != 0 && !symbol_from(n, entry - 1))
		answer_at(n, die, entry - 1);
}

/* A function that was split into a hot and a cold part has ranges and no entry
 * of its own; what a hook was given is the beginning of one of them. */
static int visit_function(Dwarf_Die *die, void *ctx)
{
	const struct naming *const n = ctx;
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	if (dwarf_entrypc(die, &begin) == 0)
		answer_entry(n, die, begin);
	else
		while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
			answer_entry(n, die, begin);
	return DWARF_CB_OK;
}

/* Does the unit hold code of any function asked for? A unit that does not say
 * where its code is may hold any. */
static int is_wanted(const struct naming *n, Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	int ranges = 0;

	while ((at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0) {
		const size_t i = first_from(n, begin & ~UINT64_C(1));

		ranges++;
		if (i < n->count && n->queries[i].offset < end)
			return 1;
	}
	return ranges == 0 && !dwarf_hasattr(unit, DW_AT_low_pc);
}

static void answer_debug(struct naming *n)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while ((unit = dwfl_module_nextcu(n->module, unit, &bias)) != NULL) {
		if (!is_wanted(n, unit))
			continue;
		n->unit = sym_unit_of(unit);
		dwarf_getfuncs(unit, visit_function, n, 0);
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

int sym_dwarf_name(int fd, const char *path, struct sym_query *queries,
		   size_t count, sym_answer_fn answer, void *ctx, char *why,
		   size_t why_size)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_debug,
		.section_address = dwfl_offline_section_address,
	};
	struct naming n = { .queries = queries, .count = count,
			    .answer = answer, .ctx = ctx };
	Dwfl *const dwfl = dwfl_begin(&callbacks);

	qsort(queries, count, sizeof(*queries), by_offset);
	if (dwfl) {
		dwfl_report_begin(dwfl);
		n.module = dwfl_report_elf(dwfl, "module", path, dup(fd), 0, 1);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	if (!n.module) {
		snprintf(why, why_size, "cannot read it: %s",
			 dwfl_errmsg(-1));
		dwfl_end(dwfl);
		return -1;
	}
	answer_symbols(&n);
	answer_debug(&n);
	dwfl_end(dwfl);
	return 0;
}
