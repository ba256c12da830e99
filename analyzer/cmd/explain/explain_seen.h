/* explain_seen.h - what weft explain reads of a trace beside its tree.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/findings/explain.h"
#include "analyzer/load/load.h"

/* Of an object that threads wait for: who has it, for what that one waits
 * meanwhile, and so on. */
enum { EXPLAIN_CHAIN = 6 };
struct explain_told {
	struct {
		func_id place;   /* where the object lies, or 0 */
		uint64_t address;
		func_id holder;
	} chain[EXPLAIN_CHAIN];
	size_t chain_length;
	/* What is shown of a name in what follows; NULL: all of it. Set by the
	 * caller. */
	char *(*shorten)(const char *name);
	/* Of the last one of the chain: the stack that let others go on, and
	 * what its thread was doing before; NULL: not known. */
	char *held_by, *meanwhile;
};

/* Of a whole trace; else nothing is seen. told: of seen->lock, and of
 * seen->event; only shorten is set. explain_unsee frees what it made, also
 * where it fails. 0, or -1: an error was added. */
int explain_see(struct load *, struct explain_seen *, struct explain_told[2]);
/* How long Lua collected garbage in the slow call, if there is one; a few slow
 * calls are told only if they did not wait for a core or for somebody to want
 * something. 0, or -1: an error was added. */
int explain_see_slow(struct load *, struct explain *);
void explain_unsee(struct explain_seen *, struct explain_told[2]);

/* By function: bytes in use at the end more than at half of the time; lua: of
 * those, what Lua's own code took. Of the time after its first eighth: early:
 * bytes that last from its second quarter on more than from its first; late:
 * from its third more than from its second. */
struct explain_takers {
	double *grown, *lua, *early, *late;
	size_t funcs;
	double part;             /* that much of a quarter is half of the whole
	                          * time */
};

/* Of these, and of half and end: func, and all that is said of it and of the
 * second one. */
void explain_choose_taker(struct explain_heap *, const struct explain_takers *);
