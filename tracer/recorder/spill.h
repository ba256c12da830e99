/* spill.h - DIR/spill.weft: chunks back to back, for when LTTng cannot.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_SPILL_H
#define WEFT_RECORDER_SPILL_H

#include <stdbool.h>
#include <stdint.h>

/* The file's first 64 KiB are reserved on the disk from the start and hold a
 * META chunk: an empty one until spill_close puts the loss record there. */
enum { SPILL_RESERVE_WORDS = 8192 };

struct spill {
	int folder, fd;
	uint64_t end;              /* bytes that are whole chunks */
};

/* placeholder: SPILL_RESERVE_WORDS words. Negative: errno says why. */
int spill_open(struct spill *s, int folder, const uint64_t *placeholder);
/* Append a chunk, wholly or not at all. Negative: not written. */
int spill_write(struct spill *s, const uint64_t *words, uint32_t n);
/* Was the file removed? What is in it, and what comes, goes with it. */
bool spill_is_gone(const struct spill *s);
/* Put the last chunk, SPILL_RESERVE_WORDS long, at its reserved place. */
int spill_close(struct spill *s, const uint64_t *last);
/* Nothing was spilled: remove the file. */
void spill_discard(struct spill *s);

#endif
