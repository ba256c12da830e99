/* replay_notes.c - what the recorder noted, and labels.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/session.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NOTES = 4096, MAX_LABELS = 256 };

/* A string's bytes with a NUL behind them. */
static const char *text(const struct chunk_string *s,
			char out[CHUNK_STRING_MAX + 1])
{
	memcpy(out, s->bytes, s->stored);
	out[s->stored] = '\0';
	return out;
}

static void add_note(struct replay *r, const char *prefix,
		     const struct chunk_item *item)
{
	struct session *const s = r->session;
	struct chunk_string k, v;
	char key[CHUNK_STRING_MAX + 16], bytes[CHUNK_STRING_MAX + 1];
	const char *value;

	decode_pair(item, &k, &v);
	snprintf(key, sizeof(key), "%s%s", prefix, text(&k, bytes));
	value = text(&v, bytes);
	for (size_t i = 0; i < s->note_count; i++)
		if (!strcmp(s->notes[i].key, key) &&
		    !strcmp(s->notes[i].value, value))
			return;
	if (s->note_count >= MAX_NOTES)
		return;
	*vec_add(&s->notes, &r->note_room, &s->note_count) = (struct note){
		arena_copy(s->text, key, strlen(key)),
		arena_copy(s->text, value, strlen(value)) };
}

/* process: its index + 1; 0: all of the recording. */
void replay_notes_label(struct replay *r, uint64_t recording, uint32_t process,
			const struct chunk_item *item)
{
	struct session *const s = r->session;
	struct chunk_string k, v;
	char key[CHUNK_STRING_MAX + 1], value[CHUNK_STRING_MAX + 1];

	add_note(r, "label.", item);
	decode_pair(item, &k, &v);
	text(&k, key);
	text(&v, value);
	for (size_t i = 0; i < s->label_count; i++)
		if (s->labels[i].recording == recording &&
		    s->labels[i].process == process &&
		    !strcmp(s->labels[i].key, key) &&
		    !strcmp(s->labels[i].value, value))
			return;
	if (s->label_count >= MAX_LABELS)
		return;
	vec_need(&s->labels, &r->label_room, s->label_count + 1);
	label_insert(s, &(struct label){
		recording, process, arena_copy(s->text, key, strlen(key)),
		arena_copy(s->text, value, strlen(value)) });
}

void replay_notes(struct replay *r, const struct chunk *v)
{
	struct chunk_item item = { 0 };

	while (decode_next_item(v, &item))
		if (item.type == ITEM_NOTE)
			add_note(r, "", &item);
		else if (item.type == ITEM_LABEL)
			replay_notes_label(r, v->header.recording, 0, &item);
}
