/* sink.h - where finished chunks go: to LTTng while it works, then to the spill
 * file; if that fails, they are counted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_TRACE_SINK_H
#define WEFT_TRACER_RECORDER_TRACE_SINK_H

#include "tracer/recorder/trace/archive.h"
#include "tracer/recorder/trace/lua_names.h"
#include "tracer/recorder/trace/selection.h"
#include "tracer/recorder/trace/arrival.h"
#include "tracer/recorder/trace/census.h"
#include "tracer/recorder/trace/packer.h"
#include "tracer/recorder/trace/trace_folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The packed chunks that may still lie in LTTng's rings. They are kept until
 * newer ones need the room, so that none is lost with a daemon that dies.
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

/* Where chunks go now, and all that were sent. lttng never becomes true again
 * once it is false. */
struct sink {
	uint64_t chunk[CHUNK_MAX_WORDS]; /* is made here */
	struct packer packer;
	enum compress compress;
	bool is_urgent;            /* the pool fills up */
	struct backlog backlog;
	struct spill spill;
	bool lttng;                /* chunks go to LTTng */
	bool spilled;              /* chunks lie in the spill file */
	uint64_t chunks;           /* sent, wherever they went */
	bool told;                 /* that the spill file cannot be written */
	struct arrival arrival;    /* of them all, wherever they went, */
	struct census census;      /* and whose they were */
	/* These are shown each chunk; NULL: none. */
	struct archive *archive;
	struct lua_names *names;
	struct selection *selection;
};

/* ring_bytes: the size of LTTng's rings; 0: without LTTng. The spill file is
 * opened apart from this, by the caller. Returns negative if there is no
 * memory. */
int sink_init(struct sink *s, uint64_t ring_bytes);

/* Load the provider's shared object and wait until a session wants its event.
 * It sets LTTNG_UST_ variables of this process: the recorded program must have
 * been forked before. Prints why and returns negative if it fails. */
int sink_open_provider(const char *path);

/* Room to make the next chunk in: CHUNK_MAX_WORDS. Each call gives the same. */
uint64_t *sink_room(struct sink *s);
/* Pack the sealed chunk that was made there for the reserved place of the spill
 * file: SPILL_RESERVE_WORDS, zeros at the end, valid until a chunk is sent. It
 * must have at most CHUNK_MAX_WORDS / 2 words. */
const uint64_t *sink_reserve(struct sink *s, uint32_t words);
/* Send a sealed chunk, made there or elsewhere. May take a second if LTTng's
 * ring is full. Never fails: a chunk that can be written nowhere is counted. */
void sink_send(struct sink *s, const uint64_t *chunk, uint32_t words);

/* Trust LTTng no longer: all that may still lie in its rings, and all chunks
 * from now on, go to the spill file. Tells the user why; does nothing the
 * second time. */
void sink_give_up_lttng(struct sink *s, const char *why);
/* Give LTTng up if no session wants the event any more. */
void sink_check_lttng(struct sink *s);

#endif
