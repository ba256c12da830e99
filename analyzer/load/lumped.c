/* lumped.c - which functions of sources with one name the recorded program did
 * not tell apart. It mixes a hash of what a function does into that of its
 * source, but only for so many: the others have the hash of the name alone.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/lumped.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

enum kind { NOT_KNOWN, BY_NAME, BY_BODY };

/* How a function is told from others of its source. The text of a longer source
 * is not all here, and is no name. */
static enum kind kind_of(const struct func *f)
{
	if (f->kind != FUNC_LUA || f->source_length == 0 ||
	    strlen(f->source) != f->source_length)
		return NOT_KNOWN;
	return XXH64(f->source, f->source_length, 0) == f->source_hash ?
	       BY_NAME : BY_BODY;
}

size_t lumped_count(const struct session *s, const struct func **first)
{
	struct map *const bodies = map_new();
	size_t count = 0;

	*first = NULL;
	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (kind_of(f) == BY_BODY)
			*map_put(bodies, text_hash(1, f->source), 1) = 1;
	}
	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (kind_of(f) != BY_NAME ||
		    !map_find(bodies, text_hash(1, f->source), 1))
			continue;
		if (count++ == 0)
			*first = f;
	}
	map_free(bodies);
	return count;
}
