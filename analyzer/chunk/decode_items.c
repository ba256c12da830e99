/* decode_items.c - a chunk's items: checked by one table of layouts, then read
 * without further questions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/chunk/decode_check.h"
#include "analyzer/base/err.h"

#include <inttypes.h>
#include <string.h>

enum { BUILD_ID_WORDS = 3, BUILD_ID_MAX = 20, STRING_HEAD_WORDS = 2 };

/* Words of a string with that many stored bytes. */
static size_t string_words(uint32_t stored)
{
	return STRING_HEAD_WORDS + (stored + 7) / 8;
}

/* Check the string at *at in an item of n words and step over it. */
static int check_string(const uint64_t *item, size_t n, size_t *at)
{
	uint32_t stored;

	if (n - *at < STRING_HEAD_WORDS)
		return err_add("a string is cut short");
	stored = string_stored(item[*at]);
	if (stored > CHUNK_STRING_MAX || stored > string_length(item[*at]))
		return err_add("a string of %" PRIu64 " bytes stores %" PRIu32,
			       string_length(item[*at]), stored);
	if (n - *at < string_words(stored))
		return err_add("a string is cut short");
	*at += string_words(stored);
	return 0;
}

static int check_stack(const struct chunk *v, const uint64_t *item,
		       size_t n)
{
	size_t at = 2;

	if (n < 2 || item[1] == 0)
		return err_add("the stack has no segments");
	for (uint64_t i = 0; i < item[1]; i++) {
		if (n - at < 2 || item[at + 1] > n - at - 2)
			return err_add("the stack is cut short");
		if ((item[at] == 0) != (i == 0))
			return err_add("the stack's segment %" PRIu64
				       " is of coroutine %" PRIu64, i,
				       item[at]);
		if (check_frames(v, item + at + 2,
				      (size_t)item[at + 1]) < 0)
			return -1;
		at += 2 + (size_t)item[at + 1];
	}
	return 0;
}

static int check_module(const uint64_t *item, struct decode_marks *m)
{
	if (item[1] >= DICT_MAX_MODULES)
		return err_add("module number %" PRIu64 " is too high",
			       item[1]);
	if (is_marked(m->module, item[1]))
		return err_add("module %" PRIu64 " is defined twice", item[1]);
	if ((item[4] & 255) > BUILD_ID_MAX)
		return err_add("a build-id of %u bytes",
			       (unsigned)(item[4] & 255));
	set_mark(m->module, item[1]);
	return 0;
}

static int check_offcpu(const uint64_t *item, size_t n)
{
	for (size_t i = 1; i + 1 < n; i += 2)
		if (item[i + 1] < item[i])
			return err_add("an off-CPU time ends before it begins");
	return n % 2 == 1 ? 0 : err_add("an off-CPU time has no end");
}

/* X(type, words before the strings, strings) */
#define LAYOUT_LIST(X)                                                         \
	X(ITEM_MODULE, 3 + BUILD_ID_WORDS, 1)                                  \
	X(ITEM_LUA, 1, 2)                                                      \
	X(ITEM_NAME, 0, 1)                                                     \
	X(ITEM_HINT, 1, 1)                                                     \
	X(ITEM_LABEL, 0, 2)                                                    \
	X(ITEM_PROCESS, 1, 1)                                                  \
	X(ITEM_VM, 3, 0)                                                       \
	X(ITEM_NOTE, 0, 2)                                                     \
	X(ITEM_LATE, 1, 0)

/* *end: the word behind the fields that each item of its type has. */
static int check_layout(const uint64_t *item, size_t n, size_t *end)
{
	size_t at = 1, strings = 0;

	switch (item_type(*item)) {
#define X(type, words, count) case type: at += words; strings = count; break;
	LAYOUT_LIST(X)
#undef X
	default:
		return 0;
	}
	if (n < at)
		return err_add("it is cut short");
	while (strings--)
		if (check_string(item, n, &at) < 0)
			return -1;
	*end = at;
	return 0;
}

