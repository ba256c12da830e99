/* trace_folder.h - the trace's folder, and the spill file in it, which takes
 * the chunks that LTTng cannot take.
 *
 * The folder trace/ writes what is kept: LTTng session, spill file, archive. It
 * uses base/, names/ and process/. It takes finished chunks and changes none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

#include <limits.h>

/* The folder that this recording has made. */
struct trace_folder {
	char path[PATH_MAX];       /* as the user named it */
	char absolute[PATH_MAX];
	int fd;
};

/* Make the folder wish, which must not exist. NULL stands for
 * weft-trace-PROGRAM-PID. Prints why and returns negative if it cannot. The
 * descriptor stays open as long as the recorder lives. */
int trace_folder_make(struct trace_folder *f, const char *wish,
		      const char *program);
/* Write a small file into it, which must not exist. Returns 0, or negative. */
int trace_folder_put(const struct trace_folder *f, const char *name,
		     const char *text);
/* Remove the folder and all that is in it. Errors are ignored. */
void trace_folder_remove(const struct trace_folder *f);
/* Call back for each file below path, or for path if it is a file, with its
 * path and size. */
void trace_folder_each(const char *path,
		       void (*call)(void *ctx, const char *path, uint64_t size),
		       void *ctx);
/* The size of all files below path, in bytes. 0 if there is no such folder. */
uint64_t trace_folder_bytes(const char *path);

/* The first 64 KiB of spill.weft are reserved on the disk from the start. They
 * hold a META chunk without notes until spill_close writes the end notes. Notes
 * take at most half a chunk. */
enum { SPILL_RESERVE_WORDS = PACKED_WORDS(CHUNK_MAX_WORDS / 2) };

/* The spill file. All offsets are multiples of 8 bytes. */
struct spill {
	int folder, fd;            /* fd is negative if the file is not open */
	uint64_t end;              /* bytes that are whole chunks */
	uint64_t chunks;           /* that were appended */
	bool is_full;              /* nothing more may be appended */
};

/* Make the file, with SPILL_RESERVE_WORDS words of placeholder. Returns
 * negative and sets errno if it cannot. */
int spill_open(struct spill *s, int folder, const uint64_t *placeholder);
/* Append n words, which are a packed chunk, wholly, or return negative, set
 * errno and append nothing. */
int spill_write(struct spill *s, const uint64_t *words, uint32_t n);
/* Whether the file was removed: all that is in it will be lost. */
bool spill_is_removed(const struct spill *s);
/* Write the last chunk, SPILL_RESERVE_WORDS long, to the reserved place, and
 * close the file. Returns 0, or negative. */
int spill_close(struct spill *s, const uint64_t *last);
/* Remove the file: nothing was written to it. */
void spill_discard(struct spill *s);
