/* recover.c - gathers chunks, wherever they are, into one spill file. A chunk
 * that comes twice is written twice: readers take the longest.
 * SPDX-License-Identifier: MIT */
#include "analyzer/recover/recover.h"

#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_carve.h"
#include "analyzer/in/in_find.h"
#include "analyzer/recover/left_pool.h"
#include "tracepoints/meta.h"
#include "tracepoints/noun.h"
#include "tracepoints/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTION = CHUNK_STRING_MAX, POOLS = 8 };

struct recovery {
	struct in_carve *carve;    /* files */
	struct in_found *found;    /* a folder's each; they own the paths */
	size_t found_count, found_room;
	struct left_pool pools[POOLS]; /* the same one, perhaps, in copies */
	size_t pool_count;
	char why[PATH_MAX + 100];  /* there is no pool, or "" */
	FILE *to;
	uint64_t recording;        /* 0: no chunk was found yet */
	bool is_mixed, has_end;
	uint64_t in_files, in_pools; /* chunks */
	uint64_t unreadable;       /* files and folders */
	/* By thread: its last chunk, and whether nothing can follow it. */
	struct tail { uint64_t number; bool is_last; } *tails;
	size_t tail_count, tail_room;
	struct map *tail_of;
	/* Of the last one. Its clock is that of the notes. */
	struct chunk_header last;
	uint64_t words[CHUNK_MAX_WORDS];
	unsigned char bytes[CHUNK_MAX_WORDS * 8];
	uint64_t packed[PACKED_MAX_WORDS];
};

/* ---- what there is ---- */

/* 0, or -1: there is no such pool, or its recorder lives. */
static int add_pool(struct recovery *r, const char *path, bool *is_in_use)
{
	struct left_pool *const p = &r->pools[r->pool_count];
	int status;

	*is_in_use = false;
	if (r->pool_count == POOLS)
		return err_add("more than %d pools are given", POOLS);
	status = left_pool_open(p, path);
	*is_in_use = p->is_in_use;
	r->pool_count += status == 0;
	return status;
}

/* Of a plain file in the folder, the first line. */
static bool read_line(const char *folder, const char *name, char *to, int size)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) <
	    (int)sizeof(path))
		fd = text_file_open(path, &st);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, to, (size_t)size - 1);

	close(fd);
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return to[0] != '\0';
}

/* The file "pool" of a trace has the pool's path. That it is gone is no
 * failure: the files are there. */
static int add_named_pool(struct recovery *r, const char *folder)
{
	char path[PATH_MAX];
	bool is_in_use;

	if (!read_line(folder, "pool", path, sizeof(path))) {
		snprintf(r->why, sizeof(r->why), "nothing says where its pool "
			 "is");
		return 0;
	}
	snprintf(r->why, sizeof(r->why), "its pool %s is gone", path);
	if (access(path, F_OK) != 0 || add_pool(r, path, &is_in_use) == 0)
		return 0;
	if (is_in_use)
		return -1;
	err_clear();
	snprintf(r->why, sizeof(r->why), "its pool %s cannot be read", path);
	return 0;
}

static void carve(struct recovery *r, const char *path)
{
	r->unreadable += in_carve_file(r->carve, path) != 0;
}

static int add_folder(struct recovery *r, const char *path)
{
	struct in_found found;

	if (in_find_all(path, &found) != 0) {
		in_find_fini(&found);
		return -1;
	}
	*vec_add(&r->found, &r->found_room, &r->found_count) = found;
	r->unreadable += (uint64_t)found.unreadable;
	for (size_t i = 0; i < found.folder_count; i++)
		for (size_t k = 0; k < found.folders[i].stream_count; k++)
			carve(r, found.folders[i].streams[k]);
	for (size_t i = 0; i < found.spill_count; i++)
		carve(r, found.spills[i]);
	return add_named_pool(r, path);
}

