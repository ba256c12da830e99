/* elf_id.c - reads build-id and links to debug files by pread: a file that is
 * cut short meanwhile is an error, not a signal.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/elf_id.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 128, SECTIONS_MAX = 8192, TEXT_MAX = 65536 };

static bool get(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX - size &&
	       pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

static void read_notes(int fd, uint64_t at, uint64_t size, struct elf_id *id)
{
	char notes[4096];
	size_t used = 0;

	if (size > sizeof(notes))
		size = sizeof(notes);
	if (id->size > 0 || !get(fd, notes, (size_t)size, at))
		return;
	while (size - used >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, text;

		memcpy(&note, notes + used, sizeof(note));
		used += sizeof(note);
		name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		text = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
		if (name > size - used || text > size - used - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + used, "GNU", 4) == 0) {
			id->size = note.n_descsz < ELF_ID_BYTES ?
				   note.n_descsz : ELF_ID_BYTES;
			memcpy(id->id, notes + used + name, id->size);
			return;
		}
		used += (size_t)(name + text);
	}
}

/* A section that begins with a file name. */
static void read_link(int fd, const Elf64_Shdr *section, char *to)
{
	const size_t size = section->sh_size < ELF_ID_LINK ?
			    (size_t)section->sh_size : ELF_ID_LINK;

	if (!get(fd, to, size, section->sh_offset) ||
	    !memchr(to, '\0', size))
		to[0] = '\0';
}

static void read_section(int fd, const Elf64_Shdr *section, const char *name,
			 struct elf_id *id)
{
	if (section->sh_type == SHT_NOTE)
		read_notes(fd, section->sh_offset, section->sh_size, id);
	else if (section->sh_type == SHT_NOBITS)
		return;
	else if (strcmp(name, ".gnu_debuglink") == 0)
		read_link(fd, section, id->link);
}

/* The names of the sections, which end with a NUL; NULL: none. */
static char *section_names(int fd, const Elf64_Ehdr *head, size_t *size)
{
	Elf64_Shdr section;
	char *names;

	if (!get(fd, &section, sizeof(section), head->e_shoff +
		 (uint64_t)head->e_shstrndx * sizeof(section)) ||
	    section.sh_size == 0 || section.sh_size > TEXT_MAX)
		return NULL;
	*size = (size_t)section.sh_size;
	names = malloc(*size + 1);
	if (!names || !get(fd, names, *size, section.sh_offset)) {
		free(names);
		return NULL;
	}
	names[*size] = '\0';
	return names;
}

static void read_sections(int fd, const Elf64_Ehdr *head, struct elf_id *id)
{
	size_t size = 0;
	char *names;

	if (head->e_shentsize != sizeof(Elf64_Shdr) ||
	    head->e_shoff > INT64_MAX / 2)
		return;
	names = section_names(fd, head, &size);
	for (unsigned i = 0; i < head->e_shnum && i < SECTIONS_MAX; i++) {
		Elf64_Shdr section;

		if (!get(fd, &section, sizeof(section), head->e_shoff +
			 (uint64_t)i * sizeof(section)))
			break;
		read_section(fd, &section, names &&
			     section.sh_name < size ?
			     names + section.sh_name : "", id);
	}
	free(names);
}

static void read_parts(int fd, const Elf64_Ehdr *head, struct elf_id *id)
{
	if (head->e_phentsize != sizeof(Elf64_Phdr) ||
	    head->e_phoff > INT64_MAX / 2)
		return;
	for (unsigned i = 0; i < head->e_phnum && i < PARTS_MAX; i++) {
		Elf64_Phdr part;

		if (!get(fd, &part, sizeof(part), head->e_phoff +
			 (uint64_t)i * sizeof(part)))
			return;
		if (part.p_type == PT_NOTE)
			read_notes(fd, part.p_offset, part.p_filesz, id);
	}
}

int elf_id_read(int fd, struct elf_id *id)
{
	static const uint16_t one = 1;
	const unsigned char order = *(const unsigned char *)&one == 1 ?
				    ELFDATA2LSB : ELFDATA2MSB;
	Elf64_Ehdr head;

	memset(id, 0, sizeof(*id));
	if (!get(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != order)
		return -1;
	read_parts(fd, &head, id);
	read_sections(fd, &head, id);
	return 0;
}
