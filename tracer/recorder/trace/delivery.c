/* delivery.c - looks for packed chunks in CTF and spill files by their magic.
 * It knows neither format. One is whole if the file has all its bytes; these
 * are looked at only where another may begin among them.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/delivery.h"
#include "tracer/recorder/base/grow.h"
#include "tracer/recorder/trace/trace_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC_BYTES = sizeof(PACKED_MAGIC) - 1 };

struct delivery_sent {
	uint32_t thread, level;
	uint64_t number;
	uint32_t records;          /* in the longest that was sent */
	uint32_t here;             /* in the longest that was found, plus 1 */
};

void delivery_note(struct delivery *a, const struct chunk_header *h)
{
	if (!grow(&a->sent, &a->room, a->count + 1, sizeof(*a->sent))) {
		a->is_blind = true;
		return;
	}
	a->recording = h->recording;
	a->sent[a->count++] = (struct delivery_sent){ h->thread, h->level,
		h->number, h->records, 0 };
}

/* By identity. For qsort and bsearch. */
static int by_identity(const void *x, const void *y)
{
	const struct delivery_sent *const a = x, *const b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Sort, and leave one entry of those with the same identity. */
static void merge(struct delivery *a)
{
	size_t n = 0;

	if (a->count > 0)
		qsort(a->sent, a->count, sizeof(*a->sent), by_identity);
	for (size_t i = 0; i < a->count; i++) {
		struct delivery_sent *const s = &a->sent[i];
		struct delivery_sent *const last = n > 0 ? &a->sent[n - 1] :
						  NULL;

		s->here = 0;
		if (!last || by_identity(last, s) != 0)
			a->sent[n++] = *s;
		else if (last->records < s->records)
			last->records = s->records;
	}
	a->count = n;
}

uint64_t delivery_count(struct delivery *a)
{
	uint64_t n = 0;

	merge(a);
	for (size_t i = 0; i < a->count; i++)
		n += a->sent[i].thread != 0 || a->sent[i].number != META_END;
	return n;
}

/* The placeholder of the spill file is no chunk that was sent. */
static void see(const struct delivery *a, const struct packed_head *h)
{
	const struct delivery_sent key = { h->thread, h->level, h->number, 0,
					  0 };
	struct delivery_sent *s;

	if ((h->flags & CHUNK_META) && (h->flags & CHUNK_PARTIAL))
		return;
	s = a->count == 0 ? NULL : bsearch(&key, a->sent, a->count,
					   sizeof(key), by_identity);
	if (s && s->here <= h->records)
		s->here = h->records + 1;
}

/* Where the next magic is, from at on; the file's size: there is none with a
 * whole head. */
static uint64_t find_magic(int fd, uint64_t at, uint64_t size)
{
	char page[4096];

	while (at + PACKED_HEAD <= size) {
		const ssize_t n = pread(fd, page, sizeof(page), (off_t)at);
		const char *const found = n < MAGIC_BYTES ? NULL :
			memmem(page, (size_t)n, PACKED_MAGIC, MAGIC_BYTES);

		if (found)
			return at + (uint64_t)(found - page);
		if (n < MAGIC_BYTES)
			break;
		at += (uint64_t)n - (MAGIC_BYTES - 1);
	}
	return size;
}

/* The rest of a page behind an LTTng packet has what the page had before: a
 * head may lie there whose chunk is overwritten by the next packet. */
static bool is_stale(int fd, uint64_t at, const struct packed_head *h)
{
	static char packed[PACKED_MAX_WORDS * 8];
	const uint32_t bytes = packed_size(h);
	const uint64_t end = at + (bytes < 8192 ? bytes : 8192);

	if (find_magic(fd, at + MAGIC_BYTES, end) >= end)
		return false;
	return pread(fd, packed, bytes, (off_t)at) != (ssize_t)bytes ||
	       packed_checksum(packed, h->bytes) != h->checksum;
}

static void look_into(void *ctx, const char *path, uint64_t size)
{
	const struct delivery *const a = ctx;
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char head[PACKED_HEAD];
	struct packed_head h;
	uint64_t at = 0;

	while (fd >= 0 && (at = find_magic(fd, at, size)) < size) {
		if (pread(fd, head, sizeof(head), (off_t)at) != sizeof(head))
			break;
		const bool is_whole = packed_read(head, &h) &&
			h.recording == a->recording &&
			packed_size(&h) <= size - at && !is_stale(fd, at, &h);

		if (is_whole)
			see(a, &h);
		at += is_whole ? packed_size(&h) : MAGIC_BYTES;
	}
	if (fd >= 0)
		close(fd);
}

void delivery_check(struct delivery *a, const char *folder)
{
	char path[PATH_MAX];

	merge(a);
	snprintf(path, sizeof(path), "%.*s/ctf", PATH_MAX - 16, folder);
	trace_folder_each(path, look_into, a);
	snprintf(path, sizeof(path), "%.*s/spill.weft", PATH_MAX - 16, folder);
	trace_folder_each(path, look_into, a);
	a->lost_chunks = a->past_chunks;
	a->lost_records = a->past_records;
	for (size_t i = 0; i < a->count; i++) {
		const struct delivery_sent *const s = &a->sent[i];

		a->lost_chunks += s->here <= s->records;
		a->lost_records += s->here == 0 ? s->records :
				   s->here <= s->records ?
				   s->records - s->here + 1 : 0;
	}
}

void delivery_forget(struct delivery *a)
{
	a->past_chunks = a->lost_chunks;
	a->past_records = a->lost_records;
	a->count = 0;
}
