/* sym_find.c - where the ELF file of a module is, told by its build-id. Tries
 * one place after another and takes the first file that can name the most.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_find.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file can tell: exported names, all names, files and lines too. */
enum worth { WORTH_NOTHING, WORTH_EXPORTS, WORTH_NAMES, WORTH_LINES };

enum { FOLDER_MAX = 4096 }; /* files of a debug folder that are looked at */

static const char *const system_debug = "/usr/lib/debug";

struct search {
	const struct elf_module *module;
	char id[2 * sizeof(((struct elf_module *)0)->build_id) + 1];
	struct sym_found *best;
	enum worth worth;
	char link[NAME_MAX + 1]; /* .gnu_debuglink of the module's own file */
};

static void hex(const uint8_t *bytes, size_t size, char *to)
{
	*to = '\0';
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, "%02x", bytes[i]);
}

static enum worth worth_of(Elf *elf)
{
	enum worth worth = WORTH_EXPORTS;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return WORTH_EXPORTS;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name;

		if (gelf_getshdr(section, &header) == NULL ||
		    header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name != NULL && (strcmp(name, ".debug_info") == 0 ||
				     strcmp(name, ".zdebug_info") == 0))
			return WORTH_LINES;
		if (header.sh_type == SHT_SYMTAB)
			worth = WORTH_NAMES;
	}
	return worth;
}

/* Is elf the module? If not, say why not. */
static int is_same(const struct search *s, Elf *elf, const char *path)
{
	char other[2 * 64 + 1];
	const void *id;
	const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);

	if (s->module->build_id_size == 0)
		return 1;
	if (size == s->module->build_id_size &&
	    memcmp(id, s->module->build_id, (size_t)size) == 0)
		return 1;
	hex(id, size < 0 ? 0 : size > 64 ? 64 : (size_t)size, other);
	if (s->best->fd < 0)
		snprintf(s->best->why, SYM_WHY, "%.60s%s is another build "
			 "(build-id %.16s, recorded %.16s)",
			 strlen(path) > 60 ? "..." : "",
			 strlen(path) > 60 ? path + strlen(path) - 60 : path,
			 size > 0 ? other : "none", s->id);
	return 0;
}

static void note_link(struct search *s, Elf *elf)
{
	GElf_Word sum;
	const char *const link = dwelf_elf_gnu_debuglink(elf, &sum);

	if (link != NULL && s->link[0] == '\0' && strchr(link, '/') == NULL &&
	    strlen(link) <= NAME_MAX)
		strcpy(s->link, link);
}

/* An untrusted trace names the path: only a plain file is opened. */
static int open_plain(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Take the file at path if it is the module and tells more than what was found
 * before. */
static void try(struct search *s, const char *path)
{
	const int fd = s->worth == WORTH_LINES ? -1 : open_plain(path);
	enum worth worth = WORTH_NOTHING;
	Elf *elf;

	if (fd < 0)
		return;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf != NULL && elf_kind(elf) == ELF_K_ELF &&
	    is_same(s, elf, path)) {
		worth = worth_of(elf);
		note_link(s, elf);
	}
	elf_end(elf);
	if (worth <= s->worth) {
		close(fd);
		return;
	}
	if (s->best->fd >= 0)
		close(s->best->fd);
	s->worth = worth;
	s->best->fd = fd;
	snprintf(s->best->path, sizeof(s->best->path), "%s", path);
}

