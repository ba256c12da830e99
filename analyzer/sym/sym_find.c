/* sym_find.c - finds the ELF file of a module by its build-id. Tries one place
 * after another, debuginfod's servers last, and takes the first file that can
 * name the most. Paths and build-ids come from an untrusted trace. What is in a
 * file is sym_elf's to know.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_find.h"

#include "analyzer/base/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- debuginfod's servers ---- */

/* The library is loaded when it is needed, so that weft works without it. */
typedef int find_fn(void *client, const unsigned char *id, int size,
		    char **path);
typedef int progress_fn(void *client, long a, long b);

/* The functions of libdebuginfod that are used. */
struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	find_fn *find;
	void (*set_progress)(void *client, progress_fn *);
};

static int64_t deadline; /* child_now */

/* Called from time to time while the library waits; non-zero ends the wait. */
static int watch(void *client, long a, long b)
{
	(void)client, (void)a, (void)b;
	return child_now() >= deadline;
}

/* Load the library; -1 if it is not installed. */
static int load(struct library *l, enum sym_want want)
{
	void *const library = dlopen("libdebuginfod.so.1",
				     RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	*(void **)&l->begin = dlsym(library, "debuginfod_begin");
	*(void **)&l->end = dlsym(library, "debuginfod_end");
	*(void **)&l->find = dlsym(library, want == SYM_CODE ?
				   "debuginfod_find_executable" :
				   "debuginfod_find_debuginfo");
	*(void **)&l->set_progress = dlsym(library,
					   "debuginfod_set_progressfn");
	return !l->begin || !l->end || !l->find ||
	       !l->set_progress ? -1 : 0;
}

/* Set the library's own limits, too, for waits in which it does not call us. */
static void set_limits(const char *urls, unsigned seconds)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", seconds);
	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_MAXTIME", text, 1);
	setenv("DEBUGINFOD_TIMEOUT", text, 1);
	/* elfutils 0.192 tries again, and does not ask watch, when no server
	 * has answered for that long. */
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 1);
	unsetenv("DEBUGINFOD_PROGRESS");
	deadline = child_now() + (int64_t)seconds * 1000;
}

/* Ask for the module's file; NULL with a reason if there is none. Otherwise the
 * path is freed with free. */
static char *ask(const struct library *l, const struct elf_module *module,
		 const char **why)
{
	char *path = NULL;
	void *const client = l->begin();
	int fd;

	*why = "no server has its file";
	if (!client)
		return NULL;
	l->set_progress(client, watch);
	fd = l->find(client, module->build_id, module->build_id_size, &path);
	if (fd >= 0)
		close(fd);
	else if (child_now() + 1000 >= deadline)
		*why = "the server did not answer in time";
	l->end(client);
	return fd >= 0 ? path : NULL;
}

/* Ask debuginfod's servers (urls NULL: those of DEBUGINFOD_URLS) for at most
 * that many seconds; *seconds becomes what it took. Returns the path of a file
 * in the client's cache, to be freed with free, or NULL with a reason in *why,
 * "" if there is no server to ask. */
static char *ask_servers(const struct elf_module *module, enum sym_want want,
			 const char *urls, unsigned *seconds,
			 const char **why)
{
	const char *const known = urls ? urls : getenv("DEBUGINFOD_URLS");
	const int64_t began = child_now();
	const unsigned limit = *seconds;
	struct library l;
	char *path;

	*why = "";
	*seconds = 0;
	if (!known || known[0] == '\0' || module->build_id_size == 0 ||
	    limit == 0)
		return NULL;
	*why = "libdebuginfod is not installed";
	if (load(&l, want) != 0)
		return NULL;
	set_limits(urls, limit);
	path = ask(&l, module, why);
	*seconds = (unsigned)((child_now() - began) / 1000);
	return path;
}

/* ---- places ---- */

enum { FOLDER_MAX = 4096 }; /* files of a debug folder that are looked at */

static const char *const system_debug = "/usr/lib/debug";

