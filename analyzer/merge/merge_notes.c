/* merge_notes.c - the notes of several recordings as one list. A note is kept
 * if all recordings agree on it; losses add up; no fault is dropped.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_steps.h"
#include "analyzer/base/order.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* How the notes of one key become one. */
enum rule {
	RULE_SAME,      /* kept if the value is the same in all recordings */
	RULE_SUM,       /* numbers, added up; a missing one is 0 */
	RULE_WORST,     /* "no" if any says so, then none if any has none */
	RULE_ALL,       /* the largest number, if all recordings have one */
	RULE_ANY,       /* the first text that there is */
};

/* The rule for a key. What is not known here describes a recording (its
 * command, host, start), and is true of the sum only if all agree. */
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

/* Is the note kept if only one side has its key? Faults and losses are, and
 * what one side left out, which the sum has not whole. What else describes a
 * recording is not: it is not true of the other side. */
static bool stays_alone(const struct note *n)
{
	const enum rule rule = rule_of(n->key);

	return rule == RULE_SUM || rule == RULE_ANY ||
	       strncmp(n->key, "filter.", 7) == 0 ||
	       strncmp(n->key, "budget", 6) == 0 ||
	       (rule == RULE_WORST && strcmp(n->value, "no") == 0);
}

/* The value for both sides, of one key; NULL if the note is dropped. It lies in
 * room, or is one of theirs. a and b may change places: the result is the
 * same. */
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

/* Orders notes by key. Keys of RULE_SAME may have several values, and are
 * ordered by these, too. */
static int order(const struct note *a, const struct note *b)
{
	const int keys = strcmp(a->key, b->key);

	return keys != 0 || rule_of(a->key) != RULE_SAME ? keys :
	       strcmp(a->value, b->value);
}

/* Both lists are sorted, so one pass over both is enough. The new list replaces
 * that of the sum; old texts stay in its arena. */
void merge_notes_add(struct session *s, const struct session *from,
		     bool is_first)
{
	struct note *const list = mem_alloc(
		(s->note_count + from->note_count + 1) * sizeof(*list));
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
			list[count++] = (struct note){
				merge_copy(s, one->key), merge_copy(s, value) };
	}
	mem_free(s->notes);
	s->notes = list;
	s->note_count = count;
}

/* ---- of one trace ---- */

/* Append a note unless the last one of that key is at least as large. The
 * recorder writes its totals at its end, so they are missing if it died. */
static void raise_note(struct session *s, const char *key, uint64_t least)
{
	const char *const said = session_note(s, key);
	char text[32];

	if (said ? strtoull(said, NULL, 10) >= least : least == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, least);
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){ merge_copy(s, key),
						   merge_copy(s, text) };
}

/* Raise the note on losses of one reason to the sum over all threads. */
static void raise_lost(struct session *s, int reason)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->thread_count; i++)
		lost += s->threads[i].lost[reason];
	raise_note(s, lost_reason(reason)->key, lost);
}

/* Orders indices of notes; equal notes stay in the order of their arrival. */
static int by_arrival(const void *a, const void *b, void *ctx)
{
	const struct note *const notes = ctx;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return order(&notes[x], &notes[y]) ?: ORDER(x, y);
}

/* Of notes that are equal in order() the last one is kept. */
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
	assert(s->note_count <= count);
	mem_free_all(s->notes, at);
	s->notes = sorted;
}

/* Raised notes come behind the old ones, and sort_notes keeps the last of a
 * key: so the raised ones replace the old ones. */
void merge_notes_normalize(struct session *s)
{
	for (int i = 0; i < LOST_REASONS; i++)
		raise_lost(s, i);
	raise_note(s, "records", s->records);
	sort_notes(s);
}
