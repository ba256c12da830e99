/* stand_in.h - the functions of other libraries that libweft.so replaces.
 * It exports none of their names, so a program that asks whether there is such
 * a function hears the truth: the links to them are led instead (link.h).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/dynamic.h"

/* One of them. */
struct stand_in {
	const char *name;
	/* Ours; called in its place, with the same arguments. */
	void *function;
	/* Set to the function that the first link led to, before ours is ever
	 * called; if that is a C library's, to that of weft's own namespace,
	 * which is never closed. Links to another one are left alone: ours
	 * goes on to this. NULL: ours does not go on; links to a libc's are
	 * led. */
	void **real;
};

/* Called for links of a name of several libraries, each with ours of its own.
 * which: from 0, in the order of the names. original: where the link leads.
 * Returns ours; NULL: the link is left alone. */
typedef void *stand_in_choice(unsigned which, void *original);

/* Make such functions known; from a constructor of priority 102. all stays the
 * caller's, and lives as long as the library. wanted: where it is 0 when links
 * are led, these names have no stand-in; NULL: they always have. */
void stand_in_add(const struct stand_in *all, unsigned count);
void stand_in_add_names(const char *const *names, unsigned count,
			stand_in_choice *choose, const uint32_t *wanted);

/* The number of that name's stand-in, -1: it has none. */
int stand_in_of(const char *name);

/* What a link to this function, which lies in that module, is led to; NULL: it
 * is left alone. at may be NULL. */
void *stand_in_for(int number, void *original, const struct link_map *at);

/* Is it a libc, of this or another namespace? */
bool stand_in_is_libc(const struct link_map *map);