static void tryf(struct search *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tryf(struct search *s, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (length > 0 && (size_t)length < sizeof(path))
		try(s, path);
}

static const char *base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* A recorded path that could lead out of a debug folder is not followed. */
static int is_tame(const char *path)
{
	return path[0] == '/' && strstr(path, "/../") == NULL &&
	       base_name(path)[0] != '\0' &&
	       strcmp(base_name(path), "..") != 0;
}

/* Any file of the folder, whatever its name. */
static void try_all(struct search *s, const char *folder)
{
	DIR *const dir = opendir(folder);
	const struct dirent *entry;

	if (dir == NULL || s->module->build_id_size == 0)
		goto out;
	for (int i = 0; i < FOLDER_MAX && s->worth < WORTH_LINES; i++) {
		char why[SYM_WHY];

		entry = readdir(dir);
		if (entry == NULL)
			break;
		/* Other programs' files are no other builds of this one. */
		memcpy(why, s->best->why, SYM_WHY);
		if (entry->d_type != DT_DIR)
			tryf(s, "%s/%s", folder, entry->d_name);
		memcpy(s->best->why, why, SYM_WHY);
	}
out:
	if (dir != NULL)
		closedir(dir);
}

static void try_id(struct search *s, const char *folder)
{
	if (s->module->build_id_size > 1)
		tryf(s, "%s/.build-id/%.2s/%s.debug", folder, s->id, s->id + 2);
}

static void try_folder(struct search *s, const char *folder)
{
	const char *const path = s->module->path;

	try_id(s, folder);
	if (is_tame(path)) {
		tryf(s, "%s/%s.debug", folder, base_name(path));
		tryf(s, "%s/%s", folder, base_name(path));
		tryf(s, "%s%s.debug", folder, path);
		tryf(s, "%s%s", folder, path);
	}
	try(s, folder);
	if (s->worth < WORTH_LINES)
		try_all(s, folder);
}

static void try_folders(struct search *s, const char *folders)
{
	while (folders != NULL && *folders != '\0') {
		const size_t length = strcspn(folders, ":");
		char folder[PATH_MAX];

		if (length > 0 && length < sizeof(folder)) {
			memcpy(folder, folders, length);
			folder[length] = '\0';
			try_folder(s, folder);
		}
		folders += length + (folders[length] == ':');
	}
}

/* Where the module's own file says its debug file is. */
static void try_link(struct search *s)
{
	const char *const path = s->module->path;
	const int folder = (int)(base_name(path) - path);

	if (s->link[0] == '\0' || s->module->build_id_size == 0)
		return;
	tryf(s, "%.*s%s", folder, path, s->link);
	tryf(s, "%.*s.debug/%s", folder, path, s->link);
	tryf(s, "%s%.*s%s", system_debug, folder, path, s->link);
}

/* Ask the servers of DEBUGINFOD_URLS, if the library for that is installed. */
static void try_servers(struct search *s)
{
	const char *const urls = getenv("DEBUGINFOD_URLS");
	void *library, *client, *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	char *path = NULL;
	int fd;

	if (urls == NULL || urls[0] == '\0' || s->module->build_id_size == 0)
		return;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return;
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	client = begin == NULL || find == NULL ? NULL : begin();
	if (client == NULL)
		return;
	fd = find(client, s->module->build_id, s->module->build_id_size, &path);
	if (fd >= 0) {
		try(s, path);
		close(fd);
	}
	free(path);
}

static void say(const struct search *s)
{
	struct sym_found *const found = s->best;
	const char *text = NULL;

	if (s->worth == WORTH_NOTHING && found->why[0] == '\0')
		text = "its file is not there";
	else if (s->worth == WORTH_EXPORTS)
		text = "stripped, and its debug file was not found";
	else if (s->worth == WORTH_NAMES)
		text = "built without -g: no files and lines";
	else if (s->worth != WORTH_NOTHING)
		text = s->module->build_id_size == 0 ?
		       "has no build-id: may be another build" : "";
	if (text != NULL)
		snprintf(found->why, SYM_WHY, "%s", text);
}

void sym_find_file(const struct elf_module *module, const char *debug_dirs,
		   struct sym_found *found)
{
	struct search s = { .module = module, .best = found };

	elf_version(EV_CURRENT);
	found->fd = -1;
	found->path[0] = found->why[0] = '\0';
	hex(module->build_id, module->build_id_size, s.id);
	if (module->path[0] == '/')
		try(&s, module->path);
	try_folders(&s, debug_dirs);
	if (s.worth < WORTH_LINES) {
		try_id(&s, system_debug);
		try_link(&s);
	}
	if (s.worth < WORTH_LINES)
		try_servers(&s);
	say(&s);
}
