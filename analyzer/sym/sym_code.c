/* sym_code.c - finds calls of the hook in x86-64 machine code. What a call must
 * reach is known exactly, from the relocations: the hook's slot in the GOT, the
 * PLT entries that jump through it, or the hook itself where it is linked
 * statically. So bytes that only look like such a call would have to hold the
 * right 32-bit distance by chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_code.h"

#include "analyzer/base/mem.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { STUBS = 16, STUB_BYTES = 16, FUNCTION_MAX = 1 << 26 };

static const char *const hook = "__cyg_profile_func_enter";

/* A word that the loader fills in, and what with. */
struct slot { uint64_t at, holds; };

struct sym_code {
	Elf *elf;
	const unsigned char *bytes;   /* the whole file, */
	size_t size;
	GElf_Phdr *parts;             /* its executable parts */
	size_t part_count, part_room;
	uint64_t stubs[STUBS];        /* addresses that lead to the hook, */
	size_t stub_count;
	uint64_t gots[STUBS];         /* words that hold its address */
	size_t got_count;
	struct slot *slots;           /* by address */
	size_t slot_count, slot_room;
};

static void add(uint64_t *list, size_t *count, uint64_t value)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i] == value)
			return;
	if (*count < STUBS)
		list[(*count)++] = value;
}

static int is_in(const uint64_t *list, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return 1;
	return 0;
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
		mem_need((void **)&c->parts, &c->part_room, c->part_count + 1,
			 sizeof(*c->parts));
		c->parts[c->part_count++] = part;
	}
}

/* The bytes at an address, and how many follow in its part; NULL: none. */
static const unsigned char *code_at(const struct sym_code *c, uint64_t address,
				    uint64_t *room)
{
	for (size_t i = 0; i < c->part_count; i++) {
		const GElf_Phdr *const part = &c->parts[i];

		if (address < part->p_vaddr ||
		    address - part->p_vaddr >= part->p_filesz)
			continue;
		*room = part->p_filesz - (address - part->p_vaddr);
		return c->bytes + part->p_offset + (address - part->p_vaddr);
	}
	return NULL;
}

/* --- where the hook is ------------------------------------------------- */

static void add_slot(struct sym_code *c, uint64_t at, uint64_t holds)
{
	mem_need((void **)&c->slots, &c->slot_room, c->slot_count + 1,
		 sizeof(*c->slots));
	c->slots[c->slot_count++] = (struct slot){ at, holds };
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
	     type != R_X86_64_64) || symbols == NULL ||
	    gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &symbol) ==
	    NULL)
		return;
	name = elf_strptr(c->elf, names, symbol.st_name);
	if (name != NULL && strcmp(name, hook) == 0)
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
	Elf_Data *const symbols = table == NULL ? NULL :
				  elf_getdata(table, NULL);
	GElf_Shdr table_header;
	GElf_Rela rela;

	if (data == NULL || table == NULL ||
	    gelf_getshdr(table, &table_header) == NULL)
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

	if (data == NULL)
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
		const char *const name = elf_strptr(c->elf, header->sh_link,
						    symbol.st_name);

		if (symbol.st_shndx != SHN_UNDEF && name != NULL &&
		    strcmp(name, hook) == 0)
			add(c->stubs, &c->stub_count, symbol.st_value);
	}
}

