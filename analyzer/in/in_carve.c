/* in_carve.c - searches files for chunks, window by window. Knows how they
 * begin and asks held_open about the rest; must not know CTF, but for how a
 * packet begins, because the files that it is for are those whose CTF is
 * damaged.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_carve.h"

#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* A chunk that begins in the first MiB of a window ends in the
	 * window. */
	CHUNK_BYTES = PACKED_MAX_WORDS * 8,
	WINDOW = (1 << 20) + CHUNK_BYTES, /* of a file, searched at a time */
	MAGIC_BYTES = 8,           /* the longer of the two */
};

struct in_key in_key_of(const struct chunk *chunk)
{
	return (struct in_key){ chunk->header.recording, chunk->header.number,
				chunk->header.process, chunk->header.thread,
				chunk->header.level };
}

bool in_is_same_stream(const struct in_key *a, const struct in_key *b)
{
	return a->recording == b->recording && a->process == b->process &&
	       a->thread == b->thread && a->level == b->level;
}

struct in_carve *in_carve_new(void)
{
	return mem_alloc(sizeof(struct in_carve));
}

void in_carve_free(struct in_carve *c)
{
	if (!c)
		return;
	mem_free_all(c->places, c->files, c);
}

/* A place that is not known to be whole yet. */
static struct in_place place_of(const struct packed_head *h, uint32_t bytes)
{
	const uint32_t of_piece = CHUNK_META | CHUNK_PARTIAL | CHUNK_FLIGHT;

	return (struct in_place){
		.key = { h->recording, h->number, h->process, h->thread,
			 h->level },
		.words = h->words, .bytes = bytes,
		.partial = !!(h->flags & CHUNK_PARTIAL),
		.is_of_piece = (h->flags & of_piece) == of_piece,
	};
}

/* Count a bad chunk, and note where it is. */
static void add_broken(struct in_carve *c, const struct in_place *place)
{
	c->bad++;
	if (c->broken_count < IN_BROKEN)
		c->broken[c->broken_count++] = *place;
}

/* Open what begins with a magic at p, room bytes from the end; NULL, and
 * place->whole is false, if it is refused. The caller drops the chunk. */
static const struct chunk *open_chunk(const unsigned char *p, size_t room,
				      struct in_place *place)
{
	struct packed_head head;
	uint32_t bytes;
	const struct chunk *const chunk = held_open(p, room, &head, &bytes);

	*place = place_of(&head, bytes);
	place->whole = chunk != NULL;
	if (chunk)
		place->tick_end = chunk->header.tick_end;
	err_clear();
	return chunk;
}

/* Note a whole chunk at p without opening it: its seal says that all its bytes
 * are there. */
static void note_sealed(const unsigned char *p, size_t room,
			struct in_place *place)
{
	const char *const packed = (const char *)p;
	struct packed_head head;

	if (!held_is_packed(p)) {
		held_drop(open_chunk(p, room, place));
		place->tick_end = 0; /* the order is by streams and numbers */
		return;
	}
	*place = (struct in_place){ .whole = false };
	if (room < PACKED_HEAD || !packed_read(packed, &head))
		return;
	*place = place_of(&head, packed_size(&head));
	place->whole = place->bytes <= room &&
		       packed_checksum(packed, head.bytes) == head.checksum;
}

/* A packet ends with what its room in memory held before: old events, the last
 * of which is cut off by the next packet, or by the end of the file. */
static bool is_left_over(const struct in_carve *c, const unsigned char *p,
			 size_t room)
{
	const uint32_t packet = IN_PACKET_MAGIC;
	const size_t most = PACKED_HEAD + sizeof(packet) - 1;

	return c->has_padding &&
	       (room < PACKED_HEAD ||
		memmem(p, room < most ? room : most, &packet, sizeof(packet)));
}

/* Take what begins with a magic at p. Returns how many bytes to go on by: the
 * size of a whole chunk, else 1, as a whole one may begin within what only
 * looked like a chunk. A refused one becomes a place, too: only in_carve_sort
 * knows whether the same chunk is whole elsewhere. */
static size_t take(struct in_carve *c, const unsigned char *p, size_t room,
		   uint64_t offset)
{
	struct in_place place;

	if (c->seals_only)
		note_sealed(p, room, &place);
	else
		held_drop(open_chunk(p, room, &place));
	place.offset = offset;
	place.file = (uint32_t)c->file_count - 1;
	if (place.whole)
		unpack_count(&c->found, held_is_packed(p) ? p[PACKED_WAY] : 0,
			     place.bytes);
	/* Nothing is known of one whose head cannot be read. */
	if (place.words == 0 && place.key.recording == 0) {
		if (!is_left_over(c, p, room))
			add_broken(c, &place);
	} else {
		*vec_add(&c->places, &c->room, &c->count) = place;
	}
	return place.whole ? place.bytes : 1;
}

