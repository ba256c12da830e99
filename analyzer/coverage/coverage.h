/* coverage.h - all functions of a session's modules, with their calls: those that
 * ran and those that did not.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_COVERAGE_COVERAGE_H
#define WEFT_ANALYZER_COVERAGE_COVERAGE_H

#include "analyzer/load/load.h"
#include "analyzer/sym/sym_cold.h"

struct cold_row {
	elf_id module;
	const struct sym_function *function;
	uint64_t calls;
};

/* Why a function has no calls, in the order of the table; COLD_RAN: it has. */
enum cold_why {
	COLD_NEVER, COLD_EXCLUDED, COLD_UNFLAGGED, COLD_UNHOOKED, COLD_INLINED,
	COLD_UNREAD, COLD_RAN, COLD_WHYS
};

/* modules has an entry for each elf_id; entry 0 is not used. */
struct cold {
	struct sym_cold *modules;
	size_t (*counts)[COLD_WHYS]; /* of each module's functions */
	size_t module_count;
	struct cold_row *rows;       /* by reason, module, file, line */
	size_t count;
	struct arena *arena;
};

struct cold *cold_new(struct load *);
void cold_free(struct cold *);

enum cold_why cold_why(const struct cold_row *);
/* The reason in a few words; "ran". */
const char *cold_text(enum cold_why);

#endif