/* The state of one search; best is the caller's sym_found. */
struct search {
	const struct elf_module *module;
	const struct sym_wish *wish;
	char id[2 * sizeof(((struct elf_module *)0)->build_id) + 1];
	struct sym_found *best;
	char link[NAME_MAX + 1]; /* .gnu_debuglink of the module's own file */
	uint32_t crc;            /* the checksum there */
	bool is_linked;          /* files tried now must have that checksum */
	bool is_stranger;        /* files tried now may be any program's */
};

/* Remember the .gnu_debuglink of the module's own file. Only a name without
 * folders is valid there. */
static void note_link(struct search *s, Elf *elf)
{
	GElf_Word crc;
	const char *const link = dwelf_elf_gnu_debuglink(elf, &crc);

	if (link && s->link[0] == '\0' && !strchr(link, '/') &&
	    strlen(link) <= NAME_MAX) {
		strcpy(s->link, link);
		s->crc = crc;
	}
}

/* Is the file the module? A debug file without a build-id that is named by a
 * .gnu_debuglink is recognized by its checksum alone. */
static bool is_it(const struct search *s, Elf *elf, int fd, char *why)
{
	const void *id;

	if (s->is_linked && sym_elf_crc(fd) != s->crc) {
		snprintf(why, SYM_WHY, "its checksum is not that of "
			 ".gnu_debuglink");
		return false;
	}
	if (s->is_linked && dwelf_elf_gnu_build_id(elf, &id) <= 0)
		return true;
	return sym_elf_is_module(s->module, elf, why, SYM_WHY);
}

/* Note that a file is another build, unless a better file was found. Only the
 * first one is noted. Long paths lose their beginning. */
static void refuse(const struct search *s, const char *path, const char *why)
{
	const size_t length = strlen(path);

	if (s->best->fd >= 0 || s->is_stranger || s->best->is_refused)
		return;
	s->best->is_refused = true;
	snprintf(s->best->why, SYM_WHY, "%s%s was replaced: %.150s",
		 length > 60 ? "..." : "", length > 60 ? path + length - 60 :
		 path, why);
}

/* Take the file at path if it is the module and can tell more than the file
 * that was found before. Does nothing once nothing more can be told, so callers
 * need not check that. */
static void try(struct search *s, const char *path)
{
	struct stat status;
	const int fd = s->best->worth == WORTH_ALL ? -1 :
		       text_file_open(path, &status);
	enum sym_worth worth = WORTH_NOTHING;
	char why[SYM_WHY];
	Elf *elf;

	if (fd < 0)
		return;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		if (is_it(s, elf, fd, why)) {
			worth = sym_elf_worth(elf, s->wish->want);
			note_link(s, elf);
		} else {
			refuse(s, path, why);
		}
	}
	elf_end(elf);
	if (worth <= s->best->worth) {
		close(fd);
		return;
	}
	if (s->best->fd >= 0)
		close(s->best->fd);
	s->best->worth = worth;
	s->best->fd = fd;
	snprintf(s->best->path, sizeof(s->best->path), "%s", path);
}

/* The same with printf. A path that is too long is left out. */
__attribute__((format(printf, 2, 3)))
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

/* A recorded path that could lead out of a debug folder is not used. */
static bool is_tame(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") &&
	       path[strlen(path) - 1] != '/' &&
	       strcmp(text_base_name(path), "..") != 0;
}

/* Try all files of the folder, whatever their names. Without a build-id nothing
 * could tell them apart. */
static void try_all(struct search *s, const char *folder)
{
	DIR *const dir = opendir(folder);
	const struct dirent *entry;

	if (!dir || s->module->build_id_size == 0)
		goto out;
	/* Files of other programs are not refused as other builds. */
	s->is_stranger = true;
	for (int i = 0; i < FOLDER_MAX && s->best->worth < WORTH_ALL; i++) {
		entry = readdir(dir);
		if (!entry)
			break;
		if (entry->d_type != DT_DIR)
			tryf(s, "%s/%s", folder, entry->d_name);
	}
	s->is_stranger = false;
out:
	if (dir)
		closedir(dir);
}

/* Distributions lay out debug files like this; an archive and some servers keep
 * the program itself beside its debug file. */