static int check_item(const struct chunk *v, const uint64_t *item,
		      size_t n, struct decode_marks *m)
{
	const uint64_t offset = (uint64_t)(item - v->items);
	size_t end = n;

	if (check_layout(item, n, &end) < 0)
		return -1;
	switch (item_type(*item)) {
	case ITEM_STACK:
		if (m->stack)
			return err_add("there are two stacks");
		m->stack = item;
		return check_stack(v, item, n);
	case ITEM_MODULE:
		return check_module(item, m);
	case ITEM_LUA:
		set_mark(m->lua, offset);
		return end == n || item[end] <= CHUNK_ORDINAL_MAX ? 0 :
			err_add("an ordinal of %" PRIu64, item[end]);
	case ITEM_NAME:
		set_mark(m->name, offset);
		return 0;
	case ITEM_HINT:
	case ITEM_LATE:
		return item[1] < v->header.funcs ? 0 :
			err_add("a hint for function %" PRIu64, item[1]);
	case ITEM_OFFCPU:
		return check_offcpu(item, n);
	default:
		return 0;
	}
}

int check_items(const struct chunk *v, struct decode_marks *m)
{
	for (size_t at = 0; at < v->header.items; ) {
		const uint64_t *const item = v->items + at;
		const uint64_t n = item_words(*item);

		if (n == 0 || n > v->header.items - at)
			return err_add("item at word %zu has %" PRIu64
				       " words", at, n);
		if (check_item(v, item, (size_t)n, m) < 0)
			return err_add("item at word %zu, type %d", at,
				       (int)item_type(*item));
		at += (size_t)n;
	}
	return 0;
}

static void set_item(const uint64_t *word, struct chunk_item *item)
{
	item->word = word;
	item->type = item_type(*word);
	item->n = (size_t)item_words(*word);
}

int decode_next_item(const struct chunk *v, struct chunk_item *item)
{
	if (item->next >= v->header.items)
		return 0;
	set_item(v->items + item->next, item);
	item->next += item->n;
	return 1;
}

void decode_dict_item(const struct chunk *v, uint64_t dict,
		    struct chunk_item *item)
{
	set_item(v->items + dict_item(dict), item);
	item->next = (size_t)dict_item(dict) + item->n;
}

/* Read the string at word and step over it. */
static const uint64_t *get_string(const uint64_t *word, struct chunk_string *s)
{
	s->stored = string_stored(word[0]);
	s->length = string_length(word[0]);
	s->hash = word[1];
	s->bytes = (const char *)(word + STRING_HEAD_WORDS);
	return word + string_words(s->stored);
}

/* The three words hold, byte by byte: the length, the build-id, zeros. */
void decode_module(const struct chunk_item *item, struct chunk_module *m)
{
	const uint8_t *const id = (const uint8_t *)(item->word + 4);

	m->number = (uint32_t)item->word[1];
	m->bias = item->word[2];
	m->size = item->word[3];
	m->build_id_size = id[0];
	m->build_id = id + 1;
	get_string(item->word + 4 + BUILD_ID_WORDS, &m->path);
}

void decode_lua(const struct chunk_item *item, struct chunk_lua *l)
{
	const uint64_t *const ordinal =
		get_string(get_string(item->word + 2, &l->source), &l->name);

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

uint32_t decode_process(const struct chunk_item *item,
			  struct chunk_string *path)
{
	get_string(item->word + 2, path);
	return (uint32_t)item->word[1];
}

void decode_vm(const struct chunk_item *item, struct chunk_vm *vm)
{
	vm->serial = item->word[1];
	vm->abi = (uint32_t)(item->word[2] >> 32);
	vm->flags = (uint32_t)item->word[2];
	vm->address = item->word[3];
	vm->fiber = item->n > 4 ? item->word[4] : 0;
}

size_t decode_offcpu(const struct chunk_item *item, const uint64_t **pair)
{
	*pair = item->word + 1;
	return (item->n - 1) / 2;
}

int decode_next_segment(const struct chunk *v, struct chunk_segment *s)
{
	const uint64_t *at;

	if (!v->stack || s->index >= v->stack[1])
		return 0;
	at = s->index == 0 ? v->stack + 2 : s->frame + s->frames;
	s->serial = at[0];
	s->frames = (size_t)at[1];
	s->frame = at + 2;
	s->index++;
	return 1;
}
