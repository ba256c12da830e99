/* selection.h - which functions are left out of a recording, or only counted,
 * by patterns for their names: finds the functions of programs, libraries and
 * Lua sources, and puts verdicts into the pool. What it cannot name with
 * certainty is recorded: the analyzer, which has the patterns from the trace,
 * leaves that out or counts it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pattern.h"
#include "tracepoints/verdict.h"
#include "tracer/recorder/names/lua_names.h"

/* What the user chose. Patterns are as in tracepoints/pattern.h; NULL: none. */
struct selection_wish {
	char *only, *skip, *count;
	char *start;               /* alone: recording begins with these */
};

/* The alternatives of a pattern; none: there is no pattern. */
struct selection_set {
	struct pattern *all;
	size_t count;
};

struct selection {
	struct selection_set only, skip, count, start; /* as wished */
	_Atomic uint64_t *verdicts; /* in the pool; not trusted */
	uint32_t slots;
	struct lua_names *names;   /* NULL: Lua sources are not read */
	struct name_set seen;      /* modules, and Lua functions */
	uint64_t skipped;          /* functions that are left out, or that
	                            * recording begins with */
	uint64_t counted;          /* that are counted only */
	uint64_t no_room;          /* that had no room in the table */
};

/* pattern_list_add, as far as the notes have room. Nobody frees *to. */
const char *selection_add(char **to, const char *pattern);

/* Patterns in pieces, wherever they are cut: the next one, at most size bytes
 * with its NUL, from *at, which moves on. False: there is no more. */
bool selection_piece(const char **at, char *to, size_t size);

/* The names are the caller's, and may be NULL. Nothing is ever freed. Returns
 * negative if there is no memory. */
int selection_init(struct selection *s, const struct selection_wish *wish,
		   _Atomic uint64_t *verdicts, uint32_t slots,
		   struct lua_names *names);
/* The program that is about to start: its own functions are known before it
 * calls them. */
void selection_program(struct selection *s, const char *path);
/* A thread met this module or Lua source of a process, and waits to hear which
 * of its functions it is that recording begins with. hash: as in verdict.h. */
void selection_answer(struct selection *s, uint32_t pid, uint64_t hash,
		      const char *name);
/* What a chunk names. */
void selection_note(struct selection *s, const struct chunk_items *items);
