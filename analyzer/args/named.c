/* named.c - looks for functions by name.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/tables/filter.h"

#include <string.h>

/* Users leave out parameters, sources and what stands before the last part of
 * a name: where that begins. *length: of the name without the others. */
static size_t last_part(const char *name, size_t *length)
{
	const char *const place = strstr(name, " <");
	const size_t whole = place ? (size_t)(place - name) : strlen(name);
	size_t part;

	*length = memchr(name, '(', whole) ? strcspn(name, "(") : whole;
	part = *length;
	while (part > 0 && !strchr(":.", name[part - 1]))
		part--;
	return part;
}

/* Is it "percent_decode" of "net::percent_decode(std::string const&)"? */
static bool is_last_part(const char *name, const char *wanted)
{
	size_t length;
	const size_t part = last_part(name, &length);

	return strlen(wanted) == length - part &&
	       memcmp(name + part, wanted, length - part) == 0;
}

uint8_t *named_functions(struct session *s, const char *pattern)
{
	uint8_t *const wanted = filter_match_funcs(s, pattern);
	const size_t count = func_count(s->funcs);

	if (memchr(wanted, 1, count + 1))
		return wanted;
	for (func_id f = 1; f <= count; f++)
		wanted[f] = is_last_part(func_get(s->funcs, f)->name, pattern);
	if (memchr(wanted, 1, count + 1))
		return wanted;
	mem_free(wanted);
	named_none(s, pattern, NULL, "");
	return NULL;
}

static void offer(struct guess *g, const char *name)
{
	size_t length;
	const size_t part = last_part(name, &length);

	guess_offer(g, name, length);
	if (part > 0 && part < length) {
		const size_t before = g->distance;

		guess_offer(g, name + part, length - part);
		if (g->distance < before)
			snprintf(g->best, sizeof(g->best), "%s", name);
	}
}

const char *named_guess(struct session *s, const char *name,
			const bool *is_there, const char *otherwise, char *to)
{
	struct guess guess;

	guess_init(&guess, name);
	for (func_id id = 1; id <= func_count(s->funcs); id++)
		if (!is_there || is_there[id])
			offer(&guess, func_get(s->funcs, id)->name);
	return guess_text(&guess, otherwise, to, GUESS_TEXT);
}

int named_none(struct session *s, const char *name, const bool *is_there,
	       const char *where)
{
	char guess[GUESS_TEXT];

	return err_add("no function that ran%s is called \"%s\"%s", where, name,
		       named_guess(s, name, is_there, "weft report --top 0 "
				   "lists them", guess));
}

bool named_are_noted(struct session *s, const uint8_t *wanted)
{
	for (func_id f = 1; f <= func_count(s->funcs); f++)
		if (wanted[f] && (!func_get(s->funcs, f)->noted ||
				  func_is_special(s->funcs, f,
						  FUNC_OTHER_WAIT)))
			return false;
	return true;
}
