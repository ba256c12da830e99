/* correct.h - what is put right in a session after the replay, because
 * recording changed it: times that contain the cost of probes, calls that were
 * not recorded. A file for each.
 *
 * analyzer/correct uses base and model; prints nothing.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"

/* ---- samples ------------------------------------------------------------ */

/* Decide what each sample is of, and count the samples of each node. The
 * session's functions and places have names. A sample in weft's code counts as
 * the innermost call's probe. One in the code of a recorded function is that
 * function's own, even if the clock places it just outside of its call. One in
 * other code is other of the innermost call. */
void net_place(struct session *);

/* A function whose code was inlined at a place: its name, which is borrowed,
 * and where it is declared, 0: not known. */
struct inlined { const char *name; size_t length; uint32_t line; };
/* The next one of code_place.inlined, the outermost first; false: no more. *at
 * is that text at first. */
bool inlined_next(const char **at, struct inlined *);

/* ---- net times ---------------------------------------------------------- */

/* Replace self in the tree by net self, what calls would have taken without
 * probes, if there are enough samples, or else if the recorder noted what calls
 * cost: session.net says so, and cct_sampled has the raw times. Else nothing
 * changes.
 *
 * A function's net self is its samples times the period; a gamma prior of its
 * raw self less what its calls should have cost weighs as much as it is known
 * to be right. To this comes the time in which it did not run, and the time
 * in which it ran but could not be sampled (in the kernel), where that is more
 * than chance. Time without samples counts like the function's other time. The
 * variance is that of the function's net self. All of it is divided among the
 * function's nodes so that these add up. */
void net_apply(struct session *);

/* Self becomes raw again in the tree. */
void net_undo(struct session *);

/* Are there calls that samples do not tell from their callers, since they have
 * no records? Then times stay as recorded. */
bool net_hides_calls(const struct session *);

/* What recording adds, ns: to a native function and its caller together, with
 * one standard error; to the caller of one that is only counted; to a Lua
 * function, and to its caller. */
struct call_cost { double native, error, counted, lua_received, lua_made; };

/* False: the recorder did not note it, or what it noted cannot be. error is
 * that of a native call. */
bool net_calibrated_cost(const struct session *, struct call_cost *);

/* Replace self by net self without enough samples: raw times less what the
 * recorder found a call to cost on its machine. False: nothing is known of
 * that, and nothing was changed. */
bool net_calibrated_apply(struct session *);

/* ---- times of the program as it runs unrecorded -------------------------- */

/* Add the places of the session's reference to its places, so that they get
 * names with them. */
void reference_find_places(struct session *);

/* Replace self in the tree by what the reference tells, if there is one and no
 * calls are hidden: session.net says so. To be called after net_apply, which
 * tells how the time of a function is divided among its stacks; names holds the
 * names of code that is in no stack.
 *
 * The own time of a recorded function is its share of the reference. It is
 * divided among the function's nodes as their net or raw times are. The time of
 * code that is not recorded goes where the recording's own samples saw that
 * code; what they did not see gets a node of its own below the first root. The
 * variance is that of a Poisson count of samples, and of the scale. */
void reference_apply(struct session *, struct arena *names);

/* By node, what Lua functions ran, in ticks, and the sum of it at 0, where
 * LuaJIT's compiler was off; else NULL. For reference_apply: once other code is
 * divided, they get what the reference has of compiled code, as the interpreter
 * took it, and an error that holds any other division. Frees the times. */
double *interpreted_times(struct session *);
void interpreted_apply(struct session *, double *times);

/* Take over the reference of another session, in which the program ran and was
 * only sampled, and tell whose own code it found: reference_count.func. Names
 * of both are known. Times stay as they are. */
void reference_take(struct session *, struct session *from);

/* The function that stands for code that is not recorded, "NAME [sampled]".
 * 0: it has no name. */
func_id sampled_calls_func(struct session *, const struct code_place *,
			   struct arena *names);

/* ---- Lua that was sampled --------------------------------------------- */

/* Functions in which sampled VMs were get their time, which is that of the
 * recorded call below which they stand until then, raw or net. What samples say
 * that the call ran of Lua beyond that becomes the time of a node "[Lua, not
 * noted]" below it, with these samples; their places become PLACE_LUA. Called
 * once, after net_apply. */
void noted_apply(struct session *);

/* ---- waits that were not recorded --------------------------------------- */

/* Where calls that wait are recorded, and switches are known: the time in which
 * a thread slept in none of them becomes that of FUNC_OTHER_WAIT, called by
 * what was innermost. So the blocked time of these calls and of that function
 * is all there is. To be called once, when times are net or stay raw. */
void other_waits_add(struct session *);

/* ---- calls that were not recorded --------------------------------------- */

/* Were all calls only counted (--count-only)? They have times by samples alone,
 * and no sample tells which of them was open. */
bool counted_calls_are_all(const struct session *);
/* Mark the native functions that have calls without records: FUNC_COUNTED. */
void counted_calls_find(struct session *);
/* By function: is it marked, or does a node of the tree show that it calls such
 * a one? Samples may lie below calls of which they have no node. The caller's;
 * NULL: none is marked. */
uint8_t *counted_calls_mark(struct session *);
/* Calls of marked functions have times, if samples tell them: then their nodes
 * have no calls without times. To be called after net_apply. */
void counted_calls_time(struct session *);

/* In a tree of net times, give each function that samples found in code that is
 * not recorded (libc's, excluded functions, the kernel) a node below the
 * innermost recorded call, without calls, with its samples' part of that call's
 * self. Its name ends in " [sampled]" and
 * lives in the arena. Code without a name stays its caller's. all: false: only
 * where calls of counted functions may lie between the two, so that nobody
 * knows whose callee it is; there, code without a name has its module's. Where
 * all calls were only counted, that is below each thread. To be called once,
 * after net_apply; does nothing if times are not net. */
void sampled_calls_add(struct session *, struct arena *, bool all);
