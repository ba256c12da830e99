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

uint32_t (*lua_side_item)(struct thread_state *s, uint64_t key);
void (*lua_side_hint)(struct thread_state *s, uint64_t key, uint32_t index);
void (*lua_side_chunk)(struct thread_state *s);

EXPORT int weft_pause(void)
{
	const int saved = errno;
	int was = 0;

	if (process_ready())
		was = (int)(atomic_fetch_and(&process_pool->generation,
					     ~(uint32_t)POOL_ON) &
			    POOL_ON);
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
	now = atomic_load(&process_pool->generation);
	if (now & POOL_ON) {
		errno = saved;
		return 1;
	}
	/* Whoever sees the new generation must see the new window. */
	atomic_fetch_add(&process_pool->window, 1);
	do {
		next = (now | POOL_ON) + POOL_GENERATION_STEP;
	} while (!atomic_compare_exchange_weak(&process_pool->generation, &now,
					       next));
	errno = saved;
	return 0;
}

EXPORT void weft_mark(const char *name)
{
	struct thread_state *const s =
		!name ? NULL
		      : thread_acquire((uint64_t)__builtin_frame_address(0));
	uint64_t now, key;

	if (!s)
		return;
	now = thread_clock(s);
	key = XXH64(name, strlen(name), 0) | KEY_LUA | KEY_MARK;
	s->mark = name;
	chunk_need(s, 2);
	key = chunk_index(s, key);
	chunk_put(s, rec_put(REC_MARK, key, chunk_gap(s, now)));
	s->mark = NULL;
	thread_release(s);
}

EXPORT int weft_label(const char *key, const char *value)
{
	struct thread_state *s;
	uint32_t words;
	uint64_t *item;

	if (!key || !value)
		return -1;
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (!s)
		return -1;
	words = 1 + chunk_string_words(strlen(key)) +
		chunk_string_words(strlen(value));
	item = chunk_item(s, words);
	if (!item) {
		chunk_switch(s, 0);
		item = chunk_item(s, words);
	}
	if (item) {
		item[0] = item_put(ITEM_LABEL, words);
		chunk_put_string(chunk_put_string(item + 1, key, strlen(key)),
				 value, strlen(value));
		chunk_publish_items(s);
	}
	thread_release(s);
	return !item ? -1 : 0;
}