static int add(struct recovery *r, const char *path)
{
	struct stat st;
	bool is_in_use;

	if (stat(path, &st) != 0)
		return err_add("cannot open \"%s\": %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return add_folder(r, path);
	if (!S_ISREG(st.st_mode))
		return err_add("\"%s\" is neither a folder nor a file", path);
	if (left_pool_is(path))
		return add_pool(r, path, &is_in_use);
	carve(r, path);
	return 0;
}

/* ---- writing ---- */

/* Packed chunks end with a zero, and with more up to 8 bytes. */
static int write_bytes(struct recovery *r, const void *bytes, size_t n)
{
	static const char zeros[8];
	const bool is_words = memcmp(bytes, PACKED_MAGIC,
				     sizeof(PACKED_MAGIC) - 1) != 0;
	const size_t more = is_words ? 0 : 8 - n % 8;

	if (fwrite(bytes, 1, n, r->to) == n &&
	    fwrite(zeros, 1, more, r->to) == more)
		return 0;
	return err_add("cannot write: %s", strerror(errno));
}

static int write_chunk(struct recovery *r, const uint64_t *words, size_t n)
{
	const struct chunk_header *const h = (const void *)words;

	memcpy(r->bytes, words, n * 8);
	const size_t bytes = packed_code((char *)r->packed + PACKED_HEAD,
					 r->bytes, n * 8);
	const struct packed_head head = {
		.packing = PACKING_NONE, .bytes = (uint32_t)bytes,
		.words = (uint32_t)n, .records = h->records, .flags = h->flags,
		.recording = h->recording, .process = h->process,
		.thread = h->thread, .level = h->level, .number = h->number,
	};

	packed_seal((char *)r->packed, &head);
	return write_bytes(r, r->packed, packed_size(&head));
}

/* A thread ends with the last of its chunks, or with one that was still in the
 * pool. */
static void note_tail(struct recovery *r, const struct chunk_header *h,
		      bool is_in_pool)
{
	uint32_t *const at = map_put(r->tail_of, h->process, h->thread);

	if (*at == 0) {
		*vec_add(&r->tails, &r->tail_room, &r->tail_count) =
			(struct tail){ 0, false };
		*at = (uint32_t)r->tail_count;
	}
	struct tail *const t = &r->tails[*at - 1];

	if (h->number < t->number)
		return;
	t->is_last = (h->number == t->number && t->is_last) || is_in_pool ||
		     (h->flags & (CHUNK_LAST | CHUNK_TAKEN)) != 0;
	t->number = h->number;
}

static uint64_t count_endless(const struct recovery *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->tail_count; i++)
		n += !r->tails[i].is_last;
	return n;
}

/* A session whose end is known has notes of its own. */
static void note_chunk(struct recovery *r, const struct chunk *chunk,
		       bool is_in_pool)
{
	const struct chunk_header *const h = &chunk->header;

	if (h->level == 0 && !(h->flags & CHUNK_META))
		note_tail(r, h, is_in_pool);
	r->is_mixed |= r->recording != 0 && h->recording != r->recording;
	r->recording = h->recording;
	r->has_end |= (h->flags & (CHUNK_META | CHUNK_PARTIAL)) == CHUNK_META &&
		      h->number == META_END;
	if (h->tick_end >= r->last.tick_end)
		r->last = *h;
}

/* An in_chunk_fn. */
static int take_pool(void *ctx, const struct chunk *chunk)
{
	struct recovery *const r = ctx;

	note_chunk(r, chunk, true);
	r->in_pools++;
	return write_chunk(r, chunk->words, chunk->n);
}

static int write_files(struct recovery *r)
{
	in_carve_sort(r->carve);
	for (size_t i = 0; i < r->carve->count; i++) {
		const struct chunk *const chunk = in_carve_load(r->carve, i);

		if (!chunk)
			continue;
		note_chunk(r, chunk, false);
		held_drop(chunk);
		r->in_files++;
		if (write_bytes(r, r->carve->bytes,
				r->carve->places[i].bytes) != 0)
			return -1;
	}
	return 0;
}

/* ---- notes of the end ---- */

static void note_lost(const struct recovery *r, struct meta *m)
{
	uint64_t lost[LOST_REASONS];

	for (size_t i = 0; i < r->pool_count; i++) {
		const struct pool *const head = &r->pools[i].head;

		left_pool_lost(&r->pools[i], lost);
		meta_lost(m, lost);
		meta_print(m, "lost.unrecorded", "%" PRIu64, head->unrecorded);
		meta_print(m, "lost.late", "%" PRIu64,
			   head->after_destructors);
		meta_print(m, "lost.damaged", "%" PRIu64, r->pools[i].damaged);
	}
}

/* ", COUNT NOUNS WORDS", unless the count is 0. */
static void describe_any(char to[DESCRIPTION], const char *before,
			 uint64_t count, const char *nouns,
			 const char *words)
{
	char noun[40];

	if (count > 0)
		text_addf(to, DESCRIPTION, "%s%" PRIu64 " %s%s", before, count,
			  noun_print(noun, sizeof(noun), count, nouns), words);
}

