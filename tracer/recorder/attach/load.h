/* load.h - libweft.so in a program that was started without it: it is loaded
 * there by ptrace, and has the program's calls led to it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/attach/stopped.h"

struct load {
	const struct remote *remote;
	struct sleeper_libc libc;
	struct stopped_call call;  /* with what is needed for any */
	uint64_t open, explain;    /* dlopen and dlerror there */
	uint64_t lead;             /* 0: its calls are not led by us */
	uint64_t modules, seen;    /* the loader's list of them; what it said */
	uint64_t next_ms, pause_ms; /* when to look at it again */
	bool told;                 /* that a library could not be led */
	char why[512];
};

/* Look at the program, whose file is given. of_libc: calls of libc's are
 * recorded, too, which every program has. All these return NULL, or why not;
 * the text is valid until the next call. */
const char *load_begin(struct load *l, const struct remote *r,
		       const char *program, bool of_libc);
/* Load the library: its path, which must mean the same file there. */
const char *load_library(struct load *l, const char *path);
/* Lead the calls of its modules to the library, which is loaded. */
const char *load_lead(struct load *l, const struct remote_module *weft);
/* The same for those that it has loaded since then, if there may be any. Where
 * it cannot be done, it is tried again later, and told. */
void load_poll(struct load *l, uint64_t now_ms);
