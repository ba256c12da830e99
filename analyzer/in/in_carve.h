/* in_carve.h - chunks found in files without help from CTF: wherever the magic
 * stands and a whole chunk with the right checksum follows.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_CARVE_H
#define WEFT_ANALYZER_IN_IN_CARVE_H

#include <stddef.h>
#include <stdint.h>

struct chunk;

/* What tells a chunk from all others. */
struct in_key {
	uint64_t recording, number;
	uint32_t process, thread, level;
};

struct in_key in_key_of(const struct chunk *chunk);

/* A chunk in a file, or what looked like one and was refused (whole is 0). */
struct in_place {
	struct in_key key;
	uint64_t tick_end;
	uint64_t offset;      /* bytes; of any alignment */
	uint32_t words;
	uint32_t file;        /* index in files */
	uint8_t partial, whole;
};

enum { IN_BROKEN = 10 };

struct in_carve {
	struct in_place *places;  /* after in_carve_sort: whole ones only, each
	                           * chunk once, by the time they were closed,
	                           * the numbers of a thread rising */
	size_t count, room;
	const char **files;       /* borrowed paths */
	size_t file_count, file_room;
	uint64_t bad, duplicates; /* bad: refused, and found nowhere whole */
	struct in_place broken[IN_BROKEN]; /* of those, the first ones: where */
	size_t broken_count;
	uint64_t words[16384];    /* the chunk loaded last */
};

struct in_carve *in_carve_new(void);
void in_carve_free(struct in_carve *);

/* Look through a file. 0, or -1 when it cannot be read (no cause is added). */
int in_carve_file(struct in_carve *, const char *path);
void in_carve_sort(struct in_carve *);

/* Read place i's chunk again: 0 and a view that lives until the next call, or
 * -1 when the file has changed meanwhile. */
int in_carve_load(struct in_carve *, size_t i, struct chunk *view);

#endif
