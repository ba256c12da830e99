/* elf_file.c - the only reader of ELF in the recorder, by libelf.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/arch.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	BLOCK = 1 << 16,
	PAGE = 4096,               /* or larger: no matter here */
};

/* NULL if it is no 64-bit ELF file, little-endian as this machine. Its bytes
 * are read, not mapped: a file may be cut short meanwhile. */
static Elf *open_elf(int fd, GElf_Ehdr *head)
{
	elf_version(EV_CURRENT);
	Elf *const e = elf_begin(fd, ELF_C_READ, NULL);

	if (e && elf_kind(e) == ELF_K_ELF && gelf_getehdr(e, head) &&
	    head->e_ident[EI_CLASS] == ELFCLASS64 &&
	    head->e_ident[EI_DATA] == ELFDATA2LSB)
		return e;
	elf_end(e);
	return NULL;
}

static size_t segments(Elf *e)
{
	size_t n;

	return elf_getphdrnum(e, &n) == 0 ? n : 0;
}

/* The next section, after s, of one of two types; NULL: there is no more. */
static Elf_Scn *next_section(Elf *e, Elf_Scn *s, GElf_Word type,
			     GElf_Word other, GElf_Shdr *h)
{
	while ((s = elf_nextscn(e, s)) != NULL)
		if (gelf_getshdr(s, h) &&
		    (h->sh_type == type || h->sh_type == other))
			break;
	return s;
}

static size_t entries(const Elf_Data *d, size_t each)
{
	return d ? d->d_size / each : 0;
}

static const char *string_at(Elf *e, GElf_Word section, uint64_t at)
{
	const char *const text = elf_strptr(e, section, at);

	return text ? text : "";
}

/* ---- the build ---- */

/* Find NT_GNU_BUILD_ID among the notes. */
static void read_notes(Elf_Data *d, struct elf_build *build)
{
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while (d && build->size == 0 &&
	       (at = gelf_getnote(d, at, &note, &name, &text)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)d->d_buf + name, "GNU", 4) != 0)
			continue;
		build->size = note.n_descsz < ELF_BUILD_ID_MAX ?
			      note.n_descsz : ELF_BUILD_ID_MAX;
		memcpy(build->id, (char *)d->d_buf + text, build->size);
	}
}

static void read_sections(Elf *e, struct elf_build *build)
{
	size_t names;
	GElf_Shdr h;

	if (elf_getshdrstrndx(e, &names) != 0)
		return;
	for (Elf_Scn *s = NULL; (s = next_section(e, s, SHT_NOTE, SHT_PROGBITS,
						  &h)) != NULL; ) {
		if (h.sh_type == SHT_NOTE) {
			read_notes(elf_getdata(s, NULL), build);
		} else if (strcmp(string_at(e, (GElf_Word)names, h.sh_name),
				  ".gnu_debuglink") == 0) {
			const Elf_Data *const d = elf_getdata(s, NULL);

			/* It begins with a file name. */
			if (d && d->d_buf && memchr(d->d_buf, 0, d->d_size))
				snprintf(build->link, sizeof(build->link),
					 "%s", (const char *)d->d_buf);
		}
	}
}

int elf_build_read(int fd, struct elf_build *build)
{
	GElf_Ehdr head;
	GElf_Phdr p;
	Elf *const e = open_elf(fd, &head);

	memset(build, 0, sizeof(*build));
	if (!e)
		return -1;
	for (size_t i = 0; i < segments(e); i++)
		if (gelf_getphdr(e, (int)i, &p) && p.p_type == PT_NOTE)
			read_notes(elf_getdata_rawchunk(e, (int64_t)p.p_offset,
				   p.p_filesz, ELF_T_NHDR), build);
	read_sections(e, build);
	elf_end(e);
	return 0;
}

/* ---- functions ---- */

struct function {
	uint64_t address;
	const char *name;
};

struct functions {
	struct function *function;
	size_t n;
};

/* False: no memory. */
static bool add_functions(Elf *e, Elf_Scn *section, GElf_Word names,
			  struct functions *f)
{
	Elf_Data *const d = elf_getdata(section, NULL);
	const size_t n = entries(d, sizeof(Elf64_Sym));
	void *const grown = realloc(f->function, (f->n + n + 1) *
				    sizeof(*f->function));
	GElf_Sym s;

