/* hook_code.c - finds calls of the hook in machine code. What a call must reach
 * is known exactly, from the relocations: the hook's slot in the GOT, the PLT
 * entries that jump through it, or the hook itself where it is linked
 * statically. So bytes that only look like such a call would have to hold the
 * right distance by chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/coverage/hook_code.h"

#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_plt.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* STUBS: so many addresses of a kind are noted. FUNCTION_MAX: bytes scanned. */
enum { STUBS = 16, FUNCTION_MAX = 1 << 26 };

static const char *const hook = "__cyg_profile_func_enter";

/* A word that the loader fills in, and the address that it then holds. */
struct filled { uint64_t at, holds; };

struct hook_code {
	Elf *elf;
	const unsigned char *bytes;   /* the whole file */
	size_t size;
	GElf_Phdr *parts;             /* its executable parts */
	size_t part_count, part_room;
	uint64_t stubs[STUBS];        /* addresses that lead to the hook */
	size_t stub_count;
	uint64_t gots[STUBS];         /* words that hold the hook's address */
	size_t got_count;
	struct filled *slots;           /* by address */
	size_t slot_count, slot_room;
	bool is_aarch64;              /* else x86-64 */
};

static bool is_in(const uint64_t *list, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* The signed 32-bit number at bytes: a distance, or a constant. */
static int64_t number_at(const unsigned char *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The bytes at an address, and how many follow in its part; NULL: none. */
static const unsigned char *code_at(const struct hook_code *c,
				    uint64_t address, uint64_t *room)
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

bool hook_code_has_hook(const struct hook_code *c)
{
	return c->stub_count + c->got_count > 0;
}

bool hook_code_holds(const struct hook_code *c, uint64_t address)
{
	uint64_t room;

	return code_at(c, address, &room) != NULL;
}

/* ---- scanning code ---- */

ORDER_BY(by_address, struct filled, UP(at))

/* Will the word at that address hold value when the loader is done? */
static bool slot_holds(const struct hook_code *c, uint64_t at, uint64_t value)
{
	const struct filled key = { at, 0 };
	const struct filled *const slot = c->slot_count == 0 ? NULL :
		bsearch(&key, c->slots, c->slot_count, sizeof(key),
			by_address);

	return slot && slot->holds == value;
}

/* b[0..3] may be a distance from address at + 4. Is it the operand of a call
 * (e8, ff 15) or jump (e9, ff 25) to the hook, or of a load of its address
 * (mov, 8b)? b[-2] and b[-1] can be read. */
static bool is_hook(const struct hook_code *c, const unsigned char *b,
		   uint64_t at)
{
	const uint64_t target = at + 4 + (uint64_t)number_at(b);

	if ((b[-1] == 0xe8 || b[-1] == 0xe9) &&
	    is_in(c->stubs, c->stub_count, target))
		return 1;
	return ((b[-2] == 0xff && (b[-1] == 0x15 || b[-1] == 0x25)) ||
		(b[-2] == 0x8b && (b[-1] & 0xc7) == 0x05)) &&
	       is_in(c->gots, c->got_count, target);
}

/* Is it the operand of an instruction that yields the address entry: lea (8d),
 * a load from a slot that holds it (8b), or a constant (b8 to bf, c7 c0 to c7)?
 * Position-independent code has lea or a load; code at fixed addresses has the
 * constant. */
static bool is_entry(const struct hook_code *c, const unsigned char *b,
		    uint64_t at, uint64_t entry)
{
	const uint64_t target = at + 4 + (uint64_t)number_at(b);

	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8d)
		return target == entry;
	if ((b[-1] & 0xc7) == 0x05 && b[-2] == 0x8b)
		return slot_holds(c, target, entry);
	if ((b[-1] & 0xf8) == 0xb8 ||
	    (b[-2] == 0xc7 && (b[-1] & 0xf8) == 0xc0))
		return (uint64_t)number_at(b) == entry;
	return 0;
}

/* The same for movabs, whose operand has eight bytes. */
static bool is_constant(const unsigned char *b, uint64_t entry)
{
	return (b[-1] & 0xf8) == 0xb8 && (b[-2] & 0xf8) == 0x48 &&
	       memcmp(b, &entry, sizeof(entry)) == 0;
}

/* Tries every byte, as instructions are not decoded: a decoder could lose its
 * place, and what is looked for is hardly ever found by chance. */
static int scan_x86_64(const struct hook_code *c, const unsigned char *bytes,
		       uint64_t address, uint64_t size, uint64_t entry)
{
	int found = 0;

	for (uint64_t i = 2; i + 4 <= size &&
	     found != (HOOK_CODE_CALLS | HOOK_CODE_OWN_ADDRESS); i++) {
		if (is_hook(c, bytes + i, address + i))
			found |= HOOK_CODE_CALLS;
		if (is_entry(c, bytes + i, address + i, entry) ||
		    (i + 8 <= size && is_constant(bytes + i, entry)))
			found |= HOOK_CODE_OWN_ADDRESS;
	}
	return found;
}

/* What an aarch64 instruction tells. value: what each register was set to last,
 * in the order of the code: adrp sets it to a page, and what needs the address
 * adds the rest (add) or loads from there (ldr). */
static int look_aarch64(const struct hook_code *c, uint32_t code, uint64_t at,
			uint64_t value[32], uint64_t entry)
{
	const uint32_t to = code & 31, from = code >> 5 & 31;
	uint64_t target = 0;

	if ((code & 0x7c000000) == 0x14000000) { /* b, bl */
		target = at + (((uint64_t)code << 38 ^ UINT64_C(1) << 63) >>
			       36) - (UINT64_C(1) << 27);
		return is_in(c->stubs, c->stub_count, target) ?
		       HOOK_CODE_CALLS : 0;
	}
	if ((code & 0x9f000000) == 0x90000000) { /* adrp */
		value[to] = sym_plt_page(code, at);
	} else if ((code & 0xffc00000) == 0x91000000) { /* add */
		value[to] = value[from] + sym_plt_offset(code, 1);
		return value[to] == entry ? HOOK_CODE_OWN_ADDRESS : 0;
	} else if ((code & 0xffc00000) == 0xf9400000) { /* ldr */
		target = value[from] + sym_plt_offset(code, 8);
		return is_in(c->gots, c->got_count, target) ? HOOK_CODE_CALLS :
		       slot_holds(c, target, entry) ? HOOK_CODE_OWN_ADDRESS : 0;
	}
	return 0;
}

static int scan_aarch64(const struct hook_code *c, const unsigned char *bytes,
			uint64_t address, uint64_t size, uint64_t entry)
{
	uint64_t value[32] = { 0 };
	uint32_t code;
	int found = 0;

	for (uint64_t i = 0; i + 4 <= size; i += 4) {
		memcpy(&code, bytes + i, sizeof(code));
		found |= look_aarch64(c, code, address + i, value, entry);
	}
	return found;
}

int hook_code_scan(const struct hook_code *c, uint64_t address, uint64_t size,
		  uint64_t entry)
{
	uint64_t room;
	const unsigned char *const bytes = code_at(c, address, &room);

	if (!bytes)
		return 0;
	size = MIN(room, size);
	size = MIN(FUNCTION_MAX, size);
	return (c->is_aarch64 ? scan_aarch64 : scan_x86_64)(c, bytes, address,
							    size, entry);
}

/* ---- reading the file ---- */

/* Add a value once. A full list takes no more. */
static void add(uint64_t *list, size_t *count, uint64_t value)
{
	if (*count < STUBS && !is_in(list, *count, value))
		list[(*count)++] = value;
}

/* Find the executable parts of the file. Those that do not lie in the file are
 * left out, so that code_at never points beyond it. */
static void read_parts(struct hook_code *c)
{
	GElf_Phdr part;
	size_t count;

	if (elf_getphdrnum(c->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i <= INT16_MAX; i++) {
		if (!gelf_getphdr(c->elf, (int)i, &part) ||
		    part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 ||
		    part.p_offset > c->size ||
		    part.p_filesz > c->size - part.p_offset)
			continue;
		*vec_add(&c->parts, &c->part_room, &c->part_count) = part;
	}
}

/* ---- where the hook is ---- */

static void add_slot(struct hook_code *c, uint64_t at, uint64_t holds)
{
	*vec_add(&c->slots, &c->slot_room, &c->slot_count) =
		(struct filled){ at, holds };
}

/* Note what a relocation says about a word's content. */
static void read_relocation(struct hook_code *c, const GElf_Rela *rela,
			    Elf_Data *symbols)
{
	enum { RELATIVE, CALL, ADDRESS, WORD, KINDS };
	static const uint64_t types[2][KINDS] = {
		{ R_X86_64_RELATIVE, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT,
		  R_X86_64_64 },
		{ R_AARCH64_RELATIVE, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT,
		  R_AARCH64_ABS64 },
	};
	const uint64_t *const its = types[c->is_aarch64];
	const uint64_t type = GELF_R_TYPE(rela->r_info);
	GElf_Sym symbol;

	if (type == its[RELATIVE]) {
		add_slot(c, rela->r_offset, (uint64_t)rela->r_addend);
		return;
	}
	if ((type == its[CALL] || type == its[ADDRESS] || type == its[WORD]) &&
	    symbols &&
	    gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &symbol) &&
	    symbol.st_shndx != SHN_UNDEF)
		add_slot(c, rela->r_offset, symbol.st_value +
			 (type == its[WORD] || c->is_aarch64 ?
			  (uint64_t)rela->r_addend : 0));
}

static void read_relocations(struct hook_code *c, Elf_Scn *section,
			     const GElf_Shdr *header)
{
	Elf_Scn *const table = elf_getscn(c->elf, header->sh_link);
	Elf_Data *const data = elf_getdata(section, NULL);
	Elf_Data *const symbols = !table ? NULL :
				  elf_getdata(table, NULL);
	GElf_Rela rela;

	for (int i = 0; data && gelf_getrela(data, i, &rela) != NULL; i++)
		read_relocation(c, &rela, symbols);
}

/* A program may have hooks of its own, or weft's linked statically. */
static void read_symbols(struct hook_code *c, Elf_Scn *section,
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

static void read_sections(struct hook_code *c)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(c->elf, section)) != NULL)
		if (!gelf_getshdr(section, &header))
			continue;
		else if (header.sh_type == SHT_RELA)
			read_relocations(c, section, &header);
		else if (header.sh_type == SHT_DYNSYM ||
			 header.sh_type == SHT_SYMTAB)
			read_symbols(c, section, &header);
}

