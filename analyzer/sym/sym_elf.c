/* sym_elf.c - is this ELF file that module, and what can it tell?
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_elf.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ID_SHOWN = 16, PAGE = 1 << 16 };

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
		if (its > worth)
			worth = its;
	}
	return worth;
}

void sym_elf_hex(const uint8_t *bytes, size_t count, char *to)
{
	*to = '\0';
	for (size_t i = 0; i < count; i++)
		to += sprintf(to, "%02x", bytes[i]);
}

/* From the load bias to the end of what is mapped, as the recorder has it. */
static uint64_t mapped_size(Elf *elf)
{
	GElf_Phdr part;
	uint64_t end = 0;
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return 0;
	for (size_t i = 0; i < count && i <= INT16_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &part) != NULL &&
		    part.p_type == PT_LOAD && part.p_vaddr + part.p_memsz > end)
			end = part.p_vaddr + part.p_memsz;
	return end;
}

static int is_same_size(const struct elf_module *module, Elf *elf, char *why,
			size_t size)
{
	const uint64_t its = mapped_size(elf);

	if (module->size == 0 || its == 0 ||
	    its / PAGE == module->size / PAGE ||
	    (its + PAGE - 1) / PAGE == (module->size + PAGE - 1) / PAGE)
		return 1;
	snprintf(why, size, "size differs (%llu bytes, recorded %llu; there "
		 "is no build-id)", (unsigned long long)its,
		 (unsigned long long)module->size);
	return 0;
}

int sym_elf_is_module(const struct elf_module *module, Elf *elf, char *why,
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
		return 1;
	sym_elf_hex(id, length < 0 ? 0 : length > ID_SHOWN ? ID_SHOWN :
		    (size_t)length, its);
	sym_elf_hex(module->build_id, module->build_id_size > ID_SHOWN ?
		    ID_SHOWN : module->build_id_size, ours);
	snprintf(why, size, "build-id differs (%.16s, recorded %.16s)",
		 length > 0 ? its : "none", ours);
	return 0;
}

uint32_t sym_elf_sum(int fd)
{
	uint32_t table[256], sum = UINT32_MAX;
	unsigned char bytes[1 << 16];
	off_t at = 0;
	ssize_t size;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
				   (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
	}
	while ((size = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i < size; i++)
			sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 255];
		at += size;
	}
	return ~sum;
}
