/* sym_code.c - finds calls of the hook in x86-64 machine code. What a call must
 * reach is known exactly, from the relocations: the hook's slot in the GOT, the
 * PLT entries that jump through it, or the hook itself where it is linked
 * statically. So bytes that only look like such a call would have to hold the
 * right 32-bit distance by chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_code_state.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { STUB_BYTES = 16 };

static const char *const hook = "__cyg_profile_func_enter";

static void add(uint64_t *list, size_t *count, uint64_t value)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i] == value)
			return;
	if (*count < STUBS)
		list[(*count)++] = value;
}

static void read_parts(struct sym_code *c)
{
	GElf_Phdr part;
	size_t count;

	if (elf_getphdrnum(c->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i <= INT16_MAX; i++) {
		if (gelf_getphdr(c->elf, (int)i, &part) == NULL ||
		    part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 ||
		    part.p_offset > c->size ||
		    part.p_filesz > c->size - part.p_offset)
			continue;
		*vec_add(&c->parts, &c->part_room, &c->part_count) = part;
	}
}

/* --- where the hook is ------------------------------------------------- */

static void add_slot(struct sym_code *c, uint64_t at, uint64_t holds)
{
	*vec_add(&c->slots, &c->slot_room, &c->slot_count) =
		(struct slot){ at, holds };
}

static void read_relocation(struct sym_code *c, const GElf_Rela *rela,
			    Elf_Data *symbols, size_t names)
{
	const uint64_t type = GELF_R_TYPE(rela->r_info);
	GElf_Sym symbol;
	const char *name;

	if (type == R_X86_64_RELATIVE) {
		add_slot(c, rela->r_offset, (uint64_t)rela->r_addend);
		return;
	}
	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
	     type != R_X86_64_64) || !symbols ||
	    gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &symbol) ==
	    NULL)
		return;
	name = elf_strptr(c->elf, names, symbol.st_name);
	if (name && strcmp(name, hook) == 0)
		add(c->gots, &c->got_count, rela->r_offset);
	else if (symbol.st_shndx != SHN_UNDEF)
		add_slot(c, rela->r_offset, symbol.st_value +
			 (type == R_X86_64_64 ? (uint64_t)rela->r_addend : 0));
}

static void read_relocations(struct sym_code *c, Elf_Scn *section,
			     const GElf_Shdr *header)
{
	Elf_Scn *const table = elf_getscn(c->elf, header->sh_link);
	Elf_Data *const data = elf_getdata(section, NULL);
	Elf_Data *const symbols = !table ? NULL :
				  elf_getdata(table, NULL);
	GElf_Shdr table_header;
	GElf_Rela rela;

	if (!data || !table ||
	    !gelf_getshdr(table, &table_header))
		return;
	for (int i = 0; gelf_getrela(data, i, &rela) != NULL; i++)
		read_relocation(c, &rela, symbols, table_header.sh_link);
}

/* A program may bring hooks of its own, or weft's linked statically. */
static void read_symbols(struct sym_code *c, Elf_Scn *section,
			 const GElf_Shdr *header)
{
	Elf_Data *const data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	if (!data)
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
		const char *const name = elf_strptr(c->elf, header->sh_link,
						    symbol.st_name);

		if (symbol.st_shndx != SHN_UNDEF && name &&
		    strcmp(name, hook) == 0)
			add(c->stubs, &c->stub_count, symbol.st_value);
	}
}

/* Entries that jump through the hook's slot: "jmp *slot(%rip)" somewhere in
 * them. */
static void read_plt(struct sym_code *c, const GElf_Shdr *header)
{
	const uint64_t each = header->sh_entsize == 8 ? 8 : STUB_BYTES;
	const unsigned char *bytes;
	uint64_t room;

	bytes = sym_code_at(c, header->sh_addr, &room);
	if (!bytes)
		return;
	if (room > header->sh_size)
		room = header->sh_size;
	for (uint64_t i = 0; i + 6 <= room; i++) {
		const uint64_t next = header->sh_addr + i + 6;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25 ||
		    !sym_code_is_in(c->gots, c->got_count,
			   next + (uint64_t)sym_code_distance(bytes + i + 2)))
			continue;
		add(c->stubs, &c->stub_count, header->sh_addr + i);
		add(c->stubs, &c->stub_count, header->sh_addr + i - i % each);
	}
}

static void read_sections(struct sym_code *c, int plt)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(c->elf, &names) != 0)
		return;
	while ((section = elf_nextscn(c->elf, section)) != NULL) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(c->elf, names, header.sh_name);
		if (plt && name && strncmp(name, ".plt", 4) == 0)
			read_plt(c, &header);
		else if (!plt && header.sh_type == SHT_RELA)
			read_relocations(c, section, &header);
		else if (!plt && (header.sh_type == SHT_DYNSYM ||
				  header.sh_type == SHT_SYMTAB))
			read_symbols(c, section, &header);
	}
}

struct sym_code *sym_code_new(int fd)
{
	struct sym_code *const c = mem_alloc(sizeof(*c));
	GElf_Ehdr head;
	size_t sections;

	c->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF ||
	    !gelf_getehdr(c->elf, &head) ||
	    head.e_machine != EM_X86_64 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf_getshdrnum(c->elf, &sections) != 0 || sections == 0) {
		sym_code_free(c);
		return NULL;
	}
	c->bytes = (const unsigned char *)elf_rawfile(c->elf, &c->size);
	if (!c->bytes)
		c->size = 0;
	read_parts(c);
	read_sections(c, 0);
	read_sections(c, 1);
	if (c->slot_count > 0)
		qsort(c->slots, c->slot_count, sizeof(*c->slots),
		      sym_code_by_address);
	return c;
}

void sym_code_free(struct sym_code *c)
{
	if (!c)
		return;
	elf_end(c->elf);
	mem_free(c->parts);
	mem_free(c->slots);
	mem_free(c);
}