/* The slots through which the hook is called, and the entries that jump through
 * them. */
static void read_plt(struct hook_code *c)
{
	struct sym_plt plt;

	sym_plt_find(&plt, c->elf, hook);
	for (size_t i = 0; i < plt.slots; i++)
		add(c->gots, &c->got_count, plt.slot[i]);
	for (size_t i = 0; i < plt.stubs; i++) {
		add(c->stubs, &c->stub_count, plt.stub[i].jump);
		add(c->stubs, &c->stub_count, plt.stub[i].entry);
	}
	sym_plt_fini(&plt);
}

struct hook_code *hook_code_new(int fd)
{
	struct hook_code *const c = mem_alloc(sizeof(*c));
	GElf_Ehdr head;
	size_t sections;

	c->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF ||
	    !gelf_getehdr(c->elf, &head) ||
	    (head.e_machine != EM_X86_64 && head.e_machine != EM_AARCH64) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf_getshdrnum(c->elf, &sections) != 0 || sections == 0) {
		hook_code_free(c);
		return NULL;
	}
	c->is_aarch64 = head.e_machine == EM_AARCH64;
	c->bytes = (const unsigned char *)elf_rawfile(c->elf, &c->size);
	if (!c->bytes)
		c->size = 0;
	read_parts(c);
	read_sections(c);
	read_plt(c);
	order_sort(c->slots, c->slot_count, by_address);
	return c;
}

void hook_code_free(struct hook_code *c)
{
	if (!c)
		return;
	elf_end(c->elf);
	mem_free_all(c->parts, c->slots, c);
}
