/* sym_symbols.h - what the symbols of an ELF file are called. They are
 * untrusted: to be called in a process that may crash.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Of functions that share an address, so many are named. */
enum { SYM_NAMES_SHOWN = 4 };

/* The name that a mangled symbol of C++, D or Rust stands for, valid until the
 * next call; the symbol itself if it is not mangled, or is very long. */
const char *sym_demangle(const char *symbol);

/* The name that several symbols at one address stand for; of functions that a
 * linker has folded "f, g(int)", in alphabetical order, from the fifth on only
 * their number (see text_name_next). Freed with mem_free. */
char *sym_symbols_name(const char *const *symbols, size_t count);
