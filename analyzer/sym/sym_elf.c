/* sym_elf.c - reads ELF files with libelf and libdw: build-ids, symbol tables,
 * and debug information as gcc and clang write it. Must not look for files:
 * sym_find does. A file may crash these libraries, so all of this runs in a
 * child process.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_elf.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- the file ---- */

/* Bytes: of a build-id in a message; the unit by which sizes are compared.
 * HOPS: from a description to the abstract one, at most. */
enum { ID_SHOWN = 16, PAGE = 1 << 16, HOPS = 4 };

/* What a section adds to the worth of a file. In a debug file, sections that
 * were left in the program have headers without content (NOBITS). */
static enum sym_worth section_worth(const char *name, const GElf_Shdr *header,
				    enum sym_want want)
{
	if (header->sh_type == SHT_NOBITS)
		return WORTH_NOTHING;
	if (want == SYM_CODE)
		return header->sh_type == SHT_PROGBITS &&
		       (header->sh_flags & SHF_EXECINSTR) != 0 ? WORTH_ALL :
		       WORTH_NOTHING;
	if (name && (strcmp(name, ".debug_info") == 0 ||
			     strcmp(name, ".zdebug_info") == 0))
		return WORTH_ALL;
	return header->sh_type == SHT_SYMTAB ? WORTH_NAMES : WORTH_NOTHING;
}

/* A stripped file still has the exported names that the loader needs. */
enum sym_worth sym_elf_worth(Elf *elf, enum sym_want want)
{
	enum sym_worth worth = want == SYM_CODE ? WORTH_NOTHING :
			       WORTH_EXPORTS;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return worth;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		enum sym_worth its;

		if (!gelf_getshdr(section, &header))
			continue;
		its = section_worth(elf_strptr(elf, names, header.sh_name),
				    &header, want);
		worth = MAX(its, worth);
	}
	return worth;
}

/* The size of the module in memory, as the recorder has it: from the load bias
 * to the end of what is mapped. */
static uint64_t mapped_size(Elf *elf)
{
	GElf_Phdr part;
	uint64_t end = 0;
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return 0;
	for (size_t i = 0; i < count && i <= INT16_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &part) &&
		    part.p_type == PT_LOAD && part.p_vaddr + part.p_memsz > end)
			end = part.p_vaddr + part.p_memsz;
	return end;
}

/* Sizes are compared by pages: the recorder may see one more or less. Two
 * builds may have one size; sym_find tells the user so. */
static bool is_same_size(const struct elf_module *module, Elf *elf, char *why,
			 size_t size)
{
	const uint64_t its = mapped_size(elf);

	if (module->size == 0 || its == 0 ||
	    its / PAGE == module->size / PAGE ||
	    (its + PAGE - 1) / PAGE == (module->size + PAGE - 1) / PAGE)
		return true;
	snprintf(why, size, "size differs (%llu bytes, recorded %llu; there "
		 "is no build-id)", (unsigned long long)its,
		 (unsigned long long)module->size);
	return false;
}

bool sym_elf_is_module(const struct elf_module *module, Elf *elf, char *why,
		       size_t size)
{
	char its[2 * ID_SHOWN + 1], ours[2 * ID_SHOWN + 1];
	const void *id = NULL;
	ssize_t length;

	if (module->build_id_size == 0)
		return is_same_size(module, elf, why, size);
	length = dwelf_elf_gnu_build_id(elf, &id);
	if (length == module->build_id_size &&
	    memcmp(id, module->build_id, (size_t)length) == 0)
		return true;
	text_hex(id, length < 0 ? 0 : MIN((size_t)length, ID_SHOWN), its);
	text_hex(module->build_id, MIN(module->build_id_size, ID_SHOWN), ours);
	snprintf(why, size, "build-id differs (%.16s, recorded %.16s)",
		 length > 0 ? its : "none", ours);
	return false;
}

uint32_t sym_elf_crc(int fd)
{
	unsigned char bytes[1 << 16];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t size;

	while ((size = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		crc = crc32(crc, bytes, (uInt)size);
		at += size;
	}
	return (uint32_t)crc;
}

/* ---- debug information ---- */

struct sym_unit sym_unit_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return (struct sym_unit){
		die,
		dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute)),
		dwarf_diename(die)
	};
}

