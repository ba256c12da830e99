/* link.h - the links of the program's modules: the words through which code of
 * one module calls a function of another. Those of functions that weft stands
 * in for are led to its own: when the program starts, and when it opens a
 * library. If a recorder has loaded this library into a running program, links
 * are led when the recorder says so, and are restored afterwards.
 *
 * link/ may use base/. It knows by name only the functions that open libraries
 * (loading.c); those above tell it theirs (stand_in.h).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

struct link_map;

/* Was this library loaded by a recorder? */
bool link_is_late(void);

/* Was there a link that could not be written? Its calls are not seen. */
extern HIDDEN _Atomic bool link_refused;

/* Called if a library that the program opened has run its constructors with
 * hooks that were not ours, as it found libc's first. NULL: nothing is. */
extern HIDDEN void (*link_late)(void);

/* Lead the links of all modules that are loaded now. Returns how many are led,
 * or ATTACH_LEAD_LATER and the like. Takes the loader's lock. */
long link_lead(void);

/* The same, if libraries were loaded or unloaded since. */
void link_lead_new(void);
/* The same, if dlopen has opened one. */
void link_lead_opened(void);

/* The function of that name in the first library of the program that has one,
 * ours left out; NULL: none has. At the start alone. */
void *link_elsewhere(const char *name);

/* The function of that name that this module finds where all search, else in
 * itself and its own libraries; NULL: none. May leave an error for dlerror. Not
 * hook-safe. */
void *link_found_by(const struct link_map *map, const char *name);

/* Put all links back that are led. Hook-safe. False: not now, since a module is
 * being closed, or another thread is at it. */
bool link_put_back(void);

/* Before and after the real dlclose: meanwhile none is put back. sp: where the
 * caller's frame is. */
void link_close_begin(uint64_t sp);
void link_close_end(uint64_t sp);
/* The thread is, or will be, at sp: it has left what lies below. Hook-safe. */
void link_jumped(uint64_t sp);
/* In a child of fork. */
void link_forked(void);
