/* coverage.h - all functions of a session's modules, with their calls: those
 * that were called and those that were not, and why.
 *
 * This folder reads the machine code and debug information of recorded modules.
 * It may use analyzer/base, model and sym; it knows nothing of commands or
 * output.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/coverage/coverage_module.h"
#include "analyzer/model/session.h"

/* Why a function has no calls, in the order of the table. COVERAGE_RAN: it has
 * calls. The others are function_state's; NEVER is FUNCTION_RECORDED without
 * calls. */
enum coverage_why {
	COVERAGE_NEVER, COVERAGE_EXCLUDED, COVERAGE_UNFLAGGED,
	COVERAGE_UNHOOKED, COVERAGE_RESUMED, COVERAGE_INLINED,
	COVERAGE_UNREAD, COVERAGE_RAN,
	COVERAGE_WHYS
};

/* A function. One that the compiler made more than once, such as an inline
 * function of a header, has a row for each copy of its code. */
struct coverage_row {
	elf_id module;
	const struct module_function *function;
	/* of all its entries, over the whole tree */
	uint64_t calls;
};

/* Everything is freed by coverage_free. modules and counts have an entry for
 * each elf_id; entry 0 is not used. */
struct coverage {
	struct coverage_module *modules;
	size_t (*counts)[COVERAGE_WHYS]; /* of each module's functions */
	size_t module_count;
	struct coverage_row *rows;   /* by reason, module, file, line */
	size_t count;
	struct arena *arena;         /* holds the texts */
};

/* Read the files of all modules, found as the options say, and join their
 * functions to the session's calls. Takes up to four times the options'
 * seconds. Never fails: a module that cannot be read says why in its
 * coverage_module. Freed with coverage_free, which allows NULL; does not
 * outlive the session. */
struct coverage *coverage_new(struct session *, const struct sym_options *);
void coverage_free(struct coverage *);

/* Why the function was not called, and that in a few words ("never called"),
 * which are static. */
enum coverage_why coverage_why(const struct coverage_row *);
const char *coverage_text(enum coverage_why);
