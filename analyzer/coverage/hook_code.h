/* hook_code.h - what the machine code of a module tells: does a function call
 * the hook that -finstrument-functions puts at its beginning? Knows x86-64
 * and aarch64. To be called in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook_code;

/* Read the module open as fd. NULL if the file's code cannot be read: no ELF
 * file, another machine, no section headers. The descriptor stays the caller's,
 * and must stay open until hook_code_free, which allows NULL. Addresses below
 * are those in the file, without the load bias. */
struct hook_code *hook_code_new(int fd);
void hook_code_free(struct hook_code *);

/* Does anything in the module refer to the hook, as its relocations and symbols
 * tell? If not, no function of it can be recorded. */
bool hook_code_has_hook(const struct hook_code *);

/* Does the module have machine code at that address? Where the linker dropped a
 * function that nothing uses, the debug information still describes it. */
bool hook_code_holds(const struct hook_code *, uint64_t address);

/* Flags that hook_code_scan returns. */
enum { HOOK_CODE_CALLS = 1, HOOK_CODE_OWN_ADDRESS = 2 };

/* Scan size bytes of code from address on, and return flags, 0 if there is no
 * such code. HOOK_CODE_CALLS: it calls the hook. HOOK_CODE_OWN_ADDRESS: it
 * holds the address entry. A function passes its own address to the hook; the
 * code of an inlined function passes the address of the function's code
 * elsewhere. So a function with both flags is one that is recorded. Code beyond
 * 64 MiB is not scanned. */
int hook_code_scan(const struct hook_code *, uint64_t address, uint64_t size,
		   uint64_t entry);