/* What the description refers to in that way, in its place. */
static bool follow(Dwarf_Die *die, unsigned way)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	if (!dwarf_attr(die, way, &attribute) ||
	    !dwarf_formref_die(&attribute, &next))
		return false;
	*die = next;
	return true;
}

Dwarf_Die sym_die_root(Dwarf_Die *die)
{
	Dwarf_Die root = *die;

	for (int i = 0; i < HOPS; i++)
		if (!follow(&root, DW_AT_abstract_origin))
			break;
	return root;
}

/* The plain name behind those of the classes and namespaces in which the
 * function is declared. Valid until the next call. */
static const char *name_in_scopes(Dwarf_Die *die, const char *plain)
{
	static char name[4096];
	Dwarf_Die declared = sym_die_root(die), *scopes = NULL;
	int count;

	follow(&declared, DW_AT_specification);
	count = dwarf_getscopes_die(&declared, &scopes);
	name[0] = '\0';
	for (int i = count - 1; i > 0; i--) {
		const char *const scope = dwarf_diename(&scopes[i]);
		const int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
		    tag == DW_TAG_structure_type || tag == DW_TAG_union_type)
			text_addf(name, sizeof(name), "%s::", scope ? scope :
				  "(anonymous namespace)");
	}
	free(scopes);
	text_addf(name, sizeof(name), "%s", plain);
	return name;
}

const char *sym_die_name(Dwarf_Die *die, const char *symbol)
{
	Dwarf_Attribute attribute;
	const char *name = NULL, *demangled, *plain;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		name = symbol;
	demangled = name ? sym_demangle(name) : NULL;
	if (demangled != name)
		return demangled;
	plain = dwarf_diename(die);
	return !plain ? name : name && text_begins(name, "_Z") ?
	       name_in_scopes(die, plain) : plain;
}

/* The source file in which a function is declared. In clang's DWARF 5, file 0
 * is the unit's own source; libdw 0.188 takes that for no file. */
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

/* The source file and line of the code at address. */
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

/* A relative name of a source file is relative to where the compiler ran. */
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

/* ---- names ---- */

/* The functions asked for, and the module that is read. */
struct elf_naming {
	Dwfl_Module *module;
	const struct sym_query *queries;
	size_t count;
	struct begun *begun;   /* of each query */
	sym_answer_fn answer;
	void *ctx;
	struct sym_unit unit;  /* the one that is being read */
};

/* The symbols that begin at a query's offset [0], and one byte later [1]: how
 * many, the name of one that has a size, and that of all functions if they are
 * several. */
struct begun {
	const char *name[2];
	uint32_t count[2];
	char *all[2];
};

/* A function's symbol at a query's offset (odd 0), or one byte later (1). */
struct at_query {
	struct begun *begun;
	int odd;
	const char *name;
};

ORDER_BY(by_place, struct at_query, UP(begun) ?: UP(odd))

ORDER_BY(by_offset, struct sym_query, UP(offset))

/* The first query at or after offset; count if there is none. */
static size_t first_from(const struct elf_naming *n, uint64_t offset)
{
	return ORDER_FIRST(i, n->count, n->queries[i].offset < offset);
}

/* What begins at an address, or one byte later; NULL: nobody asks. */
static struct begun *begun_at(const struct elf_naming *n, uint64_t offset)
{
	const size_t i = first_from(n, offset);

	return i < n->count && n->queries[i].offset == offset ? &n->begun[i] :
	       NULL;
}

/* The symbols of functions at queries. */
struct at_queries { struct at_query *all; size_t count, room; };

static void note_symbol(const struct elf_naming *n, const GElf_Sym *symbol,
			uint64_t value, const char *name,
			struct at_queries *functions)
{
	const int type = GELF_ST_TYPE(symbol->st_info);

	for (int odd = 0; odd < 2; odd++) {
		struct begun *const b = begun_at(n, value - (uint64_t)odd);

		if (!b)
			continue;
		b->count[odd]++;
		b->name[odd] = symbol->st_size > 0 && type == STT_FUNC ?
			       name : NULL;
		if (type == STT_FUNC || type == STT_GNU_IFUNC)
			*vec_add(&functions->all, &functions->room,
				 &functions->count) =
				(struct at_query){ b, odd, name };
	}
}

