/* sym_demangle.c - C++ names by the C++ library's own demangler. It is loaded
 * when the first C++ name comes, so that weft itself needs no C++ library; a
 * machine on which C++ programs run has it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_fn(const char *symbol, char *to, size_t *size,
			  int *status);

static demangle_fn *load(void)
{
	void *const library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	demangle_fn *function = NULL;

	if (library)
		*(void **)&function = dlsym(library, "__cxa_demangle");
	return function;
}

const char *sym_demangle_name(const char *symbol)
{
	static demangle_fn *function;
	static int is_loaded;
	static char *kept;
	int status = -1;

	if (strncmp(symbol, "_Z", 2) != 0)
		return symbol;
	if (!is_loaded)
		function = load();
	is_loaded = 1;
	if (!function)
		return symbol;
	free(kept);
	kept = function(symbol, NULL, NULL, &status);
	return kept && status == 0 ? kept : symbol;
}
