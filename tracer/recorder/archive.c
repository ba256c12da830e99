/* archive.c - which files a trace's functions are in: seen in the chunks on
 * their way, which anybody may have written. A file is opened at first sight,
 * so that one that is removed or replaced later is still had.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/archive.h"
#include "tracer/recorder/message.h"

#include "tracepoints/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILES_MAX = 8192,
	PINS_MAX = 512,            /* descriptors to be had for this */
	SEEN_SLOTS = 1 << 15,      /* a power of two, well above FILES_MAX */
};

static const uint64_t bytes_max = UINT64_C(2) << 30;

int archive_init(struct archive *a, int folder)
{
	memset(a, 0, sizeof(*a));
	a->folder = a->list = -1;
	a->limit = bytes_max;
	a->seen = calloc(SEEN_SLOTS, sizeof(*a->seen));
	if (a->seen && mkdirat(folder, "archive", 0700) == 0)
		a->folder = openat(folder, "archive", O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	if (a->folder >= 0)
		a->list = openat(a->folder, "contents", O_WRONLY | O_CREAT |
				 O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (a->list >= 0)
		return 0;
	say("cannot make the archive: %s", strerror(errno));
	return -1;
}

/* --- what chunks name -------------------------------------------------- */

/* False: it was there, or there is no room. */
static bool remember(struct archive *a, uint64_t hash)
{
	uint32_t slot = (uint32_t)(hash >> 20) & (SEEN_SLOTS - 1);

	hash |= 1;
	while (a->seen[slot] != 0) {
		if (a->seen[slot] == hash)
			return false;
		slot = (slot + 1) & (SEEN_SLOTS - 1);
	}
	if (a->seen_n >= FILES_MAX) {
		a->unlisted++;
		return false;
	}
	a->seen[slot] = hash;
	a->seen_n++;
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

int archive_open_build(const struct archive_file *f, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_id id;

	if (fd < 0)
		return -1;
	if (elf_id_read(fd, &id) == 0 && (f->id_size == 0 ||
	    (id.size == f->id_size && memcmp(id.id, f->id, id.size) == 0)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* The i-th way to a file: as we see its path; as its process does, which may be
 * confined or elsewhere; or, when its program's file is gone, what it runs.
 * False: none for this file. */
static bool way_to(const struct archive_file *f, int i, char *path, size_t size)
{
	const bool is_absolute = f->path[0] == '/';

	switch (i) {
	case 0:
		snprintf(path, size, "%s", f->path);
		return true;
	case 1:
		snprintf(path, size, "/proc/%u/root%s", f->pid, f->path);
		return is_absolute;
	case 2:
		snprintf(path, size, "/proc/%u/cwd/%s", f->pid, f->path);
		return !is_absolute && f->is_lua;
	default:
		snprintf(path, size, "/proc/%u/exe", f->pid);
		return !f->is_lua && f->id_size > 0;
	}
}

int archive_open(struct archive_file *f)
{
	char path[CHUNK_STRING_MAX + 64];
	int fd = -1, first = 0;

	f->why = "its path is too long to be known";
	if (f->path[0] == '\0')
		return -1;
	for (int i = 0; i < 4 && fd < 0; i++) {
		if (!way_to(f, i, path, sizeof(path)))
			continue;
		fd = f->is_lua ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
				      O_NOCTTY) : archive_open_build(f, path);
		if (first == 0)
			first = errno;
	}
	f->why = fd >= 0 ? NULL : first == ESTALE ?
		 "another build is in its place" : strerror(first);
	return fd;
}

static void add(struct archive *a, const struct archive_file *f)
{
	struct archive_file *kept;

	if (a->files == a->room) {
		const uint32_t room = a->room ? 2 * a->room : 64;
		void *const grown = realloc(a->file, room * sizeof(*a->file));

		if (!grown) {
			a->unlisted++;
			return;
		}
		a->file = grown;
		a->room = room;
	}
	kept = &a->file[a->files++];
	*kept = *f;
	kept->fd = a->pinned < PINS_MAX ? archive_open(kept) : -1;
	a->pinned += kept->fd >= 0;
}

/* A string whole, "" if it was cut or holds a NUL. False: no string. */
static bool read_string(const uint64_t *at, uint64_t words, char *to)
{
	const uint32_t stored = words < 2 ? 0 : string_stored(at[0]);

	to[0] = '\0';
	if (words < 2 || stored > CHUNK_STRING_MAX ||
	    (stored + 7) / 8 > words - 2)
		return false;
	if (string_length(at[0]) == stored &&
	    !memchr(at + 2, '\0', stored)) {
		memcpy(to, at + 2, stored);
		to[stored] = '\0';
	}
	return true;
}

/* number, bias, size, 3 words of build-id, path */
static void see_module(struct archive *a, const struct chunk_header *h,
		       const uint64_t *item, uint64_t words)
{
	struct archive_file f = { .pid = h->pid, .fd = -1 };
	const uint8_t *const id = (const void *)(item + 4);
	uint64_t hash;

	if (words < 9 || id[0] > ELF_ID_BYTES ||
	    !read_string(item + 7, words - 7, f.path))
		return;
	f.id_size = id[0];
	memcpy(f.id, id + 1, f.id_size);
	/* Modules without a build-id are told apart by path and size. */
	hash = mix(mix(mix(1, item[4]), item[5]), item[6]);
	if (f.id_size == 0)
		hash = mix(mix(hash, item[8]), item[3]);
	if (remember(a, hash))
		add(a, &f);
}

/* lines, source */
static void see_lua(struct archive *a, const struct chunk_header *h,
		    const uint64_t *item, uint64_t words)
{
	struct archive_file f = { .pid = h->pid, .fd = -1, .is_lua = true };

	if (words < 4 || !read_string(item + 2, words - 2, f.path) ||
	    f.path[0] != '@' || !remember(a, mix(2, item[3])))
		return;
	memmove(f.path, f.path + 1, strlen(f.path));
	add(a, &f);
}

void archive_see(struct archive *a, const uint64_t *chunk, uint32_t words)
{
	const struct chunk_header *const h = (const void *)chunk;
	const uint64_t begin = CHUNK_HEADER_WORDS + (uint64_t)h->records;
	const uint64_t *item = chunk + begin;
	uint64_t left = h->items;

	if (begin > words || left > words - begin)
		return;
	while (left > 0) {
		const uint64_t size = item_words(*item);

		if (size == 0 || size > left)
			return;
		if (item_type(*item) == ITEM_MODULE)
			see_module(a, h, item, size);
		else if (item_type(*item) == ITEM_LUA)
			see_lua(a, h, item, size);
		item += size;
		left -= size;
	}
}
