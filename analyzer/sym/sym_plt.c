/* sym_plt.c - slots by relocations, stubs by the code of sections ".plt*".
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_plt.h"

#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <string.h>

static void add_slots(struct sym_plt *p, Elf *elf, Elf_Scn *section,
		      const GElf_Shdr *header, const char *begin)
{
	Elf_Scn *const table = elf_getscn(elf, header->sh_link);
	Elf_Data *const data = elf_getdata(section, NULL);
	Elf_Data *const symbols = table ? elf_getdata(table, NULL) : NULL;
	GElf_Shdr of;
	GElf_Rela rela;
	GElf_Sym symbol;

	if (!data || !symbols || !gelf_getshdr(table, &of))
		return;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		const char *const name = !gelf_getsym(symbols,
			(int)GELF_R_SYM(rela.r_info), &symbol) ? NULL :
			elf_strptr(elf, of.sh_link, symbol.st_name);

		if (name && text_begins(name, begin))
			*vec_add(&p->slot, &p->slot_room, &p->slots) =
				rela.r_offset;
	}
}

static void add_stub(struct sym_plt *p, uint64_t slot, uint64_t entry,
		     uint64_t jump)
{
	for (size_t k = 0; k < p->slots; k++)
		if (slot == p->slot[k])
			*vec_add(&p->stub, &p->stub_room, &p->stubs) =
				(struct sym_stub){ entry, jump };
}

static void add_stubs(struct sym_plt *p, const Elf_Data *data,
		      const GElf_Shdr *header)
{
	const unsigned char *const b = data->d_buf;
	const uint64_t each = header->sh_entsize == 8 ? 8 : SYM_STUB_BYTES;

	for (uint64_t i = 0; b && i + 6 <= data->d_size; i++) {
		const uint64_t at = header->sh_addr + i;
		int32_t distance;

		if (b[i] != 0xff || b[i + 1] != 0x25)
			continue;
		memcpy(&distance, b + i + 2, sizeof(distance));
		add_stub(p, at + 6 + (uint64_t)(int64_t)distance, at - i % each,
			 at);
	}
}

/* adrp x16, slot; ldr x17, [x16, slot]; perhaps behind a landing pad. */
static void add_stubs_aarch64(struct sym_plt *p, const Elf_Data *data,
			      const GElf_Shdr *header)
{
	enum { PAD = 0xd503245f };
	const unsigned char *const b = data->d_buf;
	uint32_t code[2], before = 0;

	for (uint64_t i = 0; b && i + 8 <= data->d_size; i += 4) {
		const uint64_t at = header->sh_addr + i;

		memcpy(code, b + i, sizeof(code));
		if ((code[0] & 0x9f00001f) == 0x90000010 &&
		    (code[1] & 0xffc003ff) == 0xf9400211)
			add_stub(p, sym_plt_page(code[0], at) +
				 sym_plt_offset(code[1], 8),
				 before == (uint32_t)PAD ? at - 4 : at, at);
		before = code[0];
	}
}

/* The stubs come second: they are known by the slots. */
void sym_plt_find(struct sym_plt *p, Elf *elf, const char *begin)
{
	Elf_Data *data;
	GElf_Ehdr head;
	GElf_Shdr header;
	size_t names;

	memset(p, 0, sizeof(*p));
	if (!elf || !gelf_getehdr(elf, &head) ||
	    elf_getshdrstrndx(elf, &names) != 0)
		return;
	for (int plt = 0; plt < 2; plt++) {
		Elf_Scn *section = NULL;

		while ((section = elf_nextscn(elf, section))) {
			const char *const name =
				!gelf_getshdr(section, &header) ? NULL :
				elf_strptr(elf, names, header.sh_name);

			if (!plt && name && header.sh_type == SHT_RELA)
				add_slots(p, elf, section, &header, begin);
			else if (plt && name && text_begins(name, ".plt") &&
				 (data = elf_rawdata(section, NULL)) != NULL)
				(head.e_machine == EM_AARCH64 ?
				 add_stubs_aarch64 : add_stubs)(p, data,
								&header);
		}
	}
}

void sym_plt_fini(struct sym_plt *p)
{
	mem_free_all(p->slot, p->stub);
}
