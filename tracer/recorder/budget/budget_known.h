/* budget_known.h - the native functions that chunks have named, and when which
 * verdict held for them. Knows nothing of what calls cost.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/budget/budget_rule.h"
#include "tracer/recorder/names/chunk_names.h"

enum {
	BUDGET_NONE = UINT32_MAX,
	BUDGET_MODULES = 4096,
	BUDGET_MODULE_WORDS = 48,  /* of an item, at most */
	BUDGET_SPANS = 4,          /* of a function: the last ones are kept */
};

/* For so long, in ticks, calls were counted or skipped. to is UINT64_MAX while
 * that holds; 0: the span was not used yet. */
struct budget_span { uint64_t from, to; enum verdict verdict; };

struct budget_known {
	uint64_t id;               /* as in verdict.h */
	uint32_t module;
	uint64_t offset;
	double calls, ticks;       /* since the last change; ticks: of calls
	                            * that were recorded */
	double seen, looked_s;     /* calls in windows, their time; fading */
	uint32_t spans;            /* so far; the last ones are kept: */
	struct budget_span span[BUDGET_SPANS];
};

/* item: as a chunk had it, but for its number, and for where it lies: that is
 * true of one process only. */
struct budget_module {
	uint64_t hash;
	bool is_weft;
	uint64_t *item;
};

struct budget_functions {
	struct budget_known *known;       /* by number */
	struct budget_function *function; /* the same, for the rule */
	uint32_t n, room, most;
	uint32_t *slot;                   /* 2 * room: number + 1 */
	uint32_t *spanned, spanned_n;     /* numbers of those with spans */
	struct budget_module *module;
	uint32_t modules;
	uint32_t refused;          /* sightings of what had no room */
	/* The pool's: what already has a verdict there is not added. */
	const _Atomic uint64_t *verdicts;
	uint32_t verdict_slots;
};

/* most: functions; more are refused. verdicts: borrowed. Returns negative if
 * there is no memory. Nothing is ever freed. */
int budget_functions_init(struct budget_functions *f, uint32_t most,
			  const _Atomic uint64_t *verdicts, uint32_t slots);
/* The index of the module that the item tells of, or BUDGET_NONE. */
uint32_t budget_functions_module(struct budget_functions *f,
				 const struct seen_item *item,
				 const struct module_item *m);
/* The function's number. It is added, unless the user has chosen what is done
 * with it, or there is no room: then it is BUDGET_NONE. */
uint32_t budget_functions_find(struct budget_functions *f, uint32_t module,
			       uint64_t offset);
/* From now on, a tick, that verdict holds. */
void budget_functions_turn(struct budget_functions *f, uint32_t i,
			   enum verdict verdict, uint64_t now);
/* The function's first span with that verdict of which the time from the one
 * tick to the other has something; NULL: none. */
const struct budget_span *budget_known_span(const struct budget_known *k,
					    enum verdict verdict,
					    uint64_t from, uint64_t to);
