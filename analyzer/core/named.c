/* named.c - functions by name: exactly, or by pattern.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/named.h"
#include "analyzer/base/mem.h"

#include <fnmatch.h>
#include <string.h>

/* Parentheses that are no list of parameters. */
static size_t skip(const char *at)
{
	static const char *const words[] = { "(anonymous namespace)",
					     "operator()" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

size_t named_base(const char *name)
{
	size_t i = 0;

	while (name[i] != '\0') {
		const size_t more = skip(name + i);

		if (i > 0 && more == 0 &&
		    (name[i] == '(' || strncmp(name + i, " <", 2) == 0))
			break;
		i += more != 0 ? more : 1;
	}
	return i;
}

static int is_named(const char *name, const char *wanted)
{
	const size_t base = named_base(name);

	return strcmp(name, wanted) == 0 ||
	       (strlen(wanted) == base && strncmp(name, wanted, base) == 0);
}

static int fits(const char *name, const char *pattern)
{
	char *const base = mem_copy(name);
	int does_fit;

	base[named_base(name)] = '\0';
	does_fit = fnmatch(pattern, name, 0) == 0 ||
		   fnmatch(pattern, base, 0) == 0;
	mem_free(base);
	return does_fit;
}

static func_id *search(struct func_table *t, const char *name, size_t *count,
		       int (*does_match)(const char *, const char *))
{
	func_id *found = NULL;
	size_t room = 0;

	*count = 0;
	for (func_id f = 1; f <= func_count(t); f++) {
		if (!does_match(func_get(t, f)->name, name))
			continue;
		mem_need((void **)&found, &room, *count + 1, sizeof(*found));
		found[(*count)++] = f;
	}
	return found;
}

func_id *named_find(struct func_table *t, const char *name, size_t *count)
{
	func_id *const found = search(t, name, count, is_named);

	return *count > 0 ? found : search(t, name, count, fits);
}