static void name_all(const struct at_queries *functions)
{
	const struct at_query *const f = functions->all;
	const char **const names =
		mem_alloc((functions->count + 1) * sizeof(*names));

	order_sort(functions->all, functions->count, by_place);
	for (size_t i = 0, k; i < functions->count; i = k) {
		for (k = i; k < functions->count && by_place(&f[i], &f[k]) == 0;
		     k++)
			names[k - i] = f[k].name;
		if (k - i > 1)
			f[i].begun->all[f[i].odd] = sym_symbols_name(names,
								     k - i);
	}
	mem_free(names);
}

/* One pass over the symbols: libdw's own search makes one for each address. */
static void note_symbols(const struct elf_naming *n)
{
	const int count = dwfl_module_getsymtab(n->module);
	struct at_queries functions = { 0 };

	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		const char *const name = dwfl_module_getsym_info(
			n->module, i, &symbol, &value, &section, NULL, NULL);

		if (name && name[0] && section != SHN_UNDEF)
			note_symbol(n, &symbol, value, name, &functions);
	}
	name_all(&functions);
	mem_free(functions.all);
}

/* The symbol at an address. The hook gets the entry of a function, so a symbol
 * that begins elsewhere is another function's. Of several, libdw chooses. */
static const char *symbol_from(const struct elf_naming *n, uint64_t address)
{
	GElf_Off inside;
	GElf_Sym symbol;
	const char *name;

	for (int odd = 0; odd < 2; odd++) {
		const struct begun *const b = begun_at(n, address -
						       (uint64_t)odd);

		if (b && (b->count[odd] == 0 ||
			  (b->count[odd] == 1 && b->name[odd])))
			return b->name[odd];
	}
	name = dwfl_module_addrinfo(n->module, address, &inside, &symbol, NULL,
				    NULL, NULL);
	return name && inside == 0 ? name : NULL;
}

/* The symbol at a recorded address. The tracer records a function at an odd
 * address under the even one before it. No instrumented function is one byte
 * long, so that address is no other function's. */
static const char *symbol_at(const struct elf_naming *n, uint64_t offset)
{
	const char *const name = symbol_from(n, offset);

	return !name && offset % 2 == 0 ? symbol_from(n, offset + 1) :
	       name;
}

/* The name of several symbols of functions there, or NULL. */
static const char *joint_at(const struct elf_naming *n, uint64_t offset)
{
	const struct begun *const b = begun_at(n, offset);

	return b->count[0] > 0 || offset % 2 != 0 ? b->all[0] : b->all[1];
}

/* What is no beginning lies in something that has a size: "NAME+0x10". */
static void answer_inside(const struct elf_naming *n, const struct sym_query *q)
{
	GElf_Off inside;
	GElf_Sym symbol;
	const char *const name = dwfl_module_addrinfo(n->module, q->offset,
		&inside, &symbol, NULL, NULL, NULL);
	char *text;

	if (!name || inside >= symbol.st_size)
		return;
	text = mem_print("%s+0x%" PRIx64, sym_demangle(name),
			   (uint64_t)inside);
	n->answer(n->ctx, q->id, text, "", 0);
	mem_free(text);
}

/* Answer all queries from the symbol table. It has no files and lines. */
static void answer_symbols(const struct elf_naming *n)
{
	for (size_t i = 0; i < n->count; i++) {
		const uint64_t offset = n->queries[i].offset;
		const char *const all = joint_at(n, offset);
		const char *const name = symbol_at(n, offset);

		if (all || name)
			n->answer(n->ctx, n->queries[i].id,
				  all ? all : sym_demangle(name), "", 0);
		else
			answer_inside(n, &n->queries[i]);
	}
}

/* Is it what a library calls its function for itself, as __read and
 * __libc_read are of read? */
static bool is_inner(const char *name, const char *plain)
{
	const size_t n = strlen(name), k = strlen(plain);

	return name[0] == '_' && n > k && name[n - k - 1] == '_' &&
	       strcmp(name + n - k, plain) == 0;
}

