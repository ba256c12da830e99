/* delivery.h - which of the chunks that were sent lie in the trace's files. All
 * other signs were seen to be wrong: LTTng reports no loss when the disk is
 * full, when its daemon writes to another folder of the same name, and when the
 * folder was removed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

/* One entry a chunk. Of PARTIAL copies the longest counts. All zero is a
 * valid start. */
struct delivery {
	struct delivery_sent *sent;
	size_t count, room;
	uint64_t recording;        /* files may contain chunks of others */
	bool is_blind;             /* no memory: what was lost is not known */
	/* Of those that were noted, by the last check. */
	uint64_t lost_chunks, lost_records;
	uint64_t past_chunks, past_records; /* of them, those forgotten */
};

/* Note a chunk that is sent, wherever it goes. */
void delivery_note(struct delivery *a, const struct chunk_header *h);
/* How many different chunks were noted since the last delivery_forget, without
 * end notes; less if is_blind. */
uint64_t delivery_count(struct delivery *a);
/* Look for all of them in the trace whose folder this is. Takes a page of disk
 * or cache for each chunk. May be called again when more was written. */
void delivery_check(struct delivery *a, const char *folder);
/* Forget the chunks that were checked, but not what was lost of them: their
 * files are where no later check looks. */
void delivery_forget(struct delivery *a);
