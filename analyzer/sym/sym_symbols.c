/* sym_symbols.c - the name that a symbol stands for, and that of several at one
 * address. A linker that folds functions with the same code (--icf=all) leaves
 * such symbols, which are all named. Most others are aliases of one function,
 * and one of them is enough.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_symbols.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "tracepoints/demangle.h"

#include <stdlib.h>
#include <string.h>

const char *sym_demangle(const char *symbol)
{
	static char *kept;

	free(kept);
	kept = demangle(symbol, DEMANGLE_LONGEST);
	return kept ? kept : symbol;
}

/* ---- several at one address ---- */

/* The name without the version that a library's symbol may have. */
static char *name_of(const char *symbol)
{
	char *const plain = mem_copy(symbol);
	char *name;

	plain[strcspn(plain, "@")] = '\0';
	name = mem_copy(sym_demangle(plain));
	mem_free(plain);
	return name;
}

/* Is it the same function, or a part or a clone of it, by its symbol or
 * demangled? */
static bool is_part(const char *name, const char *of)
{
	const size_t size = strlen(of);

	return strncmp(name, of, size) == 0 &&
	       (name[size] == '\0' || name[size] == '.' ||
		text_begins(name + size, " [clone "));
}

/* Is it a name of the kind that is reserved for libraries, of a function that
 * has a plain one? As __write and __libc_write are of write. */
static bool is_inner(const char *name, char *const *names, size_t count)
{
	for (const char *at = name; name[0] == '_' && *at; at++) {
		const char *const rest = at + 1;

		if (*at == '_' && *rest &&
		    bsearch(&rest, names, count, sizeof(*names), order_texts))
			return true;
	}
	return false;
}

/* A part comes behind its whole. */
static void put_names(FILE *to, char *const *names, size_t count)
{
	const char *last = NULL;
	size_t put = 0;

	for (size_t i = 0; i < count; i++) {
		if ((last && is_part(names[i], last)) ||
		    is_inner(names[i], names, count))
			continue;
		last = names[i];
		if (put++ < SYM_NAMES_SHOWN)
			fprintf(to, "%s%s", put > 1 ? ", " : "", last);
	}
	if (put > SYM_NAMES_SHOWN)
		fprintf(to, ", and %zu more", put - SYM_NAMES_SHOWN);
}

char *sym_symbols_name(const char *const *symbols, size_t count)
{
	char **const names = mem_alloc((count + 1) * sizeof(*names));
	struct mem_stream s;

	for (size_t i = 0; i < count; i++)
		names[i] = name_of(symbols[i]);
	qsort(names, count, sizeof(*names), order_texts);
	mem_stream_begin(&s);
	put_names(s.to, names, count);
	for (size_t i = 0; i < count; i++)
		mem_free(names[i]);
	mem_free(names);
	return mem_stream_end(&s);
}
