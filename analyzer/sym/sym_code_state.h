/* sym_code_state.h - what is known of a module's code; for sym_code.c, which
 * finds it out, and sym_look.c, which uses it, alone.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_CODE_STATE_H
#define WEFT_ANALYZER_SYM_SYM_CODE_STATE_H

#include "analyzer/sym/sym_code.h"

#include <gelf.h>
#include <string.h>

enum { STUBS = 16 };

/* A word that the loader fills in, and what with. */
struct slot { uint64_t at, holds; };

struct sym_code {
	Elf *elf;
	const unsigned char *bytes;   /* the whole file, */
	size_t size;
	GElf_Phdr *parts;             /* its executable parts */
	size_t part_count, part_room;
	uint64_t stubs[STUBS];        /* addresses that lead to the hook, */
	size_t stub_count;
	uint64_t gots[STUBS];         /* words that hold its address */
	size_t got_count;
	struct slot *slots;           /* by address */
	size_t slot_count, slot_room;
};

/* Is value in the list? */
static inline int sym_code_is_in(const uint64_t *list, size_t count,
				 uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return 1;
	return 0;
}

/* The signed 32-bit number that stands there. */
static inline int64_t sym_code_distance(const unsigned char *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The bytes at an address, and how many follow in its part; NULL: none. */
const unsigned char *sym_code_at(const struct sym_code *, uint64_t address,
				 uint64_t *room);

/* Orders slots, for qsort and bsearch. */
int sym_code_by_address(const void *a, const void *b);

#endif
