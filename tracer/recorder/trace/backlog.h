/* backlog.h - a ring of packed chunks in memory: the newest ones, back to back.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

enum { BACKLOG_ENTRIES = 1 << 16 };

/* Packed chunks, each kept until newer ones need the room.
 *
 * The entries from ... next - 1 lie in words[] in the order of their age,
 * wrapping at the end. None overlaps another, and none lies at head. */
struct backlog {
	uint64_t *words;
	size_t room, head;         /* in words; the next one goes to head */
	struct backlog_entry *entry;
	size_t from, next;         /* counted without wrapping */
};

/* Keep at least that many bytes of the newest ones. Returns negative if there
 * is no memory. Address space is taken at once, pages only as they come. */
int backlog_init(struct backlog *b, size_t bytes);
/* For assertions: what the comment above says. */
bool backlog_valid(const struct backlog *b);
/* Room for PACKED_MAX_WORDS, valid until the next call of backlog_room or
 * backlog_keep. Removes the oldest entries that are in the way. */
uint64_t *backlog_room(struct backlog *b);
/* Keep the first words of that room as an entry. backlog_room must have been
 * called since the last one was kept. */
void backlog_keep(struct backlog *b, uint32_t words);
/* Call back for all entries, the oldest first. The callback must not change the
 * backlog. */
void backlog_each(const struct backlog *b,
		  void (*call)(void *ctx, const uint64_t *words, uint32_t n),
		  void *ctx);
/* The size of all entries together, in bytes. */
uint64_t backlog_bytes(const struct backlog *b);
/* Forget all entries. The room that was given out last is no longer valid. */
void backlog_clear(struct backlog *b);
/* Address space that takes pages as they are touched, for as long as the
 * recorder lives. NULL: there is none. */
void *backlog_reserve(size_t bytes);
