/* net_calibrated.h - net times without enough samples: raw times less what the
 * recorder found a call to cost on its machine.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORRECT_NET_CALIBRATED_H
#define WEFT_ANALYZER_CORRECT_NET_CALIBRATED_H

#include "analyzer/model/session.h"

/* What recording adds, ns: to a native function and its caller together, with
 * one standard error; to the caller of one that is only counted; to a Lua
 * function, and to its caller. */
struct call_cost { double native, error, counted, lua_received, lua_made; };

/* False: the recorder did not note it, or what it noted cannot be. error is
 * that of a native call. */
bool net_calibrated_cost(const struct session *, struct call_cost *);

/* Replace self by net self in the tree. False: nothing is known of what calls
 * cost, and nothing was changed. */
bool net_calibrated_apply(struct session *);

#endif
