/* backlog.h - the chunks that may still lie in LTTng's rings: kept until newer
 * ones need the room, so that a dead daemon takes nothing with it.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_BACKLOG_H
#define WEFT_TRACER_RECORDER_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

/* Entries lie in words[] in the order of their age, wrapping at the end:
 *   from <= next (mod ENTRIES), none overlaps another. */
struct recent {
	uint64_t *words;
	size_t room, head;         /* in words; head: where the next goes */
	struct recent_entry *entry;
	size_t from, next;         /* of entry[], counted without wrapping */
};

/* Keep at least that many bytes. Negative: no memory. */
int recent_init(struct recent *r, size_t bytes);
void recent_fini(struct recent *r);

/* Room for CHUNK_MAX_WORDS, valid until recent_keep or the next recent_room:
 * the oldest entries make way. */
uint64_t *recent_room(struct recent *r);
/* What was written to recent_room's place is an entry of that many words. */
void recent_keep(struct recent *r, uint32_t words);

/* Call back for all entries, oldest first, until it gives non-zero. */
void recent_each(const struct recent *r,
		 int (*call)(void *ctx, const uint64_t *words, uint32_t n),
		 void *ctx);
/* Of all entries together. */
uint64_t recent_bytes(const struct recent *r);
void recent_forget(struct recent *r);

#endif