	if (!grown)
		return false;
	f->function = grown;
	for (size_t i = 0; i < n && gelf_getsym(d, (int)i, &s); i++) {
		const unsigned type = GELF_ST_TYPE(s.st_info);
		const char *const name = string_at(e, names, s.st_name);

		if ((type == STT_FUNC || type == STT_GNU_IFUNC) &&
		    s.st_shndx != SHN_UNDEF && name[0] != '\0')
			f->function[f->n++] = (struct function){ s.st_value,
								 name };
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct function *const x = a, *const y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* More names of one address than these are left alone: others may follow. */
enum { ALIASES_MAX = 64 };

static void call_each(const struct functions *f, elf_function_fn *fn, void *ctx)
{
	const char *name[ALIASES_MAX];

	for (size_t i = 0, k; i < f->n; i = k) {
		const uint64_t address = f->function[i].address;

		for (k = i; k < f->n && f->function[k].address == address; k++)
			if (k - i < ALIASES_MAX)
				name[k - i] = f->function[k].name;
		if (k - i <= ALIASES_MAX)
			fn(ctx, address, name, (unsigned)(k - i));
	}
}

int elf_functions_each(int fd, elf_function_fn *fn, void *ctx)
{
	struct functions f = { 0 };
	GElf_Ehdr head;
	GElf_Shdr h;
	Elf *const e = open_elf(fd, &head);
	bool done = e;

	for (Elf_Scn *s = NULL; done && (s = next_section(e, s, SHT_DYNSYM,
							  SHT_SYMTAB, &h)); )
		done = add_functions(e, s, h.sh_link, &f);
	if (done && f.n > 0) {
		qsort(f.function, f.n, sizeof(*f.function), by_address);
		call_each(&f, fn, ctx);
	}
	free(f.function);
	elf_end(e);
	return done ? 0 : -1;
}

bool elf_symbol_find(int fd, const char *name, uint64_t *value, uint64_t *size)
{
	GElf_Ehdr head;
	GElf_Shdr h;
	GElf_Sym sym;
	Elf *const e = open_elf(fd, &head);
	bool found = false;

	for (Elf_Scn *s = NULL; e && !found && (s = next_section(e, s,
				SHT_DYNSYM, SHT_DYNSYM, &h)) != NULL; ) {
		Elf_Data *const d = elf_getdata(s, NULL);
		const size_t n = entries(d, sizeof(Elf64_Sym));

		for (size_t i = 0; i < n && !found &&
		     gelf_getsym(d, (int)i, &sym); i++)
			found = sym.st_shndx != SHN_UNDEF &&
				strcmp(string_at(e, h.sh_link, sym.st_name),
				       name) == 0;
	}
	*value = found ? sym.st_value : 0;
	*size = found ? sym.st_size : 0;
	elf_end(e);
	return found;
}

bool elf_load_read(int fd, uint64_t offset, uint64_t *address, uint64_t *end)
{
	GElf_Ehdr head;
	GElf_Phdr p;
	Elf *const e = open_elf(fd, &head);
	bool found = false;

	*end = 0;
	for (size_t i = 0; e && i < segments(e); i++) {
		if (!gelf_getphdr(e, (int)i, &p))
			break;
		/* The mapping begins on a page, before the segment does. */
		const uint64_t before = p.p_offset % PAGE;

		if (p.p_type != PT_LOAD || p.p_vaddr < before)
			continue;
		*end = p.p_vaddr + p.p_memsz;
		if (found || !(p.p_flags & PF_X) ||
		    offset < p.p_offset - before ||
		    offset - p.p_offset + before >= p.p_filesz + before)
			continue;
		*address = p.p_vaddr - p.p_offset + offset;
		found = true;
	}
	elf_end(e);
	return found;
}

/* ---- programs and libraries ---- */

/* Of .dynsym and of .symtab, which a stripped file lacks. */
static void read_symbols(Elf *e, Elf_Data *d, GElf_Word names,
			 struct elf_file *file)
{
	GElf_Sym s;

	for (size_t i = 0; i < entries(d, sizeof(Elf64_Sym)) &&
	     gelf_getsym(d, (int)i, &s); i++) {
		const char *const name = string_at(e, names, s.st_name);
		const bool is_defined = s.st_shndx != SHN_UNDEF;

		if (strcmp(name, "__cyg_profile_func_enter") == 0) {
			file->has_hooks |= is_defined;
			file->wants_hooks |= !is_defined;
		} else if (strcmp(name, "lua_newstate") == 0) {
			file->has_lua |= is_defined;
		}
	}
}

/* Does it need AddressSanitizer's library? */
static void read_dynamic(Elf *e, Elf_Data *data, GElf_Word names,
			 struct elf_file *file)
{
	GElf_Dyn d;

	for (size_t i = 0; i < entries(data, sizeof(Elf64_Dyn)) &&
	     gelf_getdyn(data, (int)i, &d) && d.d_tag != DT_NULL; i++)
		file->needs_asan |= d.d_tag == DT_NEEDED && strncmp(
			string_at(e, names, d.d_un.d_val), "libasan.so", 10)
			== 0;
}

/* The loader is named in PT_INTERP. Only a static program has none. */
static void read_interpreter(Elf *e, struct elf_file *file)
{
	const size_t most = sizeof(file->interpreter) - 1;
	GElf_Phdr p;

	file->is_static = true;
	for (size_t i = 0; i < segments(e); i++) {
		if (!gelf_getphdr(e, (int)i, &p) || p.p_type != PT_INTERP)
			continue;
		const Elf_Data *const d = elf_getdata_rawchunk(e,
			(int64_t)p.p_offset, p.p_filesz, ELF_T_BYTE);

		file->is_static = false;
		if (d)
			memcpy(file->interpreter, d->d_buf, d->d_size < most ?
			       d->d_size : most);
	}
}

static void read_elf(int fd, struct elf_file *file)
{
	GElf_Ehdr head;
	GElf_Shdr h;
	Elf *const e = open_elf(fd, &head);

	file->is_elf = true;
	file->is_foreign = !e || head.e_machine != ARCH_MACHINE;
	if (!file->is_foreign) {
		read_interpreter(e, file);
		for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s)) != NULL; ) {
			if (!gelf_getshdr(s, &h))
				continue;
			if (h.sh_type == SHT_DYNSYM || h.sh_type == SHT_SYMTAB)
				read_symbols(e, elf_getdata(s, NULL),
					     h.sh_link, file);
			else if (h.sh_type == SHT_DYNAMIC)
				read_dynamic(e, elf_getdata(s, NULL),
					     h.sh_link, file);
		}
	}
	elf_end(e);
}

