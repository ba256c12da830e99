/* dynamic.h - what the dynamic section of a loaded module tells: the functions
 * that it defines, and the words through which it calls those of others.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

#include <elf.h>
#include <link.h>

/* A module's tables; NULL and 0 for those that it does not have. */
struct dynamic {
	const struct link_map *map;
	const ElfW(Sym) *symbols;
	const char *names;
	/* GNU's kind: count of buckets, first symbol, words of the filter,
	 * shift; then the filter, the buckets and the chains. */
	const uint32_t *hash;
	/* Of each symbol; which one of a name's is the usual one. */
	const uint16_t *versions;
	const ElfW(Verneed) *needs;  /* what it calls these, of others' */
	const ElfW(Rela) *relocs[2]; /* of functions called; all others */
	size_t sizes[2];             /* bytes */
};

/* False: it has no symbols. map: of a module that stays meanwhile. */
bool dynamic_read(struct dynamic *d, const struct link_map *map);

/* The function or variable of that name that the module itself defines; NULL:
 * none. What a resolver chooses when the program is loaded (IFUNC) is not
 * found, nor is anything in a module without GNU's hash table. */
void *dynamic_find(const struct dynamic *d, const char *name);
/* Has the module another function of that name, for programs that were linked
 * with an older version of it? */
bool dynamic_has_older(const struct dynamic *d, const char *name);
/* The version of another module's function that this symbol asks for; NULL: it
 * does not say. */
const char *dynamic_version(const struct dynamic *d, const ElfW(Sym) *symbol);

/* Has the module constructors, but for the one of the compiler's own? */
bool dynamic_has_constructors(const struct link_map *map);

/* The parts of the module that is mapped from there on, as its head lists them;
 * *count: how many. 0: it is not as usual. */
const ElfW(Phdr) *dynamic_parts(const void *start, int *count);

/* The module that this address lies in, or NULL. Takes no lock. */
const struct link_map *dynamic_module_at(const void *address);
