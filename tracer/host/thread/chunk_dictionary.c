/* chunk_dictionary.c - items, and the dictionary of a chunk: each function is named
 * in it once. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/chunk.h"
#include "tracer/host/thread/lua_side.h"
#include "tracer/host/base/module.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>

/* Dictionary words kept free, so that a function can always be named, if only
 * by its address. */
enum { DICT_RESERVE = 64 };

/* ---------------------------------------------------------------- items */

uint64_t *chunk_item(struct thread_state *s, uint32_t words)
{
	uint64_t *const base = (uint64_t *)s->head;

	if (chunk_is_scrap(s) ||
	    s->items_at + s->items + words + s->funcs + DICT_RESERVE >
		    s->buffer_words)
		return NULL;
	s->items += words;
	return base + s->items_at + s->items - words;
}

void chunk_publish_items(struct thread_state *s)
{
	chunk_show(&s->head->items, s->items);
}

uint32_t chunk_string_words(size_t length)
{
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;

	return (uint32_t)(2 + (stored + 7) / 8);
}

uint64_t *chunk_put_string(uint64_t *to, const char *text, size_t length)
{
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;

	to[0] = string_put(stored, length);
	to[1] = XXH64(text, length, 0);
	to += 2;
	if (stored > 0) {
		to[(stored - 1) / 8] = 0;
		memcpy(to, text, stored);
	}
	return to + (stored + 7) / 8;
}

/* ----------------------------------------------------------- dictionary */

static int put_module(struct thread_state *s, uint32_t number)
{
	const struct module *const m = module_get(number);
	const size_t length = strlen(m->path);
	const uint32_t words = 7 + chunk_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return 0;
	item[0] = item_put(ITEM_MODULE, words);
	item[1] = number;
	item[2] = m->bias;
	item[3] = m->end - m->bias;
	item[4] = item[5] = item[6] = 0;
	((uint8_t *)&item[4])[0] = m->build_id_size;
	memcpy((uint8_t *)&item[4] + 1, m->build_id, m->build_id_size);
	chunk_put_string(item + 7, m->path, length);
	chunk_publish_items(s);
	s->modules_named[number / 64] |= UINT64_C(1) << number % 64;
	return 1;
}

/* The dictionary word of a code address, 0: its module cannot be named here. */
static uint64_t native_word(struct thread_state *s, uint64_t address,
			    uint64_t known)
{
	const struct module *m;
	uint32_t number;

	if (known == 0) {
		const int found = module_find(address, &m);

		if (found < 0)
			return dict_put_code(address);
		known = dict_put_native((uint32_t)found, address - m->bias);
	}
	if (dict_kind(known) != DICT_NATIVE)
		return known;
	number = dict_module(known);
	if (!(s->modules_named[number / 64] >> number % 64 & 1) &&
	    !put_module(s, number))
		return 0;
	return known;
}

static uint64_t mark_word(struct thread_state *s)
{
	const size_t length = strlen(s->mark);
	const uint32_t words = 1 + chunk_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return 0;
	item[0] = item_put(ITEM_NAME, words);
	chunk_put_string(item + 1, s->mark, length);
	chunk_publish_items(s);
	return dict_put_item(DICT_NAME, s->items - words);
}

static uint64_t item_word(struct thread_state *s, uint64_t key)
{
	uint32_t at = CHUNK_NO_INDEX;

	if (key & KEY_MARK)
		return mark_word(s);
	if (lua_side_item)
		at = lua_side_item(s, key);
	return at == CHUNK_NO_INDEX ? 0 : dict_put_item(DICT_LUA, at);
}

uint32_t chunk_try_name(struct thread_state *s, uint64_t key,
			struct table_set *set)
{
	struct table_entry *way = &set->entry[0];
	uint64_t word;

	for (int i = 0; i < 2; i++) {
		if (set->entry[i].key == key) {
			way = &set->entry[i];
			if (way->epoch == s->epoch)
				return way->index;
			goto found;
		}
	}
	if (set->entry[0].epoch == s->epoch)
		way = &set->entry[1];
	way->word = 0;
found:
	if (chunk_is_scrap(s)) {
		if (way->key != key)
			way->word = 0;
		way->key = key;
		way->epoch = s->epoch;
		way->index = 0;
		return 0;
	}
	if (s->items_at + s->items + s->funcs + 1 > s->buffer_words ||
	    s->funcs >= CHUNK_MAX_FUNCS)
		return CHUNK_NO_INDEX;
	word = (key & KEY_LUA) ? item_word(s, key) :
	       native_word(s, key, way->key == key ? way->word : 0);
	if (word == 0 || s->items_at + s->items + s->funcs + 1 >
	    s->buffer_words)
		return CHUNK_NO_INDEX;
	((uint64_t *)s->head)[s->buffer_words - 1 - s->funcs] = word;
	way->key = key;
	way->word = (key & KEY_LUA) ? 0 : word;
	way->epoch = s->epoch;
	way->index = s->funcs++;
	chunk_show(&s->head->funcs, s->funcs);
	if (!(key & KEY_MARK) && lua_side_hint)
		lua_side_hint(s, key, way->index);
	return way->index;
}

/* No room even in a chunk of its own: the address, or nothing, must do. */
static uint32_t name_poorly(struct thread_state *s, uint64_t key)
{
	if (s->items_at + s->items + s->funcs + 1 > s->buffer_words ||
	    s->funcs >= CHUNK_MAX_FUNCS)
		return s->funcs > 0 ? s->funcs - 1 : 0;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_NAMES], 1,
				  memory_order_relaxed);
	((uint64_t *)s->head)[s->buffer_words - 1 - s->funcs] =
		dict_put_code((key & KEY_LUA) ? 0 : key);
	chunk_show(&s->head->funcs, ++s->funcs);
	return s->funcs - 1;
}

SLOW uint32_t chunk_name(struct thread_state *s, uint64_t key,
			 struct table_set *set)
{
	const int saved = errno;
	uint32_t index = chunk_try_name(s, key, set);

	if (index == CHUNK_NO_INDEX) {
		s->want_big = 1;
		chunk_switch(s, 0);
		index = chunk_try_name(s, key, set);
		if (index == CHUNK_NO_INDEX)
			index = name_poorly(s, key);
	}
	errno = saved;
	return index;
}
