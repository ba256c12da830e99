/* hook_code.h - what the machine code of a module tells: does a function call
 * the hook that -finstrument-functions puts at its beginning? Knows x86-64
 * only. To be called in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_COVERAGE_HOOK_CODE_H
#define WEFT_ANALYZER_COVERAGE_HOOK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook_code;

/* NULL if the file's code cannot be read: no ELF file, another machine, no
 * section headers. The descriptor stays the caller's, and open. */
struct hook_code *hook_code_new(int fd);
void hook_code_free(struct hook_code *);

/* Does anything in the module call the hook? */
bool hook_code_has_hook(const struct hook_code *);

/* Does the module have machine code at that address? */
bool hook_code_holds(const struct hook_code *, uint64_t address);

enum { HOOK_CODE_CALLS = 1, HOOK_CODE_OWN_ADDRESS = 2 };

/* Scan size bytes of code from address on. HOOK_CODE_CALLS: it calls the hook.
 * HOOK_CODE_OWN_ADDRESS: it holds the address entry. A function passes its own
 * address to the hook; the code of an inlined function passes the address of
 * the function's code elsewhere. */
int hook_code_scan(const struct hook_code *, uint64_t address, uint64_t size,
		   uint64_t entry);

#endif
