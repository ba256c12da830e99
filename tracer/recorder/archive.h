/* archive.h - beside the trace, what naming its functions takes: the recorded
 * modules' files and debug files, by build-id, and the Lua sources. Files are
 * opened when a chunk first names them, and copied when the program has ended.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_ARCHIVE_H
#define WEFT_RECORDER_ARCHIVE_H

#include "tracepoints/chunk.h"
#include "tracer/recorder/elf_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* path: as the program has it, "" if it is not known whole. */
struct archive_file {
	char path[CHUNK_STRING_MAX + 1];
	bool is_lua;
	uint8_t id[ELF_ID_BYTES];
	unsigned id_size;
	uint32_t pid;
	int fd;                    /* negative: not kept open */
	const char *why;           /* it could not be had, or NULL */
};

struct archive {
	int folder;                /* descriptor of the archive */
	int list;                  /* of its file "contents" */
	struct archive_file *file;
	uint32_t files, room;
	uint32_t pinned;           /* files kept open meanwhile */
	uint64_t *seen;            /* hash table of names told of */
	uint32_t seen_n;
	uint32_t copied, missing, unlisted;
	uint64_t bytes, limit;
};

/* Make the folder "archive" in that one. Negative: says why. */
int archive_init(struct archive *a, int folder);
/* Remember what a finished chunk names. */
void archive_see(struct archive *a, const uint64_t *chunk, uint32_t words);
/* Open the file, wherever it is; negative: why says why not. */
int archive_open(struct archive_file *f);
/* The ELF file at path, if it is that build; negative: it is not. */
int archive_open_build(const struct archive_file *f, const char *path);
/* Copy it all. Then copied, missing and bytes tell what came of it. */
void archive_pack(struct archive *a);
/* The first that could not be had, with the reason; "" if there is none. */
const char *archive_missing(const struct archive *a);
/* After that nothing of it is left but what is on the disk. */
void archive_free(struct archive *a);

#endif
