/* image.c - reads the few facts of an ELF file that matter here, without a
 * library for it. Every offset is checked.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

struct file {
	const char *data;
	size_t size;
};

/* n items of that many bytes at offset, or NULL. */
static const void *part(const struct file *f, uint64_t at, uint64_t n,
			uint64_t each)
{
	if (at > f->size || (each > 0 && n > (f->size - at) / each))
		return NULL;
	return f->data + at;
}

/* A string of that table, or "". */
static const char *string(const struct file *f, const Elf64_Shdr *table,
			  uint64_t at)
{
	const char *const s = part(f, table->sh_offset, table->sh_size, 1);

	if (!s || at >= table->sh_size ||
	    !memchr(s + at, '\0', table->sh_size - at))
		return "";
	return s + at;
}

static void read_symbols(const struct file *f, const Elf64_Shdr *symbols,
			 const Elf64_Shdr *names, struct image *image)
{
	const uint64_t n = symbols->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *const s = part(f, symbols->sh_offset, n, sizeof(*s));

	for (uint64_t i = 0; s && i < n; i++) {
		const char *const name = string(f, names, s[i].st_name);

		if (strcmp(name, "__cyg_profile_func_enter") == 0) {
			if (s[i].st_shndx == SHN_UNDEF)
				image->wants_hooks = true;
			else
				image->has_hooks = true;
		} else if (strcmp(name, "lua_newstate") == 0 &&
			   s[i].st_shndx != SHN_UNDEF) {
			image->has_lua = true;
		}
	}
}

static void read_dynamic(const struct file *f, const Elf64_Shdr *dynamic,
			 const Elf64_Shdr *names, struct image *image)
{
	const uint64_t n = dynamic->sh_size / sizeof(Elf64_Dyn);
	const Elf64_Dyn *const d = part(f, dynamic->sh_offset, n, sizeof(*d));

	for (uint64_t i = 0; d && i < n && d[i].d_tag != DT_NULL; i++) {
		const char *const text = string(f, names, d[i].d_un.d_val);

		if (d[i].d_tag == DT_NEEDED &&
		    image->needed_n < IMAGE_MAX_NEEDED)
			snprintf(image->needed[image->needed_n++], IMAGE_NAME,
				 "%s", text);
		else if (d[i].d_tag == DT_RUNPATH || d[i].d_tag == DT_RPATH)
			snprintf(image->run_path, sizeof(image->run_path),
				 "%s", text);
	}
}

static void read_sections(const struct file *f, const Elf64_Ehdr *e,
			  struct image *image)
{
	const Elf64_Shdr *const s = part(f, e->e_shoff, e->e_shnum, sizeof(*s));

	if (!s || e->e_shentsize != sizeof(*s))
		return;
	for (unsigned i = 0; i < e->e_shnum; i++) {
		if (s[i].sh_link >= e->e_shnum)
			continue;
		if (s[i].sh_type == SHT_DYNSYM || s[i].sh_type == SHT_SYMTAB)
			read_symbols(f, &s[i], &s[s[i].sh_link], image);
		else if (s[i].sh_type == SHT_DYNAMIC)
			read_dynamic(f, &s[i], &s[s[i].sh_link], image);
	}
}

static void read_elf(const struct file *f, struct image *image)
{
	const Elf64_Ehdr *const e = part(f, 0, 1, sizeof(*e));

	image->is_elf = true;
	if (!e || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    (OUR_MACHINE != EM_NONE && e->e_machine != OUR_MACHINE)) {
		image->is_foreign = true;
		return;
	}
	const Elf64_Phdr *const p = part(f, e->e_phoff, e->e_phnum, sizeof(*p));

	image->is_static = true;
	for (unsigned i = 0; p && i < e->e_phnum; i++) {
		const char *text;

		if (p[i].p_type != PT_INTERP)
			continue;
		image->is_static = false;
		text = part(f, p[i].p_offset, p[i].p_filesz, 1);
		if (text)
			snprintf(image->interpreter,
				 sizeof(image->interpreter), "%.*s",
				 p[i].p_filesz > 255 ? 255 :
				 (int)p[i].p_filesz, text);
	}
	read_sections(f, e, image);
}

static void read_script(const struct file *f, struct image *image)
{
	size_t from = 2, n = 0;

	image->is_script = true;
	while (from < f->size && (f->data[from] == ' ' ||
				  f->data[from] == '\t'))
		from++;
	while (from + n < f->size && n < sizeof(image->interpreter) - 1 &&
	       !strchr(" \t\n", f->data[from + n]))
		n++;
	memcpy(image->interpreter, f->data + from, n);
}

/* Would the kernel start it in the loader's secure mode? */
static bool is_privileged(const char *path, const struct stat *st)
{
	char capability[64];

	return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
	       ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
		st->st_gid != getegid()) ||
	       (geteuid() != 0 && getxattr(path, "security.capability",
					   capability, sizeof(capability)) > 0);
}

/* Its whole file; false: none that can be mapped. */
static bool map(const char *path, struct file *f, struct stat *st)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	f->data = MAP_FAILED;
	if (fd < 0)
		return false;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size >= 4) {
		f->size = (size_t)st->st_size;
		f->data = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return f->data != MAP_FAILED;
}

static void unmap(const struct file *f)
{
	munmap((void *)(uintptr_t)f->data, f->size);
}

int image_read(const char *path, struct image *image)
{
	struct stat st;
	struct file f;

	memset(image, 0, sizeof(*image));
	if (!map(path, &f, &st))
		return -1;
	image->is_privileged = is_privileged(path, &st);
	if (memcmp(f.data, ELFMAG, SELFMAG) == 0)
		read_elf(&f, image);
	else if (f.data[0] == '#' && f.data[1] == '!')
		read_script(&f, image);
	unmap(&f);
	return image->is_elf || image->is_script ? 0 : -1;
}

bool image_has_text(const char *path, const char *text)
{
	struct stat st;
	struct file f;

	if (!map(path, &f, &st))
		return false;
	const bool found = memmem(f.data, f.size, text, strlen(text)) != NULL;

	unmap(&f);
	return found;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* The first folder of a colon list that holds the file. $ORIGIN: the folder
 * of the file at origin. */
static bool search(const char *list, const char *name, const char *origin,
		   bool (*fits)(const char *path), char out[PATH_MAX])
{
	const char *const slash = origin ? strrchr(origin, '/') : NULL;
	const int origin_n = slash ? (int)(slash - origin) : 0;

	while (list && *list) {
		const int n = (int)strcspn(list, ":");
		const int skip = strncmp(list, "$ORIGIN", 7) == 0 && n >= 7 ?
				 7 : 0;

		snprintf(out, PATH_MAX, "%.*s%.*s%s%s",
			 skip ? origin_n : 0, origin ? origin : "", n - skip,
			 list + skip, n > 0 ? "/" : "", name);
		if (fits(out))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

bool image_search(const char *name, char out[PATH_MAX])
{
	const char *const path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(out, PATH_MAX, "%s", name);
		return access(name, F_OK) == 0;
	}
	return search(path ? path : "/bin:/usr/bin", name, NULL, is_program,
		      out);
}

static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

bool image_library(const char *path, const struct image *image,
		   const char *name, char out[PATH_MAX])
{
	static const char usual[] =
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
		"/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
		"/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib";

	if (strchr(name, '/')) {
		snprintf(out, PATH_MAX, "%s", name);
		return is_readable(out);
	}
	return search(image->run_path, name, path, is_readable, out) ||
	       search(getenv("LD_LIBRARY_PATH"), name, path, is_readable,
		      out) ||
	       search(usual, name, path, is_readable, out);
}
