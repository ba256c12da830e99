/* module_functions.h - all functions that an ELF file names, and whether each
 * can be recorded. To be called in a process that may crash: the file is
 * untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/coverage/hook_code.h"

/* Whether calls of a function can be recorded, and why not. */
enum function_state {
	FUNCTION_RECORDED,   /* calls the hook: every call is recorded */
	FUNCTION_EXCLUDED,   /* does not, though its file was built so */
	FUNCTION_UNFLAGGED,  /* does not, nor does any other of its file */
	FUNCTION_UNHOOKED,   /* does not; how its file was built is not known */
	FUNCTION_INLINED,    /* has no code of its own: inlined everywhere */
	FUNCTION_UNREAD,     /* its machine code cannot be read */
	FUNCTION_RESUMED,    /* does not: clang's part of a coroutine */
	FUNCTION_STATES
};

/* Of one function, no more than so many are kept. */
enum { FUNCTION_ENTRIES = 4 };

/* name is demangled and not ""; file is "" and line 0 if not known. Addresses
 * are those in the file, without the load bias. size is in bytes, of all of its
 * code: its clones and parts that were split off. */
struct module_function {
	const char *name, *file;
	uint32_t line;
	enum function_state state;
	uint64_t offset, size;       /* 0, 0: it has no code of its own */
	const uint64_t *entries;     /* addresses that the hook may have been
	                              * given: of the function and its clones */
	size_t entry_count;          /* at most FUNCTION_ENTRIES */
	size_t inlined;              /* places where it was inlined */
};

/* Gets a function, which is valid until the callback returns. */
typedef void (*module_function_fn)(void *ctx, const struct module_function *);

/* Call fn with each function that the file open as fd names: those of its debug
 * information, then those of its symbol table alone. code is the same module's,
 * perhaps from another file, and is borrowed; NULL makes functions with code
 * FUNCTION_UNREAD. fd stays the caller's. Returns 0, or -1, without a call, if
 * libdw cannot read it as an ELF file. */
int module_functions_list(int fd, const struct hook_code *code,
			  module_function_fn fn, void *ctx);
