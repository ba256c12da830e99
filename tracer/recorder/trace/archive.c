/* archive.c - notes the files that chunks name, opens them, and copies them. No
 * name is trusted.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/archive.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/grow.h"
#include "tracer/recorder/base/message.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	FILES_MAX = 8192,
	OPENED_MAX = 512,          /* descriptors for this purpose */
	ID_TEXT = 2 * ELF_BUILD_ID_MAX + 1,
};

static const uint64_t bytes_max = UINT64_C(2) << 30;

/* path is as the program knows it; "": it is not known whole. */
struct archive_file {
	char path[CHUNK_STRING_MAX + 1];
	bool is_lua;
	uint8_t id[ELF_BUILD_ID_MAX];
	unsigned id_size;
	uint32_t pid;
	int fd;                    /* negative: not kept open */
	const char *why;           /* why it is missing, or NULL */
};

int archive_init(struct archive *a, int folder)
{
	memset(a, 0, sizeof(*a));
	a->folder = a->list = -1;
	a->limit = bytes_max;
	name_set_init(&a->seen, FILES_MAX);
	if (mkdirat(folder, "archive", 0700) == 0)
		a->folder = openat(folder, "archive", O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	if (a->folder >= 0)
		a->list = openat(a->folder, "contents", O_WRONLY | O_CREAT |
				 O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (a->list >= 0)
		return 0;
	message("cannot make the folder \"archive\" in the trace: %s",
		strerror(errno));
	return -1;
}

/* ---- opening files ---- */

/* Negative if the file is no ELF file, or another build than f is. */
static int open_build(const struct archive_file *f, const char *path)
{
	const int fd = chunk_names_open(path);
	struct elf_build build;

	if (fd < 0)
		return -1;
	if (elf_build_read(fd, &build) == 0 && (f->id_size == 0 ||
	    (build.size == f->id_size &&
	     memcmp(build.id, f->id, build.size) == 0)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* Open the file wherever it is. A program may run a file that is gone.
 * Negative: f->why is set, to what this process sees. */
static int open_file(struct archive_file *f)
{
	char path[CHUNK_STRING_MAX + 64];
	int fd = -1, error = 0;

	f->why = "its path is too long to be known";
	if (f->path[0] == '\0')
		return -1;
	for (int i = 0; i < CHUNK_NAMES_PATHS && fd < 0; i++) {
		chunk_names_path(f->pid, f->path, i, path, sizeof(path));
		fd = f->is_lua ? chunk_names_open(path) : open_build(f, path);
		error = errno;
	}
	if (fd < 0 && !f->is_lua && f->id_size > 0) {
		snprintf(path, sizeof(path), "/proc/%u/exe", f->pid);
		fd = open_build(f, path);
	}
	f->why = fd >= 0 ? NULL : error == ESTALE ?
		 "another build is in its place" : strerror(error);
	return fd;
}

/* ---- what chunks name ---- */

/* List the file, and open it while descriptors are left for that. */
static void add_file(struct archive *a, const struct archive_file *f)
{
	struct archive_file *kept;

	if (!grow(&a->file, &a->room, a->files + (size_t)1,
		  sizeof(*a->file))) {
		a->unlisted++;
		return;
	}
	kept = &a->file[a->files++];
	*kept = *f;
	kept->fd = a->opened < OPENED_MAX ? open_file(kept) : -1;
	a->opened += kept->fd >= 0;
	assert(a->files <= FILES_MAX);
}

static void note_module(struct archive *a, const struct chunk_header *h,
			const uint64_t *item, const struct module_item *m)
{
	struct archive_file f = { .pid = h->pid, .fd = -1,
				  .id_size = m->id_size };
	uint64_t hash;

	strcpy(f.path, m->path);
	memcpy(f.id, m->id, m->id_size);
	hash = name_set_mix(name_set_mix(name_set_mix(1, item[4]), item[5]),
			    item[6]);
	/* Modules without a build-id differ by path and size. */
	if (f.id_size == 0)
		hash = name_set_mix(name_set_mix(hash, item[8]), item[3]);
	if (name_set_add(&a->seen, hash))
		add_file(a, &f);
}

static void note_lua(struct archive *a, const struct chunk_header *h,
		     const struct lua_item *l)
{
	struct archive_file f = { .pid = h->pid, .fd = -1, .is_lua = true };

	if (l->file[0] != '@' ||
	    !name_set_add(&a->seen, name_set_mix(2, l->source)))
		return;
	strcpy(f.path, l->file + 1);
	add_file(a, &f);
}

void archive_note(struct archive *a, const struct chunk_items *items)
{
	struct module_item m;
	struct lua_item f;

	for (uint32_t i = 0; i < items->n; i++)
		if (chunk_names_module(&items->item[i], &m))
			note_module(a, items->h, items->item[i].at, &m);
		else if (chunk_names_lua(&items->item[i], &f))
			note_lua(a, items->h, &f);
}

/* ---- copying a file ---- */

/* Whether the path cannot lead out of the folder. */
static bool is_inside(const char *path)
{
	return path[0] != '/' && path[0] != '\0' &&
	       strncmp(path, "../", 3) != 0 && !strstr(path, "/../") &&
	       !strstr(path, "//") && path[strlen(path) - 1] != '/';
}

/* Make and open the folder that the path's last name is in, following no link.
 * *name is that name. Splits path. */
static int open_folder(int folder, char *path, char **name)
{
	int at = dup(folder);

	for (*name = path; at >= 0; ) {
		char *const slash = strchr(*name, '/');
		int next;

		if (!slash)
			break;
		*slash = '\0';
		if (mkdirat(at, *name, 0700) != 0 && errno != EEXIST)
			next = -1;
		else
			next = openat(at, *name, O_RDONLY | O_DIRECTORY |
				      O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		*name = slash + 1;
	}
	return at;
}

/* Half of what is free stays free. */
static bool has_room(int folder, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(folder, &fs) != 0 || fs.f_frsize == 0 ||
	       bytes / fs.f_frsize < fs.f_bavail / 2;
}

static int copy_bytes(int from, int to, uint64_t size)
{
	off_t at = 0;

	while ((uint64_t)at < size)
		if (sendfile(to, from, &at, size - (uint64_t)at) <= 0)
			return -1;
	return 0;
}

/* Copy under that name. A file that is there already came from another process
 * that runs the same build: it counts as copied, with 0 bytes. */
static int64_t copy_to(int folder, const char *name, int from, uint64_t size,
		       const char **why)
{
	const int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL |
			      O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to < 0 && errno == EEXIST)
		return 0;
	*why = strerror(errno);
	if (to < 0)
		return -1;
	errno = 0;
	if (copy_bytes(from, to, size) == 0 && close(to) == 0)
		return (int64_t)size;
	*why = errno != 0 ? strerror(errno) : "it was changed meanwhile";
	close(to);
	unlinkat(folder, name, 0);
	return -1;
}

int64_t archive_copy_file(int folder, const char *path, int from,
			  uint64_t limit, const char **why)
{
	char copy[PATH_MAX], *name;
	struct stat st;
	int64_t bytes = -1;
	int at;

	*why = "its name is not allowed";
	if (!is_inside(path) || strlen(path) >= sizeof(copy))
		return -1;
	strcpy(copy, path);
	*why = "it is no regular file";
	if (fstat(from, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	*why = "the archive would become too large";
	if ((uint64_t)st.st_size > limit ||
	    !has_room(folder, (uint64_t)st.st_size))
		return -1;
	*why = "its folder cannot be made";
	at = open_folder(folder, copy, &name);
	if (at < 0)
		return -1;
	bytes = copy_to(at, name, from, (uint64_t)st.st_size, why);
	close(at);
	return bytes;
}

/* ---- packing ---- */

/* A line of "contents". */
static void list_file(struct archive *a, const struct archive_file *f,
		      const char *to, const char *why)
{
	char name[CHUNK_STRING_MAX + 1];

	snprintf(name, sizeof(name), "%s", f->path[0] ? f->path : "?");
	message_clean(name);
	dprintf(a->list, "%s %s%s%s\n", why ? "missing" : "file", name,
		why ? ": " : " -> ", why ? why : to);
}

static void id_text(const struct archive_file *f, char out[ID_TEXT])
{
	for (unsigned i = 0; i < f->id_size; i++)
		snprintf(out + 2 * i, 3, "%02x", f->id[i]);
}

/* Copy, count and list. */
static bool copy_in(struct archive *a, const struct archive_file *f, int fd,
		    const char *to)
{
	const char *why = NULL;
	const int64_t bytes = archive_copy_file(a->folder, to, fd,
						a->limit - a->bytes, &why);

	list_file(a, f, to, bytes < 0 ? why : NULL);
	if (bytes < 0)
		return false;
	a->bytes += (uint64_t)bytes;
	a->copied++;
	assert(a->bytes <= a->limit);
	return true;
}

/* The separate debug file of the same build, in any of the usual places. */
static void put_debug(struct archive *a, const struct archive_file *f,
		      const char *link)
{
	static const char debug[] = "/usr/lib/debug";
	const char *const slash = strrchr(f->path, '/');
	const int folder = slash ? (int)(slash - f->path) + 1 : 0;
	char path[4][2 * CHUNK_STRING_MAX + 64], to[ID_TEXT + 32], id[ID_TEXT];

	memset(path, 0, sizeof(path));
	id_text(f, id);
	snprintf(path[0], sizeof(path[0]), "%s/.build-id/%.2s/%s.debug", debug,
		 id, id + 2);
	if (link[0] != '\0' && !strchr(link, '/')) {
		snprintf(path[1], sizeof(path[1]), "%.*s%s", folder, f->path,
			 link);
		snprintf(path[2], sizeof(path[2]), "%.*s.debug/%s", folder,
			 f->path, link);
		snprintf(path[3], sizeof(path[3]), "%s%.*s%s", debug, folder,
			 f->path, link);
	}
	snprintf(to, sizeof(to), ".build-id/%.2s/%s.debug", id, id + 2);
	for (int i = 0; i < 4; i++) {
		const int fd = path[i][0] ? open_build(f, path[i]) : -1;

		if (fd < 0)
			continue;
		copy_in(a, f, fd, to);
		close(fd);
		return;
	}
}

/* By build-id, as debuggers look for it. Without one, under its whole path. */
static bool copy_module(struct archive *a, const struct archive_file *f, int fd)
{
	char to[CHUNK_STRING_MAX + 64], id[ID_TEXT];
	struct elf_build build;

	if (f->id_size < 2) {
		snprintf(to, sizeof(to), "files%s", f->path);
		return copy_in(a, f, fd, to);
	}
	id_text(f, id);
	snprintf(to, sizeof(to), ".build-id/%.2s/%s", id, id + 2);
	if (!copy_in(a, f, fd, to))
		return false;
	if (elf_build_read(fd, &build) == 0)
		put_debug(a, f, build.link);
	return true;
}

/* Under its whole path, whatever the program's working folder was. */
static bool copy_lua(struct archive *a, const struct archive_file *f, int fd)
{
	char link[32], path[PATH_MAX], to[PATH_MAX + 8];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	snprintf(to, sizeof(to), "lua%s", path);
	return copy_in(a, f, fd, to);
}

void archive_pack(struct archive *a)
{
	for (uint32_t i = 0; i < a->files; i++) {
		struct archive_file *const f = &a->file[i];

		if (f->fd < 0 && (!f->why || f->is_lua))
			f->fd = open_file(f);
		if (f->fd < 0) {
			list_file(a, f, "", f->why);
			a->missing++;
		} else if (!(f->is_lua ? copy_lua : copy_module)(a, f, f->fd)) {
			f->why = "it could not be copied";
			a->missing++;
		}
		if (f->fd >= 0)
			close(f->fd);
	}
	close(a->list);
	a->unlisted += a->seen.refused;
}

const char *archive_missing(const struct archive *a)
{
	static char text[2 * CHUNK_STRING_MAX];

	text[0] = '\0';
	for (uint32_t i = 0; i < a->files && text[0] == '\0'; i++)
		if (a->file[i].why)
			snprintf(text, sizeof(text), "%s: %s",
				 a->file[i].path[0] ? a->file[i].path : "?",
				 a->file[i].why);
	return text;
}
