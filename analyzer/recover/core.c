/* core.c - program headers and the note of mapped files (NT_FILE) of a core
 * dump. Every number in it may be any number.
 * SPDX-License-Identifier: MIT */
#include "analyzer/recover/core.h"

#include "analyzer/base/mem.h"
#include "tracepoints/pool.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MOST = 16 << 20, NOTE_ALIGN = 4 };

static bool get(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX &&
	       pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

static bool is_core(int fd, Elf64_Ehdr *e)
{
	return get(fd, e, sizeof(*e), 0) &&
	       memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 &&
	       e->e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->e_ident[EI_DATA] == ELFDATA2LSB && e->e_type == ET_CORE &&
	       e->e_phentsize == sizeof(Elf64_Phdr);
}

/* With too many segments for its field, the first section has their number. */
static uint64_t count_segments(int fd, const Elf64_Ehdr *e)
{
	Elf64_Shdr first;

	return e->e_phnum != PN_XNUM ? e->e_phnum :
	       get(fd, &first, sizeof(first), e->e_shoff) ? first.sh_info : 0;
}

static bool is_pool(int fd, const Elf64_Phdr *p)
{
	uint64_t magic;

	return p->p_type == PT_LOAD && p->p_filesz >= sizeof(struct pool) &&
	       get(fd, &magic, sizeof(magic), p->p_offset) &&
	       magic == POOL_MAGIC;
}

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

static size_t aligned(size_t n)
{
	return (n + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;
}

static bool search_notes(const char *notes, size_t size, char path[PATH_MAX])
{
	Elf64_Nhdr h;

	for (size_t at = 0; size - at >= sizeof(h); ) {
		memcpy(&h, notes + at, sizeof(h));
		at += sizeof(h);
		if (aligned(h.n_namesz) > size - at)
			return false;
		at += aligned(h.n_namesz);
		if (h.n_descsz > size - at)
			return false;
		if (h.n_type == NT_FILE &&
		    read_files(notes + at, h.n_descsz, path))
			return true;
		if (aligned(h.n_descsz) > size - at)
			return false;
		at += aligned(h.n_descsz);
	}
	return false;
}

static bool is_named(int fd, const Elf64_Phdr *p, char path[PATH_MAX])
{
	char *notes;
	bool found;

	if (p->p_type != PT_NOTE || p->p_filesz > NOTES_MOST)
		return false;
	notes = mem_alloc(p->p_filesz + 1);
	found = get(fd, notes, p->p_filesz, p->p_offset) &&
		search_notes(notes, p->p_filesz, path);
	mem_free(notes);
	return found;
}

enum core core_find(int fd, struct core_pool *found)
{
	enum core what = CORE_UNRECORDED;
	Elf64_Ehdr e;
	Elf64_Phdr p;

	if (!is_core(fd, &e))
		return CORE_NONE;
	const uint64_t n = count_segments(fd, &e);

	for (uint64_t i = 0; i < n && get(fd, &p, sizeof(p), e.e_phoff +
					  i * sizeof(p)); i++) {
		if (is_pool(fd, &p)) {
			found->begin = p.p_offset;
			found->size = p.p_filesz;
			return CORE_HAS_POOL;
		}
		if (what == CORE_UNRECORDED && is_named(fd, &p, found->path))
			what = CORE_NAMES_POOL;
	}
	return what;
}
