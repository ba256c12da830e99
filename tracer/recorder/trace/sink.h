/* sink.h - where finished chunks go: to LTTng while it works, then to the spill
 * file; if that fails, they are counted. With a flight recorder they stay in
 * memory.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/chunk_queue.h"
#include "tracer/recorder/trace/archive.h"
#include "tracer/recorder/trace/delivery.h"
#include "tracer/recorder/trace/census.h"
#include "tracer/recorder/trace/flight_ring.h"
#include "tracer/recorder/trace/packer.h"
#include "tracer/recorder/trace/trace_folder.h"

/* Where chunks go now, and all that were sent. */
struct sink {
	uint64_t chunk[CHUNK_MAX_WORDS]; /* is made here */
	struct packer packer;
	enum compress compress;
	/* What may still lie in LTTng's rings, so that none is lost with a
	 * daemon that dies; or all there is, with a flight recorder. */
	struct chunk_queue backlog;
	struct flight_ring *flight; /* NULL: chunks are written */
	struct spill spill;
	bool lttng;                /* chunks go to LTTng; set once it was
	                            * joined */
	bool spilled;              /* chunks lie in the spill file */
	bool told;                 /* that the spill file cannot be written */
	struct delivery delivery;    /* of them all, wherever they went, */
	struct census census;      /* and whose they were */
	struct archive *archive;   /* is shown each chunk; NULL: none */
};

/* bytes: of the backlog, which must have room for what LTTng's rings hold, or
 * a flight recorder. The spill file is opened apart from this, by the caller.
 * Returns negative if there is no memory. */
int sink_init(struct sink *s, uint64_t bytes);

/* Set LTTNG_UST_ variables of this process. The recorded program must have been
 * forked before. */
void sink_set_environment(void);
/* Load the provider's shared object and wait until a session wants its event. A
 * thread may do this while no chunk goes to LTTng. NULL, or why it fails. */
const char *sink_open_provider(const char *path);

/* Room to make the next chunk in: CHUNK_MAX_WORDS. Each call gives the same. */
uint64_t *sink_room(struct sink *s);
/* Pack the sealed chunk that was made there for the reserved place of the spill
 * file: SPILL_RESERVE_WORDS, zeros at the end, valid until a chunk is sent. It
 * must have at most CHUNK_MAX_WORDS / 2 words. */
const uint64_t *sink_reserve(struct sink *s, uint32_t words);
/* What a chunk of a thread has, which is sent later. */
void sink_note(struct sink *s, const struct chunk_items *items);
/* Send a sealed chunk, made there or elsewhere. May take a second if LTTng's
 * ring is full. Never fails: a chunk that can be written nowhere is counted. */
void sink_send(struct sink *s, const uint64_t *chunk, uint32_t words);

/* Trust LTTng no longer: all that may still lie in its rings, and all chunks
 * from now on, go to the spill file. Tells the user why; does nothing the
 * second time. */
void sink_give_up_lttng(struct sink *s, const char *why);
/* Give LTTng up if no session wants the event any more. */
void sink_check_lttng(struct sink *s);
