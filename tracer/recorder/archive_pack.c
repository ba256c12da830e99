/* archive_pack.c - copies what an archive is to hold, and lists in its file
 * "contents" what was had and what was not.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/archive.h"
#include "tracer/recorder/archive_copy.h"
#include "tracer/recorder/message.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_TEXT = 2 * ELF_ID_BYTES + 1 };

static void list(struct archive *a, const struct archive_file *f,
		 const char *to, const char *why)
{
	char name[CHUNK_STRING_MAX + 1];

	snprintf(name, sizeof(name), "%s", f->path[0] ? f->path : "?");
	say_clean(name);
	dprintf(a->list, "%s %s%s%s\n", why ? "missing" : "file", name,
		why ? ": " : " -> ", why ? why : to);
}

static void id_text(const struct archive_file *f, char *out)
{
	for (unsigned i = 0; i < f->id_size; i++)
		snprintf(out + 2 * i, 3, "%02x", f->id[i]);
}

/* Copy, count and list. */
static bool put(struct archive *a, const struct archive_file *f, int fd,
		const char *to)
{
	const char *why = NULL;
	const int64_t bytes = archive_copy_file(a->folder, to, fd,
						a->limit - a->bytes, &why);

	list(a, f, to, bytes < 0 ? why : NULL);
	if (bytes < 0)
		return false;
	a->bytes += (uint64_t)bytes;
	a->copied++;
	return true;
}

/* A separate debug file of the same build, wherever one may lie. */
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
		const int fd = path[i][0] ? archive_open_build(f, path[i]) : -1;

		if (fd < 0)
			continue;
		put(a, f, fd, to);
		close(fd);
		return;
	}
}

static bool put_module(struct archive *a, const struct archive_file *f, int fd)
{
	char to[CHUNK_STRING_MAX + 64], id[ID_TEXT];
	struct elf_id found;

	if (f->id_size < 2) {
		snprintf(to, sizeof(to), "files%s", f->path);
		return put(a, f, fd, to);
	}
	id_text(f, id);
	snprintf(to, sizeof(to), ".build-id/%.2s/%s", id, id + 2);
	if (!put(a, f, fd, to))
		return false;
	if (elf_id_read(fd, &found) == 0)
		put_debug(a, f, found.link);
	return true;
}

/* Below its whole path, wherever the program stood. */
static bool put_lua(struct archive *a, const struct archive_file *f, int fd)
{
	char link[32], path[PATH_MAX], to[PATH_MAX + 8];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	snprintf(to, sizeof(to), "lua%s", path);
	return put(a, f, fd, to);
}

void archive_pack(struct archive *a)
{
	for (uint32_t i = 0; i < a->files; i++) {
		struct archive_file *const f = &a->file[i];

		if (f->fd < 0 && (!f->why || f->is_lua))
			f->fd = archive_open(f);
		if (f->fd < 0) {
			list(a, f, "", f->why);
			a->missing++;
		} else if (!(f->is_lua ? put_lua : put_module)(a, f, f->fd)) {
			f->why = "it could not be copied";
			a->missing++;
		}
		if (f->fd >= 0)
			close(f->fd);
	}
	close(a->list);
}

void archive_free(struct archive *a)
{
	free(a->file);
	free(a->seen);
	close(a->folder);
	memset(a, 0, sizeof(*a));
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
