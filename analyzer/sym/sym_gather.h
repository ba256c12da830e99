/* sym_gather.h - functions put together from the parts in which debug
 * information and symbol tables tell of them: code, clones, inlined places.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_GATHER_H
#define WEFT_ANALYZER_SYM_SYM_GATHER_H

#include "analyzer/sym/sym_die.h"
#include "analyzer/sym/sym_list.h"

/* A run of machine code of a function. */
struct sym_piece { uint64_t begin, size; uint32_t next; };

struct sym_group {
	char *name, *file;
	uint32_t line, unit;         /* unit: index; 0: none tells of it */
	uint32_t piece;              /* its first; 0: none */
	uint64_t size;
	uint64_t entries[SYM_ENTRIES];
	size_t entry_count;
	size_t inlined;
	char *places[SYM_PLACES];
	size_t place_count;
	int looks;                   /* of sym_code_look */
};

/* What is known of how a source file was built. */
struct sym_built { int has_flag, has_no_flag, is_hooked; };

/* Invariants: entry 0 of each array is nobody. */
struct sym_gather {
	const struct sym_code *code; /* may be NULL */
	struct sym_group *groups;
	size_t group_count, group_room;
	struct sym_piece *pieces;
	size_t piece_count, piece_room;
	struct sym_built *units;
	size_t unit_count, unit_room;
	struct map *by_key;          /* to groups */
	struct map *by_begin;        /* of pieces, to groups */
};

void sym_gather_init(struct sym_gather *, const struct sym_code *);
void sym_gather_fini(struct sym_gather *);

/* All functions of a unit of the debug information. */
void sym_gather_unit(struct sym_gather *, Dwarf_Die *unit);

/* A function of the symbol table, unless its code was known before. */
void sym_gather_symbol(struct sym_gather *, const char *name, uint64_t begin,
		       uint64_t size);

#endif
