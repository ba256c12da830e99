/* sides.h - two sides of sessions that are compared: A B, or A... vs B...
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"

/* Both sides, each merged, and what is different. A side is a sum even if it is
 * of one session: only sums have statistics over sessions. */
struct sides {
	struct load before, after;
	bool is_raw;             /* not all have net times, or not of the same
	                          * kind: both sides are raw */
	bool is_lua_sampled;     /* of Lua functions there are no calls */
	struct diff *diff;       /* NULL until the caller makes it */
};

/* Does one of the operands say that there are two sides? A trace that is itself
 * called vs can be given as ./vs. */
bool sides_are(int count, char **operands);

/* Open both, filtered alike. Of two operands without the word vs, the first is
 * before. A side without calls is refused: everything would look new, or
 * gone. So is Lua that was sampled on one side only. wants_net: net times, if
 * all sessions have them. Returns CMD_OK, or another status with the cause in
 * the chain; call sides_close in any case. */
enum cmd_exit sides_open(struct sides *, bool wants_net, int count,
			 char **operands);
/* Frees the diff, too. */
void sides_close(struct sides *);

/* The function as it is after, if it is there (not 0), else as it was before.
 * The two sides have tables of functions of their own. */
const struct func *sides_func(const struct sides *, func_id before,
			      func_id after);
