/* sink.h - where finished chunks go: to LTTng while it works, then to the
 * spill file, then into a count.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_SINK_H
#define WEFT_TRACER_RECORDER_SINK_H

#include "tracer/recorder/archive.h"
#include "tracer/recorder/backlog.h"
#include "tracer/recorder/spill.h"

#include <stdbool.h>
#include <stdint.h>

struct deliver {
	struct recent recent;
	struct spill spill;
	bool lttng;                /* LTTng is trusted still */
	bool spilled;              /* chunks lie in the spill file */
	uint64_t chunks;           /* sent, wherever they went */
	uint64_t lttng_bytes;      /* of chunks that LTTng took */
	uint64_t spilled_chunks, spilled_records;
	uint64_t lost_chunks, lost_records; /* delivered nowhere */
	uint64_t doubtful_chunks;  /* LTTng may or may not have written them */
	struct archive *archive;   /* is shown each chunk; NULL: none */
};

/* ring_bytes: size of LTTng's rings, 0 without LTTng. */
int deliver_init(struct deliver *d, uint64_t ring_bytes);

/* Where the next chunk is to be made: CHUNK_MAX_WORDS. */
uint64_t *deliver_room(struct deliver *d);
/* Send what was made there. */
void deliver_send(struct deliver *d, uint32_t words);

/* LTTng is not to be trusted any more: all that may still lie in its rings,
 * and all that comes, goes to the spill file. */
void deliver_give_up(struct deliver *d, const char *why);

#endif
