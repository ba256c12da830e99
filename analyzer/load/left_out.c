/* left_out.c - the recorder's choice of functions, made again with all that is
 * known of them now, so that it does not matter when the recorder learned their
 * names. SPDX-License-Identifier: MIT */
#include "analyzer/load/left_out.h"

#include "analyzer/base/mem.h"
#include "analyzer/tables/filter.h"

#include <stdio.h>
#include <string.h>

/* All patterns of that key: the notes KEY, KEY.1 and so on have the pieces.
 * NULL: there are none. The caller frees them with mem_free. */
static char *patterns(const struct session *s, const char *key)
{
	const char *piece = session_note(s, key);
	char *all = NULL, name[64];
	size_t used = 0;

	for (int i = 1; piece; i++) {
		const size_t n = strlen(piece);

		all = mem_grow(all, used + n + 1, 1);
		memcpy(all + used, piece, n + 1);
		used += n;
		snprintf(name, sizeof(name), "%s.%d", key, i);
		piece = session_note(s, name);
	}
	return all;
}

void left_out_apply(struct session *s)
{
	char *const only = patterns(s, "filter.only");
	char *const skip = patterns(s, "filter.skip");
	struct filter_sums sums;

	if (only || skip) {
		sums = filter_apply(s, &(struct filter){ .only = only,
							 .skip = skip },
				    FILTER_KEEP_ALL);
		s->calls -= sums.whole_calls - sums.calls;
	}
	mem_free(only);
	mem_free(skip);
}

/* ---- the sentence ---- */

enum { SHOWN = 120 };

static size_t append(char *to, size_t size, size_t used, const char *option,
		     const char *text)
{
	const int n = !text || used >= size ? 0 :
		snprintf(to + used, size - used, "%s--%s \"%.*s%s\"",
			 used > 0 ? " " : "recorded with ", option, SHOWN,
			 text, strlen(text) > SHOWN ? "..." : "");

	return used + (n < 0 ? 0 : (size_t)n);
}

bool left_out_describe(const struct session *s, char *to, size_t size)
{
	const char *const count = session_note(s, "filter.functions");
	char *const only = patterns(s, "filter.only");
	char *const skip = patterns(s, "filter.skip");
	const bool any = only || skip;
	size_t used = 0;

	used = append(to, size, used, "only", only);
	used = append(to, size, used, "skip", skip);
	if (any && used < size)
		snprintf(to + used, size - used, ": what %s is not in the "
			 "figures, its time is its callers' (%s functions "
			 "were known by name)", !only ? "matches" : !skip ?
			 "does not match" : "they leave out",
			 count ? count : "?");
	mem_free(only);
	mem_free(skip);
	return any;
}
