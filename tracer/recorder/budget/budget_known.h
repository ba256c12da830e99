/* budget_known.h - the native functions and Lua states that chunks have named.
 * Knows nothing of what calls cost.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/budget/budget_rule.h"
#include "tracer/recorder/names/chunk_names.h"

enum {
	BUDGET_NONE = UINT32_MAX,
	BUDGET_MODULES = 4096,
};

struct budget_known {
	uint64_t id;               /* as in verdict.h */
	uint32_t vm;               /* serial of the Lua state that it is, */
	bool sampled;              /* and whether that was sampled */
	uint64_t seen_at;          /* at that tick, last */
	double calls, ticks;       /* since the last change; ticks: of calls
	                            * that were recorded */
};

struct budget_module {
	uint64_t hash;
	bool is_weft;
};

struct budget_functions {
	struct budget_known *known;       /* by number */
	struct budget_function *function; /* the same, for the rule */
	uint32_t n, room, most;
	struct name_set by_id;            /* number + 1 */
	struct budget_module *module;     /* BUDGET_MODULES */
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
/* The module's index, or BUDGET_NONE. */
uint32_t budget_functions_module(struct budget_functions *f,
				 const struct module_item *m);
/* The function's number. It is added, unless the user has chosen what is done
 * with it, or there is no room: then it is BUDGET_NONE. */
uint32_t budget_functions_find(struct budget_functions *f, uint32_t module,
			       uint64_t offset);
/* The same of the Lua state with this serial; of the first 1,024 alone. */
uint32_t budget_functions_vm(struct budget_functions *f, uint32_t serial);
