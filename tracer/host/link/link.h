/* link.h - the links of the program's modules: the words through which code of
 * one module calls a function of another. If this library was loaded into a
 * running program, it points the links of functions that it replaces to its
 * own ones, as if it had been preloaded, and restores them afterwards.
 *
 * link/ may use base/. It knows no function by name but its own module's.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* Was this library loaded by a recorder? */
bool link_is_late(void);

/* Lead the links of all modules that are loaded now. Returns how many are led,
 * or ATTACH_LEAD_LATER and the like. Takes the loader's lock. */
long link_lead(void);

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
