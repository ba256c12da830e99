/* sym_code.h - what the machine code of a module tells: does a function call
 * the hook that -finstrument-functions puts at its beginning? Knows x86-64
 * only. To be called in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_CODE_H
#define WEFT_ANALYZER_SYM_SYM_CODE_H

#include <stddef.h>
#include <stdint.h>

struct sym_code;

/* NULL if the file's code cannot be read: no ELF file, another machine, no
 * section headers. The descriptor stays the caller's, and open. */
struct sym_code *sym_code_new(int fd);
void sym_code_free(struct sym_code *);

/* Does anything in the module call the hook? */
int sym_code_has_hook(const struct sym_code *);

/* Is there machine code of the module at that address? */
int sym_code_holds(const struct sym_code *, uint64_t address);

enum { SYM_CALLS_HOOK = 1, SYM_NAMES_ITSELF = 2 };

/* A function gives the hook its own address; one that was inlined gives it that
 * of its own code elsewhere. Does the code from address on, size bytes long,
 * call the hook, and does it hold the address entry? */
int sym_code_look(const struct sym_code *, uint64_t address, uint64_t size,
		  uint64_t entry);

#endif
