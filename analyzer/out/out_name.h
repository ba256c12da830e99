/* out_name.h - long names of C++ functions, cut so that a reader still knows
 * which function it is.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* A name that out_escape_terminal has made, in at most so many columns. A C++
 * name loses its return type, parameters and namespaces first; then what its
 * template is made of is cut in its middle. Any other text is cut in its middle
 * itself. The result is new; the caller frees it by mem_free. */
char *out_name_cut(const char *name, size_t columns);