/* What was found, as a sentence's end. */
static void describe(const struct recovery *r, char to[DESCRIPTION])
{
	const uint64_t endless = count_endless(r);
	bool is_alive = false;
	uint64_t damaged = 0;
	char noun[40];

	snprintf(to, DESCRIPTION, "%" PRIu64 " %s in files", r->in_files,
		 noun_print(noun, sizeof(noun), r->in_files, "chunks"));
	for (size_t i = 0; i < r->pool_count; i++) {
		is_alive |= r->pools[i].is_alive;
		damaged += r->pools[i].damaged;
	}
	if (r->pool_count > 0)
		text_addf(to, DESCRIPTION, " and %" PRIu64 " in the pool",
			  r->in_pools);
	else
		text_addf(to, DESCRIPTION, "; %.100s", r->why[0] ? r->why :
			  "its pool was not given");
	describe_any(to, ", of which ", damaged, "chunks", " damaged");
	describe_any(to, "; ", r->unreadable, "files", " not read");
	describe_any(to, "; the end of ", endless, "threads", " missing");
	if (is_alive)
		text_addf(to, DESCRIPTION, "; programs still ran");
}

static int write_notes(struct recovery *r)
{
	struct chunk_header *const h = (void *)r->words;
	struct meta m = { r->words, CHUNK_HEADER_WORDS };
	char text[DESCRIPTION];

	*h = r->last;
	h->flags = CHUNK_META | (h->flags & CHUNK_TSC);
	h->process = h->thread = h->level = h->records = h->funcs = 0;
	h->number = META_END;
	h->tick_begin = h->tick_end;
	h->interrupted_record = 0;
	h->interrupted_chunk = h->cpu_begin = h->cpu_end = h->written = 0;
	memset(h->lost, 0, sizeof(h->lost));
	memset(h->thread_name, 0, sizeof(h->thread_name));
	describe(r, text);
	meta_note(&m, "recovered", text);
	meta_note(&m, "complete", "no");
	note_lost(r, &m);
	const uint32_t n = meta_end(&m);

	return write_chunk(r, r->words, n);
}

/* ---- the folder ---- */

static int write_all(struct recovery *r)
{
	if (write_files(r) != 0)
		return -1;
	for (size_t i = 0; i < r->pool_count; i++)
		if (left_pool_each(&r->pools[i], take_pool, r) != 0)
			return -1;
	if (r->recording == 0)
		return err_add("no recorded data is left%s%s%s",
			       r->why[0] ? ": " : "", r->why,
			       r->unreadable == 0 ? "" :
			       "; not all files could be read");
	if (r->is_mixed)
		return err_add("these are of several recordings; give what is "
			       "left of one");
	if (!r->has_end && write_notes(r) != 0)
		return -1;
	return fflush(r->to) == 0 ? 0 :
	       err_add("cannot write: %s", strerror(errno));
}

/* Names of functions may come from the archive of the first folder. */
static void link_archive(int folder, const char *from)
{
	char name[PATH_MAX], *path;

	if (snprintf(name, sizeof(name), "%s/archive", from) >=
	    (int)sizeof(name))
		return;
	path = realpath(name, NULL);
	if (path && symlinkat(path, folder, "archive") != 0)
		err_clear();
	free(path);
}

static int write_folder(struct recovery *r, const char *to, const char *from)
{
	int status = -1;

	if (mkdir(to, 0700) != 0)
		return err_add("cannot make \"%s\": %s; name another folder "
			       "with -o", to, strerror(errno));
	const int folder = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				O_CLOEXEC);
	const int fd = openat(folder, "spill.weft", O_WRONLY | O_CREAT |
			      O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	r->to = fd < 0 ? NULL : fdopen(fd, "wb");
	if (r->to) {
		status = write_all(r);
		if (fclose(r->to) != 0 && status == 0)
			status = err_add("cannot write \"%s\": %s", to,
					 strerror(errno));
	} else {
		err_add("cannot write to \"%s\": %s", to, strerror(errno));
	}
	if (status == 0)
		link_archive(folder, from);
	else
		unlinkat(folder, "spill.weft", 0);
	close(folder);
	if (status != 0)
		rmdir(to);
	return status;
}

int recover_make(const char *to, int count, char **from)
{
	static struct recovery all; /* pools want to be aligned */
	struct recovery *const r = &all;
	int status = 0;

	r->carve = in_carve_new();
	r->tail_of = map_new();
	for (int i = 0; i < count && status == 0; i++)
		status = add(r, from[i]);
	if (status == 0)
		status = write_folder(r, to, from[0]);
	for (size_t i = 0; i < r->pool_count; i++)
		left_pool_close(&r->pools[i]);
	for (size_t i = 0; i < r->found_count; i++)
		in_find_fini(&r->found[i]);
	in_carve_free(r->carve);
	map_free(r->tail_of);
	mem_free_all(r->tails, r->found);
	return status;
}
