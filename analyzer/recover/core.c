/* core.c - program headers and the note of mapped files (NT_FILE) of a core
 * dump. Every number in it may be any number.
 * SPDX-License-Identifier: MIT */
#include "analyzer/recover/core.h"

#include "tracepoints/pool.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MOST = 16 << 20 }; /* bytes */

/* One of count zero-terminated names. A removed file's has a word behind it. */
static bool find_name(const char *name, const char *end, uint64_t count,
		      char path[PATH_MAX])
{
	static const char begin[] = "/dev/shm/weft-";

	for (; count > 0 && name < end; count--) {
		const size_t n = strnlen(name, (size_t)(end - name));

		if (n < PATH_MAX && strncmp(name, begin, n < sizeof(begin) - 1 ?
					    n + 1 : sizeof(begin) - 1) == 0) {
			memcpy(path, name, n);
			path[n] = '\0';
			path[strcspn(path, " ")] = '\0';
			return true;
		}
		name += n + 1;
	}
	return false;
}

/* NT_FILE: how many, the page's size, so many times start, end and offset, then
 * the names. */
static bool read_files(const char *desc, size_t size, char path[PATH_MAX])
{
	uint64_t count;

	if (size < 2 * sizeof(count))
		return false;
	memcpy(&count, desc, sizeof(count));
	if (count > (size - 2 * sizeof(count)) / (3 * sizeof(count)))
		return false;
	return find_name(desc + (2 + 3 * count) * sizeof(count), desc + size,
			 count, path);
}

static bool is_pool(int fd, const GElf_Phdr *p)
{
	uint64_t magic;

	return p->p_type == PT_LOAD && p->p_filesz >= sizeof(struct pool) &&
	       p->p_offset <= INT64_MAX &&
	       pread(fd, &magic, sizeof(magic), (off_t)p->p_offset) ==
	       (ssize_t)sizeof(magic) && magic == POOL_MAGIC;
}

static bool is_named(Elf *elf, const GElf_Phdr *p, char path[PATH_MAX])
{
	Elf_Data *const notes =
		p->p_type != PT_NOTE || p->p_filesz > NOTES_MOST ? NULL :
		elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz,
				     p->p_align == 8 ? ELF_T_NHDR8 :
				     ELF_T_NHDR);
	size_t name, desc;
	GElf_Nhdr h;

	for (size_t at = 0; notes && (at = gelf_getnote(notes, at, &h, &name,
							&desc)) > 0; )
		if (h.n_type == NT_FILE &&
		    read_files((const char *)notes->d_buf + desc, h.n_descsz,
			       path))
			return true;
	return false;
}

enum core core_find(int fd, struct core_pool *found)
{
	enum core what = CORE_NONE;
	Elf *elf;
	GElf_Ehdr e;
	GElf_Phdr p;
	size_t n;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (gelf_getehdr(elf, &e) && e.e_type == ET_CORE &&
	    e.e_ident[EI_CLASS] == ELFCLASS64 &&
	    elf_getphdrnum(elf, &n) == 0)
		what = CORE_UNRECORDED;
	for (size_t i = 0; what != CORE_NONE && i < n && i < INT32_MAX &&
			   gelf_getphdr(elf, (int)i, &p); i++) {
		if (is_pool(fd, &p)) {
			found->begin = p.p_offset;
			found->size = p.p_filesz;
			what = CORE_HAS_POOL;
			break;
		}
		if (what == CORE_UNRECORDED && is_named(elf, &p, found->path))
			what = CORE_NAMES_POOL;
	}
	elf_end(elf);
	return what;
}
