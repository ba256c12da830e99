/* elf_file.c - the only reader of ELF in the recorder. It reads the few facts
 * that are needed with pread, without a library.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

enum {
	LOAD_MAX = 1 << 29,        /* bytes of one table */
	NOTES_MAX = 4096,
	BLOCK = 1 << 16,
	PAGE = 4096,               /* or larger: no matter here */
};

/* ---- tables ---- */

struct tables {
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr *segment;
	Elf64_Shdr *section;
	unsigned segments, sections;
};

static bool get(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX - size &&
	       pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

/* n items of the file at that offset, with a NUL byte after them. NULL if they
 * are not there or too large. The caller frees them. */
static void *load(int fd, uint64_t at, uint64_t n, size_t each)
{
	char *bytes;

	if (n == 0 || n > LOAD_MAX / each)
		return NULL;
	bytes = malloc((size_t)n * each + 1);
	if (!bytes || !get(fd, bytes, (size_t)n * each, at)) {
		free(bytes);
		return NULL;
	}
	bytes[n * each] = '\0';
	return bytes;
}

static void *load_section(const struct tables *t, const Elf64_Shdr *section,
			  size_t each)
{
	return section->sh_type == SHT_NOBITS ? NULL :
	       load(t->fd, section->sh_offset, section->sh_size / each, each);
}

static void free_tables(struct tables *t)
{
	free(t->segment);
	free(t->section);
}

/* False if it is no 64-bit ELF file, little-endian as this machine. */
static bool load_tables(int fd, struct tables *t)
{
	memset(t, 0, sizeof(*t));
	t->fd = fd;
	if (!get(fd, &t->head, sizeof(t->head), 0) ||
	    memcmp(t->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    t->head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    t->head.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (t->head.e_phentsize == sizeof(*t->segment))
		t->segment = load(fd, t->head.e_phoff, t->head.e_phnum,
				  sizeof(*t->segment));
	if (t->head.e_shentsize == sizeof(*t->section))
		t->section = load(fd, t->head.e_shoff, t->head.e_shnum,
				  sizeof(*t->section));
	t->segments = t->segment ? t->head.e_phnum : 0;
	t->sections = t->section ? t->head.e_shnum : 0;
	return true;
}

/* A string table. Its bytes end with a NUL. */
struct strings {
	char *text;
	uint64_t size;
};

/* An empty table if there is no such section. */
static struct strings load_strings(const struct tables *t, unsigned section)
{
	struct strings s = { NULL, 0 };

	if (section < t->sections) {
		s.text = load_section(t, &t->section[section], 1);
		s.size = s.text ? t->section[section].sh_size : 0;
	}
	return s;
}

static const char *string_at(const struct strings *s, uint64_t at)
{
	return at < s->size ? s->text + at : "";
}

/* ---- the build ---- */

/* Find NT_GNU_BUILD_ID among the notes. */
static void read_notes(int fd, uint64_t at, uint64_t size,
		       struct elf_build *build)
{
	char notes[NOTES_MAX];
	size_t used = 0;

	if (size > sizeof(notes))
		size = sizeof(notes);
	if (build->size > 0 || !get(fd, notes, (size_t)size, at))
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
			build->size = note.n_descsz < ELF_BUILD_ID_MAX ?
				      note.n_descsz : ELF_BUILD_ID_MAX;
			memcpy(build->id, notes + used + name, build->size);
			return;
		}
		used += (size_t)(name + text);
	}
}

/* The section begins with a file name. */
static void read_link(const struct tables *t, const Elf64_Shdr *section,
		      struct elf_build *build)
{
	char *const text = load_section(t, section, 1);

	if (text && strnlen(text, section->sh_size) < section->sh_size)
		snprintf(build->link, sizeof(build->link), "%s", text);
	free(text);
}

int elf_build_read(int fd, struct elf_build *build)
{
	struct tables t;

	memset(build, 0, sizeof(*build));
	if (!load_tables(fd, &t))
		return -1;
	struct strings names = load_strings(&t, t.head.e_shstrndx);

	for (unsigned i = 0; i < t.segments; i++)
		if (t.segment[i].p_type == PT_NOTE)
			read_notes(fd, t.segment[i].p_offset,
				   t.segment[i].p_filesz, build);
	for (unsigned i = 0; i < t.sections; i++) {
		const Elf64_Shdr *const s = &t.section[i];

		if (s->sh_type == SHT_NOTE)
			read_notes(fd, s->sh_offset, s->sh_size, build);
		else if (strcmp(string_at(&names, s->sh_name),
				".gnu_debuglink") == 0)
			read_link(&t, s, build);
	}
	free(names.text);
	free_tables(&t);
	return 0;
}

/* ---- functions ---- */

struct function {
	uint64_t address;
	const char *name;
};

struct functions {
	struct function *function;
	size_t n, room;
	struct strings names[2];   /* of .dynsym and .symtab */
	unsigned tables;
};

static bool add_function(struct functions *f, uint64_t address,
			 const char *name)
{
	if (f->n == f->room) {
		const size_t room = f->room ? 2 * f->room : 1024;
		void *const grown = realloc(f->function,
					    room * sizeof(*f->function));

		if (!grown)
			return false;
		f->function = grown;
		f->room = room;
	}
	f->function[f->n++] = (struct function){ address, name };
	return true;
}

static bool add_functions(const struct tables *t, const Elf64_Shdr *section,
			  struct functions *f)
{
	const uint64_t n = section->sh_size / sizeof(Elf64_Sym);
	struct strings *const names = &f->names[f->tables++];
	Elf64_Sym *const s = load_section(t, section, sizeof(*s));
	bool done = true;

	*names = load_strings(t, section->sh_link);
	for (uint64_t i = 0; s && done && i < n; i++) {
		const unsigned type = ELF64_ST_TYPE(s[i].st_info);
		const char *const name = string_at(names, s[i].st_name);

		if ((type == STT_FUNC || type == STT_GNU_IFUNC) &&
		    s[i].st_shndx != SHN_UNDEF && name[0] != '\0')
			done = add_function(f, s[i].st_value, name);
	}
	free(s);
	return done;
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
	struct tables t;
	bool done;

	done = load_tables(fd, &t);
	for (unsigned i = 0; done && i < t.sections && f.tables < 2; i++)
		if (t.section[i].sh_type == SHT_DYNSYM ||
		    t.section[i].sh_type == SHT_SYMTAB)
			done = add_functions(&t, &t.section[i], &f);
	if (done && f.n > 0) {
		qsort(f.function, f.n, sizeof(*f.function), by_address);
		call_each(&f, fn, ctx);
	}
	free(f.names[0].text);
	free(f.names[1].text);
	free(f.function);
	free_tables(&t);
	return done ? 0 : -1;
}

bool elf_load_read(int fd, uint64_t offset, uint64_t *address, uint64_t *end)
{
	struct tables t;
	bool found = false;

	*end = 0;
	if (!load_tables(fd, &t))
		return false;
	for (unsigned i = 0; i < t.segments; i++) {
		const Elf64_Phdr *const p = &t.segment[i];
		/* The mapping begins on a page, before the segment does. */
		const uint64_t before = p->p_offset % PAGE;

		if (p->p_type != PT_LOAD || p->p_vaddr < before)
			continue;
		*end = p->p_vaddr + p->p_memsz;
		if (found || !(p->p_flags & PF_X) ||
		    offset < p->p_offset - before ||
		    offset - p->p_offset + before >= p->p_filesz + before)
			continue;
		*address = p->p_vaddr - p->p_offset + offset;
		found = true;
	}
	free_tables(&t);
	return found;
}

/* ---- programs and libraries ---- */

/* Of .dynsym and of .symtab, which a stripped file lacks. */
static void read_symbols(const struct tables *t, const Elf64_Shdr *section,
			 struct elf_file *file)
{
	const uint64_t n = section->sh_size / sizeof(Elf64_Sym);
	struct strings names = load_strings(t, section->sh_link);
	Elf64_Sym *const s = load_section(t, section, sizeof(*s));

	for (uint64_t i = 0; s && i < n; i++) {
		const char *const name = string_at(&names, s[i].st_name);

		if (strcmp(name, "__cyg_profile_func_enter") == 0) {
			if (s[i].st_shndx == SHN_UNDEF)
				file->wants_hooks = true;
			else
				file->has_hooks = true;
		} else if (strcmp(name, "lua_newstate") == 0 &&
			   s[i].st_shndx != SHN_UNDEF) {
			file->has_lua = true;
		}
	}
	free(s);
	free(names.text);
}

/* The libraries that it needs, and where it looks for them. */
static void read_dynamic(const struct tables *t, const Elf64_Shdr *section,
			 struct elf_file *file)
{
	const uint64_t n = section->sh_size / sizeof(Elf64_Dyn);
	struct strings names = load_strings(t, section->sh_link);
	Elf64_Dyn *const d = load_section(t, section, sizeof(*d));

	for (uint64_t i = 0; d && i < n && d[i].d_tag != DT_NULL; i++) {
		const char *const text = string_at(&names, d[i].d_un.d_val);

		if (d[i].d_tag == DT_NEEDED && file->needed_n < ELF_NEEDED_MAX)
			snprintf(file->needed[file->needed_n++], ELF_NAME_MAX,
				 "%s", text);
		else if (d[i].d_tag == DT_RUNPATH || d[i].d_tag == DT_RPATH)
			snprintf(file->run_path, sizeof(file->run_path), "%s",
				 text);
	}
	free(d);
	free(names.text);
}

/* The loader is named in PT_INTERP. Only a static program has none. */
static void read_interpreter(const struct tables *t, struct elf_file *file)
{
	file->is_static = true;
	for (unsigned i = 0; i < t->segments; i++) {
		const Elf64_Phdr *const p = &t->segment[i];
		const size_t most = sizeof(file->interpreter) - 1;

		if (p->p_type != PT_INTERP)
			continue;
		file->is_static = false;
		get(t->fd, file->interpreter, p->p_filesz < most ?
		    (size_t)p->p_filesz : most, p->p_offset);
	}
}

static void read_elf(int fd, struct elf_file *file)
{
	struct tables t;

	file->is_elf = true;
	if (!load_tables(fd, &t) || (OUR_MACHINE != EM_NONE &&
				     t.head.e_machine != OUR_MACHINE)) {
		file->is_foreign = true;
	} else {
		read_interpreter(&t, file);
		for (unsigned i = 0; i < t.sections; i++) {
			const Elf64_Shdr *const s = &t.section[i];

			if (s->sh_type == SHT_DYNSYM ||
			    s->sh_type == SHT_SYMTAB)
				read_symbols(&t, s, file);
			else if (s->sh_type == SHT_DYNAMIC)
				read_dynamic(&t, s, file);
		}
	}
	free_tables(&t);
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

static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

/* The first folder of a list with colons that has a fitting file of that name.
 * $ORIGIN is the folder of the file at origin. */
static bool find_in(const char *list, const char *name, const char *origin,
		    bool (*fits)(const char *path), char out[PATH_MAX])
{
	const char *const slash = origin ? strrchr(origin, '/') : NULL;
	const int origin_n = slash ? (int)(slash - origin) : 0;

	while (list && *list) {
		const int n = (int)strcspn(list, ":");
		const int skip = strncmp(list, "$ORIGIN", 7) == 0 ? 7 : 0;

		snprintf(out, PATH_MAX, "%.*s%.*s%s%s",
			 skip ? origin_n : 0, origin ? origin : "", n - skip,
			 list + skip, n > 0 ? "/" : "", name);
		if (fits(out))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

bool elf_file_find_program(const char *name, char out[PATH_MAX])
{
	const char *const path = getenv("PATH");

	if (!strchr(name, '/'))
		return find_in(path ? path : "/bin:/usr/bin", name, NULL,
			       is_program, out);
	snprintf(out, PATH_MAX, "%s", name);
	return access(name, F_OK) == 0;
}

bool elf_file_find_library(const char *path, const struct elf_file *file,
			   const char *name, char out[PATH_MAX])
{
	static const char usual[] =
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
		"/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
		"/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib";
	const char *const lists[] = { file->run_path,
				      getenv("LD_LIBRARY_PATH"), usual };

	if (strchr(name, '/')) {
		snprintf(out, PATH_MAX, "%s", name);
		return is_readable(out);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (find_in(lists[i], name, path, is_readable, out))
			return true;
	return false;
}
