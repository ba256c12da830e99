/* left_out.c - the recorder's choice of functions, made again with all that is
 * known of them now, so that it does not matter when the recorder learned their
 * names. SPDX-License-Identifier: MIT */
#include "analyzer/load/left_out.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
	char *const count = patterns(s, "filter.count");
	struct filter_sums sums;

	if (only || skip || count) {
		sums = filter_apply(s, &(struct filter){ .only = only,
							 .skip = skip,
							 .count = count },
				    FILTER_KEEP_ALL);
		s->calls -= sums.whole_calls - sums.calls;
		s->counted = cct_counted_sum(s->cct).untimed;
	}
	mem_free_all(only, skip, count);
}

uint8_t *left_out_funcs(struct session *s)
{
	char *const only = patterns(s, "filter.only");
	char *const skip = patterns(s, "filter.skip");
	uint8_t *const out = filter_left_out(s, &(struct filter){
		.only = only, .skip = skip });

	mem_free_all(only, skip);
	return out;
}

/* ---- the sentence ---- */

enum { SHOWN = 120 };

static void append(char *to, size_t size, const char *option, const char *text)
{
	if (text)
		text_addf(to, size, "%s--%s \"%.*s%s\"",
			  to[0] ? " " : "recorded with ", option, SHOWN, text,
			  strlen(text) > SHOWN ? "..." : "");
}

static bool describe_left_out(const struct session *s, char *to, size_t size)
{
	const char *const count = session_note(s, "filter.functions");
	char *const only = patterns(s, "filter.only");
	char *const skip = patterns(s, "filter.skip");
	const bool any = only || skip;

	append(to, size, "only", only);
	append(to, size, "skip", skip);
	if (any)
		text_addf(to, size, ": what %s is not in the figures, its time "
			  "is its callers' (functions known by name: %s)",
			  !only ? "matches" : !skip ? "does not match" :
			  "they leave out", count ? count : "?");
	mem_free_all(only, skip);
	return any;
}

static bool describe_counted(const struct session *s, char *to, size_t size)
{
	const char *const known = session_note(s, "filter.counted");
	char *const count = patterns(s, "filter.count");
	const bool any = count != NULL;

	append(to, size, "count", count);
	if (any)
		text_addf(to, size, ": of what matches, calls were only "
			  "counted (functions known by name: %s)",
			  known ? known : "?");
	mem_free(count);
	return any;
}

/* The note has ns. */
static bool describe_brief(const struct session *s, char *to, size_t size)
{
	const char *const note = session_note(s, "filter.min-duration");
	const uint64_t ns = note ? strtoull(note, NULL, 10) : 0;
	char calls[OUT_NUMBER], time[OUT_NUMBER];

	if (ns == 0)
		return false;
	snprintf(to, size, "recorded with --min-duration: %s without records, "
		 "shorter than %s and with nothing recorded inside; the number "
		 "and the time of all are known, the shortest is not",
		 out_number_many(calls, cct_counted_sum(s->cct).brief,
				 "calls"),
		 out_number_time(time, (double)ns));
	return true;
}

static bool describe_depth(const struct session *s, char *to, size_t size)
{
	const char *const note = session_note(s, "filter.max-depth");
	const uint64_t depth = note ? strtoull(note, NULL, 10) : 0;

	if (depth == 0)
		return false;
	snprintf(to, size, "recorded with --max-depth %" PRIu64 ": calls that "
		 "lay deeper in the stack of their thread or coroutine are not "
		 "in the figures, their time is that of their caller at that "
		 "depth", depth);
	return true;
}

bool left_out_describe(const struct session *s, int i, char *to, size_t size)
{
	to[0] = '\0';
	return i == 0 ? describe_left_out(s, to, size) :
	       i == 1 ? describe_counted(s, to, size) :
	       i == 2 ? describe_brief(s, to, size) :
	       describe_depth(s, to, size);
}