static void try_id(struct search *s, const char *folder)
{
	if (s->module->build_id_size < 2)
		return;
	tryf(s, "%s/.build-id/%.2s/%s.debug", folder, s->id, s->id + 2);
	tryf(s, "%s/.build-id/%.2s/%s", folder, s->id, s->id + 2);
}

/* Try the recorded path below a folder. */
static void try_path(struct search *s, const char *folder)
{
	const char *const path = s->module->path;

	if (!is_tame(path))
		return;
	tryf(s, "%s%s.debug", folder, path);
	tryf(s, "%s%s", folder, path);
}

/* Try all ways in which a debug folder may hold the file. The user may also
 * name a file instead of a folder. */
static void try_folder(struct search *s, const char *folder)
{
	const char *const name = text_base_name(s->module->path);

	try_id(s, folder);
	if (is_tame(s->module->path)) {
		tryf(s, "%s/%s.debug", folder, name);
		tryf(s, "%s/%s", folder, name);
	}
	try_path(s, folder);
	try(s, folder);
	if (s->best->worth < WORTH_ALL)
		try_all(s, folder);
}

static void try_folders(struct search *s, const char *folders)
{
	while (folders && *folders != '\0') {
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

/* Try the places where gdb looks for the file named by .gnu_debuglink. */
static void try_link(struct search *s)
{
	const char *const path = s->module->path;
	const int folder = (int)(text_base_name(path) - path);
	const char *const archive = s->wish->options->archive;

	if (s->link[0] == '\0' || !is_tame(path))
		return;
	s->is_linked = true;
	tryf(s, "%.*s%s", folder, path, s->link);
	tryf(s, "%.*s.debug/%s", folder, path, s->link);
	tryf(s, "%s%.*s%s", system_debug, folder, path, s->link);
	if (archive)
		tryf(s, "%s/files%.*s%s", archive, folder, path, s->link);
	s->is_linked = false;
}

/* Last, because it takes the longest. */
static void try_servers(struct search *s)
{
	unsigned seconds = s->wish->server_seconds;
	const char *why;
	char *const path = ask_servers(s->module, s->wish->want,
				       s->wish->options->servers, &seconds,
				       &why);

	s->best->server_seconds = seconds;
	if (path)
		try(s, path);
	else if (why[0] != '\0' && s->best->why[0] == '\0')
		snprintf(s->best->why, SYM_WHY, "its file is not there: %s",
			 why);
	free(path);
}

/* Say what the file that was found lacks. A reason that was noted on the way is
 * kept only if nothing was found. */
static void say(const struct search *s)
{
	struct sym_found *const found = s->best;
	const char *text = NULL;

	if (found->worth != WORTH_NOTHING)
		found->is_refused = false;
	if (found->worth == WORTH_NOTHING && found->why[0] == '\0')
		text = "its file is not there";
	else if (found->worth == WORTH_EXPORTS)
		text = "stripped, and its debug file was not found";
	else if (found->worth == WORTH_NAMES)
		text = "built without -g: no files and lines";
	else if (found->worth != WORTH_NOTHING)
		text = s->module->build_id_size == 0 ?
		       "has no build-id: may be another build" : "";
	if (text)
		snprintf(found->why, SYM_WHY, "%s", text);
}

void sym_find_file(const struct elf_module *module, const struct sym_wish *wish,
		   struct sym_found *found)
{
	struct search s = { .module = module, .wish = wish, .best = found };
	const char *const archive = wish->options->archive;

	elf_version(EV_CURRENT);
	memset(found, 0, sizeof(*found));
	found->fd = -1;
	text_hex(module->build_id, module->build_id_size, s.id);
	if (module->path[0] == '/')
		try(&s, module->path);
	try_folders(&s, wish->options->debug_dirs);
	if (archive) {
		try_id(&s, archive);
		tryf(&s, "%s/files%s", archive, is_tame(module->path) ?
		     module->path : "/");
	}
	if (found->worth < WORTH_ALL) {
		try_id(&s, system_debug);
		try_link(&s);
	}
	if (found->worth < WORTH_ALL)
		try_servers(&s);
	say(&s);
}
