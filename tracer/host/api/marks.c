/* marks.c - what weft.h offers beside Lua: turning recording on and off, marks,
 * labels. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/lua_side.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/shadow_stack.h"
#include "tracer/host/api/weft.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

uint32_t (*lua_side_item)(struct state *s, uint64_t key);
void (*lua_side_hint)(struct state *s, uint64_t key, uint32_t index);
void (*lua_side_chunk)(struct state *s);

EXPORT int weft_pause(void)
{
	const int saved = errno;
	int was = 0;

	if (process_ready())
		was = (int)(atomic_fetch_and(&state_pool->generation,
					     ~(uint32_t)POOL_ON) & POOL_ON);
	errno = saved;
	return was;
}

EXPORT int weft_resume(void)
{
	const int saved = errno;
	uint32_t now, next;

	if (!process_ready()) {
		errno = saved;
		return -1;
	}
	now = atomic_load(&state_pool->generation);
	if (now & POOL_ON) {
		errno = saved;
		return 1;
	}
	/* Whoever sees the new generation must see the new window. */
	atomic_fetch_add(&state_pool->window, 1);
	do {
		next = (now | POOL_ON) + POOL_GENERATION_STEP;
	} while (!atomic_compare_exchange_weak(&state_pool->generation, &now,
					       next));
	errno = saved;
	return 0;
}

EXPORT void weft_mark(const char *name)
{
	struct state *const s = !name ? NULL :
		state_begin((uint64_t)__builtin_frame_address(0));
	uint64_t now, key;

	if (!s)
		return;
	now = state_clock(s);
	key = XXH64(name, strlen(name), 0) | KEY_LUA | KEY_MARK;
	s->mark = name;
	buffer_need(s, 2);
	key = buffer_index(s, key);
	buffer_put(s, rec_put(REC_MARK, key, buffer_gap(s, now)));
	s->mark = NULL;
	state_end(s);
}

EXPORT int weft_label(const char *key, const char *value)
{
	struct state *s;
	uint32_t words;
	uint64_t *item;

	if (!key || !value)
		return -1;
	s = state_begin((uint64_t)__builtin_frame_address(0));
	if (!s)
		return -1;
	words = 1 + buffer_string_words(strlen(key)) +
		buffer_string_words(strlen(value));
	item = buffer_item(s, words);
	if (!item) {
		buffer_switch(s, 0);
		item = buffer_item(s, words);
	}
	if (item) {
		item[0] = item_put(ITEM_LABEL, words);
		buffer_put_string(buffer_put_string(item + 1, key,
						    strlen(key)),
				  value, strlen(value));
		buffer_publish_items(s);
	}
	state_end(s);
	return !item ? -1 : 0;
}
