/* recording.c - what a program may do with its own recording (weft.h),
 * beside what is of fibers and of Lua: turning it on and off, titles,
 * regions, marks, labels. api/ is the top of the library: it may use all
 * folders, and none uses it. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/vm.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/weft.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_recorded(void)
{
	const int saved = errno;
	const bool ready = process_ready();

	errno = saved;
	return ready;
}

/* -------------------------------------------------------------- on and off */

EXPORT int weft_pause(void)
{
	if (!is_recorded())
		return 0;
	return (int)(atomic_fetch_and(&mapped_pool->generation,
				      ~(uint32_t)POOL_ON) & POOL_ON);
}

EXPORT int weft_resume(void)
{
	uint32_t now, next;

	if (!is_recorded())
		return -1;
	now = atomic_load(&mapped_pool->generation);
	if (now & POOL_ON)
		return 1;
	/* Whoever sees the new generation must see the new window. */
	atomic_fetch_add(&mapped_pool->window, 1);
	do {
		next = (now | POOL_ON) + POOL_GENERATION_STEP;
	} while (!atomic_compare_exchange_weak(&mapped_pool->generation, &now,
					       next));
	return 0;
}

/* Native calls that are open at this moment would stay on the stack for
 * ever, or return unseen: a new window begins, as after a pause. */
EXPORT int weft_native(int on)
{
	bool was;

	if (!is_recorded())
		return -1;
	was = !atomic_exchange(&process_no_native, on == 0);
	if (was != (on != 0)) {
		__atomic_store_n(&thread_native_pool, NULL, __ATOMIC_SEQ_CST);
		if (weft_pause())
			weft_resume();
	}
	return was;
}

/* ---------------------------------------------------------------- regions */

EXPORT int weft_inside_only(int only)
{
	return !is_recorded() ? -1 :
	       atomic_exchange(&region_only, only != 0);
}

EXPORT void weft_inside_begin(void)
{
	region_depth++;
}

EXPORT int weft_inside_end(void)
{
	if (region_depth > 0)
		region_set(region_depth - 1, HERE);
	return region_is_shut();
}

/* -------------------------------------------------------- marks and labels */

EXPORT void weft_mark(const char *name)
{
	struct thread_state *const s = !name ? NULL : thread_acquire(HERE);
	uint32_t index;
	uint64_t now;

	if (!s)
		return;
	now = chunk_clock(s);
	s->mark = name;
	chunk_need(s, 2);
	index = chunk_index(s, XXH64(name, strlen(name), 0) | KEY_LUA |
			       KEY_MARK);
	if (index != NO_INDEX)
		chunk_put(s, rec_put(REC_MARK, index, chunk_gap(s, now)));
	s->mark = NULL;
	thread_release(s);
}

static bool put_label(struct thread_state *s, const char *key,
		      const char *value)
{
	const size_t k = strlen(key), v = strlen(value);
	const uint32_t words = 1 + chunk_string_words(k) +
			       chunk_string_words(v);
	uint64_t *item = chunk_item(s, words);

	if (!item) {
		chunk_switch(s, 0);
		item = chunk_item(s, words);
	}
	if (!item)
		return false;
	item[0] = item_put(ITEM_LABEL, words);
	chunk_put_string(chunk_put_string(item + 1, key, k), value, v);
	chunk_publish_items(s);
	return true;
}

EXPORT int weft_label(const char *key, const char *value)
{
	struct thread_state *const s = !key || !value ? NULL :
				       thread_acquire(HERE);
	bool done;

	if (!s)
		return -1;
	done = put_label(s, key, value);
	thread_release(s);
	return done ? 0 : -1;
}

/* ----------------------------------------------------------------- titles
 * Recordings with a title may overlap in one process; each is what lies between
 * two marks. Recording is on while any of them runs. */

enum { TITLES = 8 };

/* Hashes of the titles that run, 0: free. Two titles of one hash (64 bits) are
 * taken for one. */
static _Atomic uint64_t running[TITLES];
/* Recording was off before the first title, and goes off with the last. */
static _Atomic bool turned_on;

static uint64_t hash_of(const char *title)
{
	const uint64_t h = XXH64(title, strlen(title), 0);

	return h != 0 ? h : 1;
}

static void mark(const char *what, const char *title)
{
	char text[256];

	snprintf(text, sizeof(text), "weft.%s %s", what, title);
	weft_mark(text);
}

/* The place of a hash among those that run, or -1. */
static int find(uint64_t hash)
{
	for (int i = 0; i < TITLES; i++) {
		if (atomic_load(&running[i]) == hash)
			return i;
	}
	return -1;
}

static bool take(uint64_t hash)
{
	for (int i = 0; i < TITLES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&running[i], &none, hash))
			return true;
	}
	return false;
}

static bool is_any_running(void)
{
	for (int i = 0; i < TITLES; i++) {
		if (atomic_load(&running[i]) != 0)
			return true;
	}
	return false;
}

EXPORT int weft_start(const char *title)
{
	uint64_t hash;

	if (!title || title[0] == '\0')
		return weft_resume();
	if (!process_ready())
		return -1;
	hash = hash_of(title);
	if (find(hash) >= 0)
		return 1;
	if (!take(hash))
		return -2;
	if (weft_resume() == 0)
		atomic_store(&turned_on, true);
	mark("start", title);
	return 0;
}

EXPORT int weft_stop(const char *title)
{
	int place;

	if (!title || title[0] == '\0') {
		atomic_store(&turned_on, false);
		return weft_pause();
	}
	place = find(hash_of(title));
	if (place < 0)
		return 0;
	mark("stop", title);
	atomic_store(&running[place], 0);
	if (!is_any_running() && atomic_exchange(&turned_on, false))
		weft_pause();
	return 1;
}

/* ----------------------------------------------------------------- status */

/* Records that were lost, not what was only counted beside them. */
static uint64_t lost_here(void)
{
	static const enum lost what[] = {
		LOST_FULL, LOST_DEPTH, LOST_NESTED, LOST_SWITCH, LOST_NAMES,
	};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < mapped_view.thread_slots; i++) {
		struct pool_thread *const t = &mapped_view.threads[i];

		if (atomic_load(&t->state) != SLOT_USED ||
		    t->process != process_serial)
			continue;
		for (size_t k = 0; k < sizeof(what) / sizeof(what[0]); k++)
			sum += atomic_load(&t->lost[what[k]]);
	}
	return sum;
}

EXPORT int weft_status(struct weft_status *status)
{
	struct weft_status now = { .size = sizeof(now) };

	if (!status || status->size < sizeof(status->size))
		return -1;
	if (is_recorded()) {
		now.recorded = 1;
		now.on = lua_vm_on();
		now.native = !atomic_load(&process_no_native);
		now.lua = mapped_view.lua;
		now.inside_only = atomic_load(&region_only);
		now.lost = lost_here();
	}
	now.size = status->size < sizeof(now) ? status->size : sizeof(now);
	memcpy(status, &now, now.size);
	return now.recorded ? 0 : -1;
}
