/* trace_folder.c - makes and measures the trace's folder and writes its spill
 * file. Follows no symbolic link: LTTng would write through it, perhaps as
 * root. Knows nothing of what a chunk contains.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/trace_folder.h"
#include "tracer/recorder/base/message.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64, LONGEST = PATH_MAX - 256 };

/* ---- the folder ---- */

static void choose_path(struct trace_folder *f, const char *wish,
			const char *program)
{
	char name[NAME_BYTES];

	message_file_name(name, sizeof(name), program);
	if (wish)
		snprintf(f->path, sizeof(f->path), "%s", wish);
	else
		snprintf(f->path, sizeof(f->path), "weft-trace-%s-%d", name,
			 (int)getpid());
	/* With a slash at the end, mkdir would follow a link. */
	for (size_t n = strlen(f->path); n > 1 && f->path[n - 1] == '/'; n--)
		f->path[n - 1] = '\0';
}

int trace_folder_make(struct trace_folder *f, const char *wish,
		      const char *program)
{
	choose_path(f, wish, program);
	f->fd = -1;
	if (mkdir(f->path, 0700) != 0) {
		message("cannot make \"%s\": %s; name another folder with -o",
			f->path, strerror(errno));
		return -1;
	}
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0 || !realpath(f->path, f->absolute)) {
		message("cannot open \"%s\": %s", f->path, strerror(errno));
		return -1;
	}
	if (strlen(f->absolute) > LONGEST) {
		message("the path \"%s\" is too long: name another folder "
			"with -o", f->path);
		return -1;
	}
	return 0;
}

int trace_folder_put(const struct trace_folder *f, const char *name,
		     const char *text)
{
	const size_t n = strlen(text);
	const int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL |
			      O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	const ssize_t written = write(fd, text, n);

	return close(fd) == 0 && written == (ssize_t)n ? 0 : -1;
}

/* In depth: a folder comes again, as FTS_DP, after what is in it. */
static FTS *walk_tree(const char *path)
{
	char *const roots[] = { (char *)(uintptr_t)path, NULL };

	return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
}

void trace_folder_remove(const struct trace_folder *f)
{
	FTS *const tree = walk_tree(f->absolute);

	for (FTSENT *e; tree && (e = fts_read(tree)); )
		if (e->fts_info != FTS_D)
			remove(e->fts_accpath);
	if (tree)
		fts_close(tree);
}

void trace_folder_each(const char *path,
		       void (*call)(void *ctx, const char *path, uint64_t size),
		       void *ctx)
{
	FTS *const tree = walk_tree(path);

	for (FTSENT *e; tree && (e = fts_read(tree)); )
		if (e->fts_info == FTS_F)
			call(ctx, e->fts_accpath,
			     (uint64_t)e->fts_statp->st_size);
	if (tree)
		fts_close(tree);
}

static void add_size(void *ctx, const char *path, uint64_t size)
{
	(void)path;
	*(uint64_t *)ctx += size;
}

uint64_t trace_folder_bytes(const char *path)
{
	uint64_t bytes = 0;

	trace_folder_each(path, add_size, &bytes);
	return bytes;
}

/* ---- the spill file ---- */

static const char spill_name[] = "spill.weft";

/* Write all bytes, or return negative. */
static int write_at(int fd, const void *data, uint64_t bytes, uint64_t at)
{
	const char *from = data;

	while (bytes > 0) {
		const ssize_t n = pwrite(fd, from, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		from += n;
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

int spill_open(struct spill *s, int folder, const uint64_t *placeholder)
{
	s->folder = folder;
	s->is_full = false;
	s->end = SPILL_RESERVE_WORDS * 8;
	s->chunks = 0;
	s->fd = openat(folder, spill_name, O_RDWR | O_CREAT | O_EXCL |
		       O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return -1;
	if (write_at(s->fd, placeholder, s->end, 0) == 0)
		return 0;
	const int why = errno;

	spill_discard(s);
	errno = why;
	return -1;
}

int spill_write(struct spill *s, const uint64_t *words, uint32_t n)
{
	if (s->fd < 0 || s->is_full)
		return -1;
	assert(s->end >= SPILL_RESERVE_WORDS * 8 && s->end % 8 == 0);
	if (write_at(s->fd, words, (uint64_t)n * 8, s->end) == 0) {
		s->end += (uint64_t)n * 8;
		s->chunks++;
		return 0;
	}
	const int why = errno;

	/* Half a chunk is of no use. It does no harm either: readers search
	 * for the magic number and test the checksum. */
	(void)!ftruncate(s->fd, (off_t)s->end);
	errno = why;
	return -1;
}

bool spill_is_removed(const struct spill *s)
{
	struct stat st;

	return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}

int spill_close(struct spill *s, const uint64_t *last)
{
	if (s->fd < 0)
		return -1;
	const int bad = write_at(s->fd, last, SPILL_RESERVE_WORDS * 8, 0);
	const int unclosed = close(s->fd);

	s->fd = -1;
	return bad != 0 || unclosed != 0 ? -1 : 0;
}

void spill_discard(struct spill *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	unlinkat(s->folder, spill_name, 0);
}
