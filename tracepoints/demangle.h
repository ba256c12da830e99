/* demangle.h - what mangled symbols of C++, D and Rust stand for, as the
 * recorder and the analyzer have it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <string.h>

/* Bytes of a symbol. What libiberty takes of the stack may grow with the
 * square: 4 MB for the longest. */
enum { DEMANGLE_SHORT = 1024, DEMANGLE_LONGEST = 4096 };

static inline bool demangle_may(const char *symbol)
{
	return symbol[0] == '_' && symbol[1] && strchr("ZDR", symbol[1]);
}

/* The name, freed with free; NULL: it is not mangled, or longer than so many
 * bytes. A hostile symbol may stand for a name without end. */
static inline char *demangle(const char *symbol, size_t longest)
{
	const int options = DMGL_PARAMS | DMGL_AUTO | DMGL_NO_RECURSE_LIMIT;

	if (!demangle_may(symbol) || strnlen(symbol, longest + 1) > longest)
		return NULL;
	return symbol[1] == 'D' ? dlang_demangle(symbol, options) :
				  cplus_demangle(symbol, options);
}
