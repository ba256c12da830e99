/* in_carve.h - chunks found in files without help from CTF: wherever a magic is
 * followed by a whole chunk with the right checksum, packed or, in version 1 of
 * the format, as it is.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/chunk/unpack.h"

struct chunk;

/* The identity of a chunk: copies of one chunk have the same. The number counts
 * the chunks of a stream from 0 on; recording is a random number, process and
 * thread are serials. */
struct in_key {
	uint64_t recording, number;
	uint32_t process, thread, level;
};

struct in_key in_key_of(const struct chunk *chunk);
bool in_is_same_stream(const struct in_key *a, const struct in_key *b);

/* A chunk in a file, or what looked like one and was refused. Of a refused one
 * key, tick_end, words and partial are what its header says, which may be
 * nonsense. */
struct in_place {
	struct in_key key;
	uint64_t tick_end;    /* when it was closed */
	uint64_t offset;      /* bytes; of any alignment */
	/* all of its words, header included; the bytes that it takes */
	uint32_t words, bytes;
	uint32_t file;        /* index in files */
	bool partial;         /* it has the flag PARTIAL */
	bool is_of_piece;     /* end notes of a piece, not of the whole */
	bool whole;           /* false: it was refused */
};

/* How many bad places are remembered; all of them are counted. */
enum { IN_BROKEN = 10 };

/* Holds places, not chunks: a trace may be larger than memory. */
struct in_carve {
	struct in_place *places;  /* after in_carve_sort: each whole chunk
	                           * once, by the tick at which it was closed;
	                           * the numbers of a thread rise */
	size_t count, room;
	bool has_padding;         /* set by the caller: the files are undamaged
	                           * CTF, and a head that is cut off in them is
	                           * no lost chunk */
	bool seals_only;          /* set by the caller: packed chunks are not
	                           * opened, so that nothing is known of their
	                           * ticks */
	const char **files;       /* borrowed paths */
	size_t file_count, file_room;
	struct unpack_found found; /* whole ones, with duplicates */
	uint64_t bad, duplicates; /* bad: refused, and not found whole */
	struct in_place broken[IN_BROKEN]; /* the first bad ones */
	size_t broken_count;
	unsigned char bytes[PACKED_MAX_WORDS * 8]; /* of the chunk that was
	                                            * loaded last */
};

/* Never NULL. */
struct in_carve *in_carve_new(void);
void in_carve_free(struct in_carve *);

/* Search a file, whose path is borrowed. 0, or -1 if it cannot be read, without
 * a cause. After the last file call in_carve_sort. The same carver may search
 * more files later; then sort again. */
int in_carve_file(struct in_carve *, const char *path);
void in_carve_sort(struct in_carve *);

/* With seals_only, after in_carve_sort: how many places come up to that of a
 * chunk, by streams and numbers. */
size_t in_carve_find(const struct in_carve *, const struct in_key *);

/* Read the chunk of place i (in the order of in_carve_sort) again. The caller
 * drops it (chunk/held.h). NULL without a cause if the file has changed in the
 * meantime. */
const struct chunk *in_carve_load(struct in_carve *, size_t i);
