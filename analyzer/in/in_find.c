/* in_find.c - what lies in a trace's folder: CTF traces, stream files, spill
 * files. Knows names and first bytes; reads no further, and does not judge
 * whether a trace is whole.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_find.h"

#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits for a path that is no trace: depth of folders, names in one folder. */
enum { MAX_DEPTH = 24, MAX_FILES = 1 << 20 };

/* Takes path over. */
static void add_path(char ***list, size_t *count, size_t *room, char *path)
{
	vec_need(list, room, *count + 1);
	(*list)[(*count)++] = path;
}

/* Takes path over. */
static void add_spill(struct in_found *f, char *path, uint64_t size)
{
	add_path(&f->spills, &f->spill_count, &f->spill_room, path);
	f->spill_bytes += size;
}

/* A trace without metadata is told from any other file by this. */
static bool starts_a_packet(const char *path)
{
	const uint32_t magic = IN_PACKET_MAGIC;

	return text_file_begins(path, &magic, sizeof(magic));
}

static void folder_fini(struct in_folder *d)
{
	for (size_t i = 0; i < d->stream_count; i++)
		mem_free(d->streams[i]);
	mem_free_all(d->streams, d->path);
}

/* Keep the folder, which is taken over, if a reader can use anything in it. If
 * metadata is missing, only files that begin like a packet are streams. */
static void add_folder(struct in_found *f, struct in_folder *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->stream_count; i++)
		if (d->has_metadata || starts_a_packet(d->streams[i]))
			d->streams[kept++] = d->streams[i];
		else
			mem_free(d->streams[i]);
	d->stream_count = kept;
	if (!d->has_metadata && !kept) {
		folder_fini(d);
		return;
	}
	*vec_add(&f->folders, &f->folder_room, &f->folder_count) = *d;
}

/* Takes path over. */
static void add_file(struct in_found *f, struct in_folder *d, const char *name,
		     char *path, uint64_t size)
{
	if (strcmp(name, "metadata") == 0)
		d->has_metadata = true;
	if (strcmp(name, "metadata") == 0 || size == 0) {
		mem_free(path);
		return;
	}
	if (access(path, R_OK)) {
		f->unreadable++;
		mem_free(path);
	} else if (strcmp(name, "spill.weft") == 0) {
		add_spill(f, path, size);
	} else {
		add_path(&d->streams, &d->stream_count, &d->stream_room, path);
		d->stream_bytes += size;
	}
}

/* The names in a folder, sorted, so that a trace reads the same everywhere.
 * Hidden ones are left out. 0, or -1 with errno; *names and each of them are
 * the caller's. */
static int list_folder(const char *path, char ***names, size_t *count)
{
	DIR *const dir = opendir(path);
	size_t room = 0;

	*names = NULL;
	*count = 0;
	if (!dir)
		return -1;
	for (const struct dirent *e; (e = readdir(dir)) && *count < MAX_FILES;)
		if (e->d_name[0] != '.')
			add_path(names, count, &room, mem_copy(e->d_name));
	closedir(dir);
	order_sort(*names, *count, order_texts);
	return 0;
}

static int walk(struct in_found *f, const char *path, int depth);

/* Takes path over. */
static void visit(struct in_found *f, struct in_folder *d, const char *name,
		  char *path, int depth)
{
	struct stat st;

	if (lstat(path, &st)) {
		f->unreadable++;
	} else if (S_ISREG(st.st_mode)) {
		add_file(f, d, name, path, (uint64_t)st.st_size);
		return;
	} else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH &&
		   strcmp(name, "index") != 0 &&
		   (depth > 0 || strcmp(name, "archive") != 0)) {
		if (walk(f, path, depth + 1))
			f->unreadable++;
	}
	mem_free(path);
}

/* List a folder and all below it. 0, or -1 with errno if it cannot be
 * opened. */
static int walk(struct in_found *f, const char *path, int depth)
{
	struct in_folder d = { 0 };
	char **names;
	size_t count;

	if (list_folder(path, &names, &count))
		return -1;
	d.path = mem_copy(path);
	for (size_t i = 0; i < count; i++) {
		visit(f, &d, names[i], mem_print("%s/%s", path, names[i]),
		      depth);
		mem_free(names[i]);
	}
	mem_free(names);
	add_folder(f, &d);
	return 0;
}

int in_find_all(const char *path, struct in_found *found)
{
	struct stat st;

	memset(found, 0, sizeof(*found));
	if (stat(path, &st))
		return err_add("%s", strerror(errno));
	if (S_ISREG(st.st_mode)) {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return err_add("%s", strerror(errno));
		close(fd);
		add_spill(found, mem_copy(path), (uint64_t)st.st_size);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return err_add("it is neither a folder nor a file");
	if (walk(found, path, 0))
		return err_add("%s", strerror(errno));
	return 0;
}

void in_find_fini(struct in_found *found)
{
	for (size_t i = 0; i < found->folder_count; i++)
		folder_fini(&found->folders[i]);
	for (size_t i = 0; i < found->spill_count; i++)
		mem_free(found->spills[i]);
	mem_free_all(found->folders, found->spills);
	memset(found, 0, sizeof(*found));
}