static int64_t distance(const unsigned char *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Entries that jump through the hook's slot: "jmp *slot(%rip)" somewhere in
 * them. */
static void read_plt(struct sym_code *c, const GElf_Shdr *header)
{
	const uint64_t each = header->sh_entsize == 8 ? 8 : STUB_BYTES;
	const unsigned char *bytes;
	uint64_t room;

	bytes = code_at(c, header->sh_addr, &room);
	if (bytes == NULL)
		return;
	if (room > header->sh_size)
		room = header->sh_size;
	for (uint64_t i = 0; i + 6 <= room; i++) {
		const uint64_t next = header->sh_addr + i + 6;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25 ||
		    !is_in(c->gots, c->got_count,
			   next + (uint64_t)distance(bytes + i + 2)))
			continue;
		add(c->stubs, &c->stub_count, header->sh_addr + i);
		add(c->stubs, &c->stub_count, header->sh_addr + i - i % each);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct slot *const x = a, *const y = b;

	return x->at < y->at ? -1 : x->at > y->at;
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

		if (gelf_getshdr(section, &header) == NULL)
			continue;
		name = elf_strptr(c->elf, names, header.sh_name);
		if (plt && name != NULL && strncmp(name, ".plt", 4) == 0)
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
	if (c->elf == NULL || elf_kind(c->elf) != ELF_K_ELF ||
	    gelf_getehdr(c->elf, &head) == NULL ||
	    head.e_machine != EM_X86_64 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf_getshdrnum(c->elf, &sections) != 0 || sections == 0) {
		sym_code_free(c);
		return NULL;
	}
	c->bytes = (const unsigned char *)elf_rawfile(c->elf, &c->size);
	if (c->bytes == NULL)
		c->size = 0;
	read_parts(c);
	read_sections(c, 0);
	read_sections(c, 1);
	if (c->slot_count > 0)
		qsort(c->slots, c->slot_count, sizeof(*c->slots), by_address);
	return c;
}

void sym_code_free(struct sym_code *c)
{
	if (c == NULL)
		return;
	elf_end(c->elf);
	mem_free(c->parts);
	mem_free(c->slots);
	mem_free(c);
}

int sym_code_has_hook(const struct sym_code *c)
{
	return c->stub_count + c->got_count > 0;
}

int sym_code_holds(const struct sym_code *c, uint64_t address)
{
	uint64_t room;

	return code_at(c, address, &room) != NULL;
}

/* --- what a function does ---------------------------------------------- */

static int slot_holds(const struct sym_code *c, uint64_t at, uint64_t value)
{
	const struct slot key = { at, 0 };
	const struct slot *const slot = c->slot_count == 0 ? NULL :
		bsearch(&key, c->slots, c->slot_count, sizeof(key),
			by_address);

	return slot != NULL && slot->holds == value;
}

/* b[0..3] is what may be a distance from address at + 4. Is it that of a call
 * or jump to the hook, or of a load of its address? b[-1], b[-2] can be read. */
static int is_hook(const struct sym_code *c, const unsigned char *b,
		   uint64_t at)
{
	const uint64_t target = at + 4 + (uint64_t)distance(b);

	if ((b[-1] == 0xe8 || b[-1] == 0xe9) &&
	    is_in(c->stubs, c->stub_count, target))
		return 1;
	return ((b[-2] == 0xff && (b[-1] == 0x15 || b[-1] == 0x25)) ||
		(b[-2] == 0x8b && (b[-1] & 0xc7) == 0x05)) &&
	       is_in(c->gots, c->got_count, target);
}

/* The same for the function's own address: lea, a load from a slot that holds
 * it, or a constant. */
static int is_entry(const struct sym_code *c, const unsigned char *b,
		    uint64_t at, uint64_t entry)
{
	const uint64_t target = at + 4 + (uint64_t)distance(b);

	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8d)
		return target == entry;
	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8b)
		return slot_holds(c, target, entry);
	if ((b[-1] & 0xf8) == 0xb8 ||
	    (b[-2] == 0xc7 && (b[-1] & 0xf8) == 0xc0))
		return (uint64_t)distance(b) == entry;
	return 0;
}

/* movabs: eight bytes. */
static int is_constant(const unsigned char *b, uint64_t entry)
{
	return (b[-1] & 0xf8) == 0xb8 && (b[-2] & 0xf8) == 0x48 &&
	       memcmp(b, &entry, sizeof(entry)) == 0;
}

int sym_code_look(const struct sym_code *c, uint64_t address, uint64_t size,
		  uint64_t entry)
{
	uint64_t room;
	const unsigned char *const bytes = code_at(c, address, &room);
	int found = 0;

	if (bytes == NULL)
		return 0;
	if (size > room)
		size = room;
	if (size > FUNCTION_MAX)
		size = FUNCTION_MAX;
	for (uint64_t i = 2; i + 4 <= size &&
	     found != (SYM_CALLS_HOOK | SYM_NAMES_ITSELF); i++) {
		if (is_hook(c, bytes + i, address + i))
			found |= SYM_CALLS_HOOK;
		if (is_entry(c, bytes + i, address + i, entry) ||
		    (i + 8 <= size && is_constant(bytes + i, entry)))
			found |= SYM_NAMES_ITSELF;
	}
	return found;
}