/* The next magic, of either version, in n bytes; NULL: there is none. */
static const unsigned char *find_magic(const unsigned char *p, size_t n)
{
	const unsigned char *const end = p + n;

	while ((p = memmem(p, (size_t)(end - p), "WEFT", 4)))
		if ((size_t)(end - p) >= MAGIC_BYTES &&
		    (held_is_packed(p) || memcmp(p, "WEFTCHNK", 8) == 0))
			return p;
		else
			p++;
	return NULL;
}

/* Search the first n bytes of a window for chunks that begin in them; they may
 * extend to the end of what is filled. Returns where to go on. */
static size_t scan(struct in_carve *c, const unsigned char *window, size_t n,
		   size_t filled, uint64_t offset)
{
	size_t at = 0;

	while (at < n) {
		const unsigned char *const p =
			find_magic(window + at, filled - at);

		if (!p)
			return n;
		at = (size_t)(p - window);
		if (at < n)
			at += take(c, p, filled - at, offset + at);
	}
	return at;
}

/* Read size bytes, or fewer at the end of the file. -1 if the file cannot be
 * read. */
static ssize_t read_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t got = 0;

	while (got < size) {
		const ssize_t n = pread(fd, (char *)bytes + got, size - got,
					(off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int in_carve_file(struct in_carve *c, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *window;
	uint64_t offset = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	window = mem_grow(NULL, 1, WINDOW); /* not zeroed */
	*vec_add(&c->files, &c->file_room, &c->file_count) = path;
	while ((got = read_all(fd, window, WINDOW, offset)) > 0) {
		/* Except in the last window, which is not full, the last
		 * CHUNK_BYTES are searched as part of the next one. */
		const size_t n = got < WINDOW ? (size_t)got :
				 WINDOW - CHUNK_BYTES;

		offset += scan(c, window, n, (size_t)got, offset);
		if (got < WINDOW)
			break;
	}
	mem_free(window);
	close(fd);
	return got < 0 ? -1 : 0;
}

/* Orders by identity. Of equal ones the best comes first: whole before cut, not
 * PARTIAL before PARTIAL, then the longest. A piece without end notes tells
 * that the recorder did not end: those of earlier pieces must not hide that. */
ORDER_BY(by_key, struct in_place, UP(key.recording) ?: UP(key.process) ?:
	 UP(key.thread) ?: UP(key.level) ?: UP(key.number) ?: DOWN(whole) ?:
	 UP(is_of_piece) ?: UP(partial) ?: DOWN(words) ?: UP(file) ?:
	 UP(offset))

/* Orders by time. A thread's numbers rise, because its ticks do. Ticks of
 * different recordings are not comparable; their order here does not matter. */
ORDER_BY(by_time, struct in_place, UP(tick_end) ?: by_key(a, b))

static bool is_same_key(const struct in_place *a, const struct in_place *b)
{
	return in_is_same_stream(&a->key, &b->key) &&
	       a->key.number == b->key.number;
}

/* First by identity, to keep the best copy of each chunk and to count the
 * others; then by time, the order in which chunks are passed on. */
void in_carve_sort(struct in_carve *c)
{
	struct in_place best = { 0 };
	size_t kept = 0;

	if (!c->count)
		return;
	qsort(c->places, c->count, sizeof(*c->places), by_key);
	for (size_t i = 0; i < c->count; i++) {
		const struct in_place place = c->places[i];

		if (i > 0 && is_same_key(&best, &place)) {
			c->duplicates += place.whole;
			/* A shorter copy is no full substitute. */
			if (!place.whole && best.whole &&
			    (place.words > best.words ||
			     best.is_of_piece > place.is_of_piece))
				add_broken(c, &place);
			/* The end notes of one piece do not end two. */
			if (place.whole && best.is_of_piece) {
				best.is_of_piece = false;
				kept--;
			}
			continue;
		}
		best = place;
		if (place.whole)
			c->places[kept++] = place;
		else
			add_broken(c, &place);
	}
	c->count = kept;
	order_sort(c->places, kept, by_time);
}

size_t in_carve_find(const struct in_carve *c, const struct in_key *key)
{
	const struct in_place at = { .key = *key };

	return ORDER_FIRST(i, c->count, by_key(&c->places[i], &at) < 0);
}

/* Opens the file each time, so that a trace of many files needs one
 * descriptor. */
const struct chunk *in_carve_load(struct in_carve *c, size_t i)
{
	const struct in_place *const place = &c->places[i];
	struct in_place now;
	const int fd = open(c->files[place->file], O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return NULL;
	got = read_all(fd, c->bytes, place->bytes, place->offset);
	close(fd);
	return got == (ssize_t)place->bytes ?
	       open_chunk(c->bytes, place->bytes, &now) : NULL;
}
