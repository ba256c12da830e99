/* sym_demangle.h - C++ names as they stand in the source.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_DEMANGLE_H
#define WEFT_ANALYZER_SYM_SYM_DEMANGLE_H

/* The name a mangled symbol stands for, valid until the next call; the symbol
 * itself if it is none, or if no C++ library is installed. */
const char *sym_demangle_name(const char *symbol);

#endif
