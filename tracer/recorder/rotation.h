/* rotation.h - a trace in pieces (--max-size, --max-files). spill.weft is the
 * newest piece; the ones before it are traces of their own, in folders beside
 * it. All of them together are one trace: who reads the folder reads all.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recording;

/* All zero is a valid start. */
struct rotation {
	uint32_t closed, removed;  /* pieces */
	bool is_closing;           /* notes are made for one that is not all */
	uint64_t *chunks;          /* in each that was closed */
	size_t room;
	uint64_t kept;             /* chunks in those of them that are kept */
};

/* Begin a new piece if a chunk more might make this one too large. Uses the
 * sink's room: call it when a chunk was sent. */
void rotation_poll(struct recording *r);
/* The recording is over: move the last piece to the others, if there are any,
 * and leave a spill.weft that gets the notes about all of them. */
void rotation_end(struct recording *r);
