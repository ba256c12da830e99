/* decode_items.c - how the items of a chunk are read. Trusts what the checks of
 * decode_chunk have found.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"

#include <assert.h>
#include <string.h>

/* Describe the item whose head word this is. */
static void set_item(const uint64_t *word, struct chunk_item *item)
{
	item->word = word;
	item->type = item_type(*word);
	item->n = (size_t)item_words(*word);
}

bool decode_next_item(const struct chunk *c, struct chunk_item *item)
{
	if (item->next >= c->header.items)
		return 0;
	set_item(c->items + item->next, item);
	item->next += item->n;
	return 1;
}

void decode_dict_item(const struct chunk *c, uint64_t dict,
		    struct chunk_item *item)
{
	set_item(c->items + dict_item(dict), item);
	item->next = (size_t)dict_item(dict) + item->n;
}

const char *decode_text(const struct chunk_string *s,
			char out[CHUNK_STRING_MAX + 1])
{
	assert(s->stored <= CHUNK_STRING_MAX);
	memcpy(out, s->bytes, s->stored);
	out[s->stored] = '\0';
	return out;
}

/* Read the string at word; returns the word after it. */
static const uint64_t *get_string(const uint64_t *word, struct chunk_string *s)
{
	s->stored = string_stored(word[0]);
	s->length = string_length(word[0]);
	s->hash = word[1];
	s->bytes = (const char *)(word + STRING_HEAD_WORDS);
	return word + string_item_words(s->stored);
}

/* The words from 4 on hold, byte by byte: the length, the build-id, zeros. */
void decode_module(const struct chunk_item *item, struct chunk_module *m)
{
	const uint8_t *const id = (const uint8_t *)(item->word + 4);

	assert(item->type == ITEM_MODULE);
	m->number = (uint32_t)item->word[1];
	m->bias = item->word[2];
	m->size = item->word[3];
	m->build_id_size = id[0];
	m->build_id = id + 1;
	get_string(item->word + 4 + BUILD_ID_WORDS, &m->path);
}

/* The ordinal is behind the strings; the word may be missing. */
void decode_lua(const struct chunk_item *item, struct chunk_lua *l)
{
	const uint64_t *const ordinal =
		get_string(get_string(item->word + 2, &l->source), &l->name);

	assert(item->type == ITEM_LUA);
	l->line = (uint32_t)(item->word[1] >> 32);
	l->last_line = (uint32_t)item->word[1];
	l->ordinal = ordinal < item->word + item->n ? (uint32_t)*ordinal : 0;
}

void decode_name(const struct chunk_item *item, struct chunk_string *name)
{
	get_string(item->word + 1, name);
}

uint32_t decode_hint(const struct chunk_item *item, struct chunk_string *name)
{
	get_string(item->word + 2, name);
	return (uint32_t)item->word[1];
}

uint32_t decode_untold_return(const struct chunk_item *item)
{
	return (uint32_t)item->word[1];
}

void decode_pair(const struct chunk_item *item, struct chunk_string *key,
		 struct chunk_string *value)
{
	get_string(get_string(item->word + 1, key), value);
}

/* The handle is a word that was added later: it may not be there. */
uint32_t decode_process(const struct chunk_item *item,
			struct chunk_string *path, uint64_t *handle)
{
	const uint64_t *const end = get_string(item->word + 2, path);

	*handle = end < item->word + item->n ? *end : 0;
	return (uint32_t)item->word[1];
}

/* The fiber and the bytes are words that were added later: they may not be
 * there. */
void decode_vm(const struct chunk_item *item, struct chunk_vm *vm)
{
	vm->serial = item->word[1];
	vm->abi = (uint32_t)(item->word[2] >> 32);
	vm->flags = (uint32_t)item->word[2];
	vm->address = item->word[3];
	vm->fiber = item->n > 4 ? item->word[4] : 0;
	vm->bytes = item->n > 5 ? item->word[5] : 0;
	vm->read = item->n > 6 ? item->word[6] : 0;
}

bool decode_switches(const struct chunk_item *item, struct chunk_switches *s)
{
	if ((item->type != ITEM_SWITCHES && item->type != ITEM_OFFCPU) ||
	    item->n < 3 || item->word[2] <= item->word[1])
		return false;
	*s = (struct chunk_switches){ .item = item, .from = item->word[1],
		.to = item->word[2], .at = item->word[1] };
	return true;
}

/* LEB128. Where the item ends there are zeros. */
static uint64_t next_number(struct chunk_switches *s)
{
	const uint64_t *const word = s->item->word + 3;
	uint64_t number = 0;

	for (unsigned shift = 0; s->next / 8 < s->item->n - 3; shift += 7) {
		const uint64_t byte = word[s->next / 8] >> s->next % 8 * 8;

		s->next++;
		if (shift < 64)
			number |= (byte & 127) << shift;
		if ((byte & 128) == 0)
			break;
	}
	return number;
}

/* That much later, but not after the last that is known. */
static uint64_t later(const struct chunk_switches *s, uint64_t at, uint64_t n)
{
	return n < s->to - at ? at + n : s->to;
}

/* Of pairs, what is out of order or outside does not count. */
static bool next_pair(struct chunk_switches *s, struct chunk_away *away)
{
	const uint64_t *const pair = s->item->word + 1;
	const size_t n = (s->item->n - 1) / 2;

	while (++s->next < n) {
		const uint64_t *const p = pair + 2 * s->next;
		const bool is_ready = s->next + 1 < n && p[2] == p[1] &&
				      p[3] == p[1];

		away->from = p[0] < s->at ? s->at : p[0];
		away->to = p[1] > s->to ? s->to : p[1];
		away->ready = is_ready ? away->from : away->to;
		if (away->from < away->to)
			return true;
	}
	return false;
}

bool decode_next_away(struct chunk_switches *s, struct chunk_away *away)
{
	if (s->item->type == ITEM_OFFCPU) {
		if (!next_pair(s, away))
			return false;
	} else {
		away->from = later(s, s->at, next_number(s));
		away->ready = later(s, away->from, next_number(s));
		away->to = later(s, away->ready, next_number(s));
	}
	s->at = away->to;
	return away->from < away->to;
}

bool decode_next_segment(const struct chunk *c, struct chunk_segment *s)
{
	const uint64_t *at;

	if (!c->stack || s->index >= c->stack[1])
		return false;
	at = s->index == 0 ? c->stack + 2 : s->frame + s->frames;
	s->serial = at[0];
	s->frames = (size_t)at[1];
	s->frame = at + 2;
	s->body = c->bodies && c->bodies[s->index] ? &c->bodies[s->index] :
		  NULL;
	s->index++;
	return true;
}
