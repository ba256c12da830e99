/* sym_elf.h - is this ELF file that module, and what can it tell? To be called
 * in a process that may crash: the file is untrusted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_ELF_H
#define WEFT_ANALYZER_SYM_SYM_ELF_H

#include "analyzer/model/func.h"

#include <gelf.h>
#include <stddef.h>

enum sym_want { SYM_NAMES, SYM_CODE };

/* Of a file that is to name: exported names, all names, files and lines too. Of
 * one whose code is wanted: WORTH_ALL if it has any. */
enum sym_worth { WORTH_NOTHING, WORTH_EXPORTS, WORTH_NAMES, WORTH_ALL };

enum sym_worth sym_elf_worth(Elf *, enum sym_want);

/* Is it the module, by build-id, or, where there was none, by the size that it
 * takes in memory? If not, why (size bytes) says how it differs. */
int sym_elf_is_module(const struct elf_module *, Elf *, char *why, size_t size);

/* The CRC-32 that .gnu_debuglink holds, of the whole file. */
uint32_t sym_elf_sum(int fd);

/* bytes * 2 digits and a NUL. */
void sym_elf_hex(const uint8_t *bytes, size_t count, char *to);

#endif