/* "#! /path argument" */
static void read_script(const char *line, struct elf_file *file)
{
	line += 2 + strspn(line + 2, " \t");
	file->is_script = true;
	snprintf(file->interpreter, sizeof(file->interpreter), "%.*s",
		 (int)strcspn(line, " \t\n"), line);
}

/* Whether the kernel starts the loader in its secure mode for it. */
static bool is_privileged(const char *path, const struct stat *st)
{
	char capability[64];

	return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
	       ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
		st->st_gid != getegid()) ||
	       (geteuid() != 0 && getxattr(path, "security.capability",
					   capability, sizeof(capability)) > 0);
}

/* Negative if it is no regular file that can be read. */
static int open_regular(const char *path, struct stat *st)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int elf_file_read(const char *path, struct elf_file *file)
{
	char start[sizeof(file->interpreter) + 16] = "";
	struct stat st;
	const int fd = open_regular(path, &st);

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return -1;
	file->is_privileged = is_privileged(path, &st);
	if (pread(fd, start, sizeof(start) - 1, 0) >= 4) {
		if (memcmp(start, ELFMAG, SELFMAG) == 0)
			read_elf(fd, file);
		else if (memcmp(start, "#!", 2) == 0)
			read_script(start, file);
	}
	close(fd);
	return file->is_elf || file->is_script ? 0 : -1;
}

bool elf_file_contains(const char *path, const char *text)
{
	const size_t length = strlen(text);
	char block[BLOCK];
	size_t have = 0;
	struct stat st;
	const int fd = open_regular(path, &st);
	bool found = false;
	ssize_t n;

	if (fd < 0)
		return false;
	while (!found && (n = read(fd, block + have, BLOCK - have)) > 0) {
		have += (size_t)n;
		found = memmem(block, have, text, length) != NULL;
		/* The text may begin in this block and end in the next. */
		const size_t kept = have < length ? have : length - 1;

		memmove(block, block + have - kept, kept);
		have = kept;
	}
	close(fd);
	return found;
}

/* ---- finding files ---- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

bool elf_file_find_program(const char *name, char out[PATH_MAX])
{
	const char *const path = getenv("PATH");
	const char *list = path ? path : "/bin:/usr/bin";

	if (strchr(name, '/')) {
		snprintf(out, PATH_MAX, "%s", name);
		return access(name, F_OK) == 0;
	}
	while (*list) {
		const int n = (int)strcspn(list, ":");

		snprintf(out, PATH_MAX, "%.*s%s%s", n, list, n > 0 ? "/" : "",
			 name);
		if (is_program(out))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}
