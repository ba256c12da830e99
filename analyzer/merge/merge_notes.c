/* merge_notes.c - the notes of several recordings: what is the same in all of
 * them stays, losses add up, and whatever was wrong with one is kept.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_state.h"
#include "analyzer/base/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rule {
	RULE_SAME,      /* kept if it is the same everywhere */
	RULE_SUM,       /* numbers; missing is 0 */
	RULE_WORST,     /* "no", then missing, then all else */
	RULE_ALL,       /* kept if everybody has one */
	RULE_ANY,       /* the first text there is */
};

static enum rule rule_of(const char *key)
{
	static const struct { const char *key; enum rule rule; } rules[] = {
		{ "records", RULE_SUM }, { "complete", RULE_WORST },
		{ "end", RULE_ALL }, { "trouble", RULE_ANY },
		{ "reader.trouble", RULE_ANY },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(key, rules[i].key) == 0)
			return rules[i].rule;
	return strncmp(key, "lost.", 5) == 0 ? RULE_SUM : RULE_SAME;
}

static int compare(const void *a, const void *b)
{
	const struct note *const x = a, *const y = b;
	const int order = strcmp(x->key, y->key);

	return order != 0 ? order : strcmp(x->value, y->value);
}

static void add(struct merge *c, struct note **list, size_t *count,
		const char *key, const char *value)
{
	if (*count % 64 == 0)
		*list = mem_grow(*list, *count + 64, sizeof(**list));
	(*list)[(*count)++] = (struct note){
		arena_copy(c->sum->text, key, strlen(key)),
		arena_copy(c->sum->text, value, strlen(value)) };
}

/* A key that only one side has. */
static int stays_alone(const struct note *n)
{
	switch (rule_of(n->key)) {
	case RULE_SUM:
	case RULE_ANY:
		return 1;
	case RULE_WORST:
		return strcmp(n->value, "no") == 0;
	case RULE_SAME:
	case RULE_ALL:
		break;
	}
	return 0;
}

/* The value for both, of one key; NULL: none. */
static const char *both(const struct note *a, const struct note *b,
			char room[32])
{
	const uint64_t x = strtoull(a->value, NULL, 10);
	const uint64_t y = strtoull(b->value, NULL, 10);

	switch (rule_of(a->key)) {
	case RULE_SUM:
		snprintf(room, 32, "%" PRIu64, x + y);
		return room;
	case RULE_WORST:
		return strcmp(a->value, "no") == 0 ? a->value : b->value;
	case RULE_ALL:
		return x > y || (x == y && strcmp(a->value, b->value) > 0) ?
			a->value : b->value;
	case RULE_ANY:
		return merge_first(a->value, b->value);
	case RULE_SAME:
		break;
	}
	return strcmp(a->value, b->value) == 0 ? a->value : NULL;
}

/* Two lists in order of their keys; those of RULE_SAME may have several
 * values, the others one. */
static int order(const struct note *a, const struct note *b)
{
	return rule_of(a->key) == RULE_SAME ? compare(a, b) :
	       strcmp(a->key, b->key);
}

void merge_notes_join(struct merge *c, const struct session *from,
			int is_first)
{
	struct session *const s = c->sum;
	struct note *list = NULL;
	size_t count = 0, i = 0, k = 0;
	char room[32];

	while (i < s->note_count || k < from->note_count) {
		const struct note *const a = &s->notes[i];
		const struct note *const b = &from->notes[k];
		const int which = i == s->note_count ? 1 :
				  k == from->note_count ? -1 : order(a, b);
		const struct note *const one = which < 0 ? a : b;
		const char *value;

		i += which <= 0;
		k += which >= 0;
		value = which == 0 ? both(a, b, room) :
			is_first || stays_alone(one) ? one->value : NULL;
		if (value)
			add(c, &list, &count, one->key, value);
	}
	mem_free(s->notes);
	s->notes = list;
	s->note_count = count;
}

/* --- of one trace -------------------------------------------------------- */

static void put(struct session *s, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){
		arena_copy(s->text, key, strlen(key)),
		arena_copy(s->text, text, strlen(text)) };
}

/* At least that many. */
static void raise(struct session *s, const char *key, uint64_t least)
{
	const char *const said = session_note(s, key);

	if (!said ? least > 0 : strtoull(said, NULL, 10) < least)
		put(s, key, least);
}

static void raise_lost(struct session *s, const char *name, int reason)
{
	char key[40] = "lost.";
	uint64_t lost = 0;

	for (size_t i = 0; name[i] != '\0' && i < 30; i++)
		key[5 + i] = (char)tolower((unsigned char)name[i]);
	for (size_t i = 0; i < s->thread_count; i++)
		lost += s->threads[i].lost[reason];
	raise(s, key, lost);
}

/* By key; those of one key in the order in which they came, but for RULE_SAME,
 * where the value counts. */
static int by_arrival(const void *a, const void *b, void *ctx)
{
	const struct note *const notes = ctx;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const int which = order(&notes[x], &notes[y]);

	return which != 0 ? which : x < y ? -1 : x > y;
}

/* Of notes that are one the last stays. */
static void sort_notes(struct session *s)
{
	const size_t count = s->note_count;
	size_t *const at = mem_alloc((count + 1) * sizeof(*at));
	struct note *const sorted = mem_alloc((count + 1) * sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		at[i] = i;
	qsort_r(at, count, sizeof(*at), by_arrival, s->notes);
	s->note_count = 0;
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || order(&s->notes[at[i]],
					    &s->notes[at[i + 1]]) != 0)
			sorted[s->note_count++] = s->notes[at[i]];
	mem_free(s->notes);
	mem_free(at);
	s->notes = sorted;
}

void merge_notes_lift(struct session *s)
{
#define X(name, number, meaning, unit) raise_lost(s, #name, number);
	LOST_LIST(X)
#undef X
	raise(s, "records", s->records);
	sort_notes(s);
}
