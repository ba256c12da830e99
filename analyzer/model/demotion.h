/* demotion.h - functions whose calls were not recorded for a time, to keep a
 * budget (weft record --budget).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/cct.h"

/* What a thread did meanwhile: its time on the CPU, ns, and how many calls of
 * any function that time has hooks of. One that was only counted is half. */
struct demotion_span { double time, hooks; };

/* All times but a span's are ticks. A window, in which calls were recorded as a
 * sample: how many of this function, and in what. until: from the window on to
 * the next, in time without this function's calls. */
struct demotion_look {
	uint64_t window;
	double calls;
	struct demotion_span in, until;
};

/* A function in a thread: how often a thread calls it is its own matter, and
 * windows slow some threads more than others. */
struct demotion_part {
	uint32_t thread;           /* index */
	uint64_t skipped;          /* recorded time without its calls */
	double rate;               /* calls a second of CPU time, at first */
	struct demotion_span before; /* its first window */
	struct demotion_look *look; size_t looks, room;
};

/* A function. */
struct demotion {
	func_id func;
	uint64_t since;            /* when first */
	uint64_t skipped, counted; /* recorded time without its calls, and with
	                            * its calls counted */
	uint64_t rate, ns;         /* why: calls a second, mean length */
	struct demotion_part *part; size_t parts, room;
	/* Filled in by estimate_apply. */
	uint64_t counted_calls;    /* without records */
	uint64_t estimated;        /* calls that were not recorded, */
	uint64_t error;            /* and one standard error; */
	uint32_t is_unknown;       /* 1: nobody knows how many more */
};

/* place: by function, its index + 1; 0: it was never demoted. part_of: by
 * function and thread, the part's index + 1. has_module: 1 by process and
 * module, where a chunk of the process says where the module lies. Both are
 * NULL where there is nothing in them. */
struct demotions {
	struct demotion *at; size_t count, room;
	uint32_t *place; size_t places;
	struct map *part_of, *has_module;
};

/* Find or add; valid until one is added. */
struct demotion *demotion_of(struct demotions *, func_id);
/* NULL: the function was never demoted. */
const struct demotion *demotion_find(const struct demotions *, func_id);
/* Find or add; valid until one is added. */
struct demotion_part *demotion_part(struct demotions *, struct demotion *,
				    uint32_t thread);
/* The window that began at that tick; and the last one that began before it, or
 * NULL. */
struct demotion_look *demotion_look(struct demotion_part *, uint64_t window);
struct demotion_look *demotion_last(struct demotion_part *, uint64_t tick);
/* A chunk of the process says where the module lies. */
void demotions_note_module(struct demotions *, uint32_t process, elf_id);
bool demotions_have_module(const struct demotions *, uint32_t process, elf_id);
/* By function, up to the number of functions: DEMOTED, and CALLS_DEMOTED if a
 * node of the tree shows that it calls such a one. Samples may lie below calls
 * of which they have no node. The caller's; NULL: none were demoted. */
enum { DEMOTED = 1, CALLS_DEMOTED = 2 };
uint8_t *demotions_mark(const struct demotions *, struct cct *,
			size_t functions);
void demotions_free(struct demotions *);