/* Answer a query from the description of the function. It comes after the
 * symbol's answer, and is the better one, but for the name of functions that a
 * linker has folded: of these, one description may be left, or all; and for one
 * that others call by a plain name. */
static void answer_die(const struct elf_naming *n, Dwarf_Die *die, size_t query)
{
	const struct sym_query *const q = &n->queries[query];
	const char *const all = joint_at(n, q->offset), *name = all;
	char path[4096];
	uint32_t line;

	sym_die_place(&n->unit, die, q->offset, path, sizeof(path), &line);
	if (!all || !text_name_next(all))
		name = sym_die_name(die, symbol_at(n, q->offset));
	if (all && name && is_inner(name, all))
		name = all;
	n->answer(n->ctx, q->id, !name ? "" : name, path, line);
}

/* Answer all queries for one address. */
static void answer_at(const struct elf_naming *n, Dwarf_Die *die,
		      uint64_t offset)
{
	for (size_t i = first_from(n, offset);
	     i < n->count && n->queries[i].offset == offset; i++)
		answer_die(n, die, i);
}

/* Also those recorded under the even address before an odd entry, unless a
 * symbol says that another function begins there. */
static void answer_entry(const struct elf_naming *n, Dwarf_Die *die,
			 uint64_t entry)
{
	answer_at(n, die, entry);
	if (entry % 2 != 0 && begun_at(n, entry - 1) &&
	    !symbol_from(n, entry - 1))
		answer_at(n, die, entry - 1);
}

/* Answer for a function of the debug information. One that was split into a hot
 * and a cold part has ranges and no entry; the hook got the beginning of one of
 * them. */
static int visit_function(Dwarf_Die *die, void *ctx)
{
	const struct elf_naming *const n = ctx;
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	if (dwarf_entrypc(die, &begin) == 0)
		answer_entry(n, die, begin);
	else
		while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
			answer_entry(n, die, begin);
	return DWARF_CB_OK;
}

/* May the unit have code of a function that is asked for? A unit that does not
 * say where its code is may have any. */
static bool is_wanted(const struct elf_naming *n, Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	int ranges = 0;

	while ((at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0) {
		const size_t i = first_from(n, begin & ~UINT64_C(1));

		ranges++;
		if (i < n->count && n->queries[i].offset < end)
			return true;
	}
	return ranges == 0 && !dwarf_hasattr(unit, DW_AT_low_pc);
}

/* Answer queries from the debug information, unit by unit. Only units with code
 * that is asked for are read: most of a large program was never called. */
static void answer_debug(struct elf_naming *n)
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

/* Only the file itself is read: other places are sym_find's. */
static int find_no_debug(Dwfl_Module *module, void **data, const char *name,
			 Dwarf_Addr base, const char *file, const char *link,
			 GElf_Word sum, char **found)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)sum, (void)found;
	return -1;
}

Dwfl_Module *sym_elf_open(int fd, const char *path, Dwfl **dwfl)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_debug,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl_Module *module = NULL;

	*dwfl = dwfl_begin(&callbacks);
	if (*dwfl) {
		dwfl_report_begin(*dwfl);
		module = dwfl_report_elf(*dwfl, "module", path, dup(fd), 0, 1);
		dwfl_report_end(*dwfl, NULL, NULL);
	}
	if (!module)
		dwfl_end(*dwfl);
	return module;
}

int sym_elf_name(int fd, const char *path, struct sym_query *queries,
		 size_t count, sym_answer_fn answer, void *ctx, char *why,
		 size_t why_size)
{
	struct elf_naming n = { .queries = queries, .count = count,
			    .answer = answer, .ctx = ctx };
	Dwfl *dwfl;

	qsort(queries, count, sizeof(*queries), by_offset);
	n.module = sym_elf_open(fd, path, &dwfl);
	if (!n.module) {
		snprintf(why, why_size, "cannot read it: %s",
			 dwfl_errmsg(-1));
		return -1;
	}
	n.begun = mem_alloc((count + 1) * sizeof(*n.begun));
	note_symbols(&n);
	answer_symbols(&n);
	answer_debug(&n);
	for (size_t i = 0; i < count; i++)
		mem_free_all(n.begun[i].all[0], n.begun[i].all[1]);
	mem_free(n.begun);
	dwfl_end(dwfl);
	return 0;
}
