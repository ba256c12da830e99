/* recording.c - what a program may do with its own recording (weft.h),
 * beside what is of fibers, of Lua and of zones: turning it on and off, titles,
 * regions, marks, labels, snapshots.
 * api/ is the top of the library: it may use all
 * folders, and none uses it. SPDX-License-Identifier: MIT */
#include "tracepoints/item.h"
#include "tracer/host/lua_vm/vm.h"
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
	return is_recorded() && (pool_turn_off(mapped_pool, POOL_ON) & POOL_ON);
}

EXPORT int weft_resume(void)
{
	return !is_recorded() ? -1 : pool_turn_on(mapped_pool, 0);
}

/* Threads learn of it by the pool's generation; other processes find that
 * nothing has changed for them. */
EXPORT int weft_native(int on)
{
	bool was;

	if (!is_recorded())
		return -1;
	was = !atomic_exchange(&process_no_native, on == 0);
	if (was != (on != 0)) {
		thread_set_native_pool(&thread_no_pool);
		atomic_fetch_add(&thread_natives, 1);
		atomic_fetch_add(&mapped_pool->generation,
				 POOL_GENERATION_STEP);
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
	index = chunk_index(s, (XXH64(name, strlen(name), 0) & ~KEY_ZONE) |
			       KEY_LUA | KEY_MARK);
	if (index != NO_INDEX)
		chunk_put(s, rec_put(REC_MARK, index, chunk_gap(s, now)));
	s->mark = NULL;
	thread_release(s);
}

static bool put_label(struct thread_state *s, const char *key,
		      const char *value)
{
	const size_t k = strlen(key), v = strlen(value);
	const uint32_t words = 1 + item_string_words(k) +
			       item_string_words(v);
	uint64_t *item = chunk_item(s, words);

	if (!item) {
		chunk_switch(s, 0);
		item = chunk_item(s, words);
	}
	if (!item)
		return false;
	item[0] = item_put(ITEM_LABEL, words);
	item_put_string(item_put_string(item + 1, key, k), value, v);
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
 * two marks. Recording is on while any of them runs, in any process. */

enum { TITLES = 8 };

/* Hashes of the titles that run in this process, 0: free. Two titles of one
 * hash (64 bits) are taken for one. process_slot->titles is their number, or
 * more while one starts or stops. */
static _Atomic uint64_t running[TITLES];

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

/* In how many places the hash is. */
static int count_running(uint64_t hash)
{
	int n = 0;

	for (int i = 0; i < TITLES; i++)
		n += atomic_load(&running[i]) == hash;
	return n;
}

/* Exchanges a hash for another in up to that many places; returns in how
 * many. */
static uint32_t exchange(uint64_t from, uint64_t to, uint32_t most)
{
	uint32_t n = 0;

	for (int i = 0; i < TITLES && n < most; i++) {
		uint64_t is = from;

		n += atomic_compare_exchange_strong(&running[i], &is, to);
	}
	return n;
}

static bool is_any_running(void)
{
	bool any = atomic_load(&process_slot->titles) != 0;

	for (uint32_t i = 0; i < mapped_view.process_slots && !any; i++) {
		const struct pool_process *const p = &mapped_view.processes[i];

		any = atomic_load(&p->state) == SLOT_USED &&
		      atomic_load(&p->titles) != 0;
	}
	return any;
}

/* So many titles run no more. If none is left recording goes off, unless one
 * starts meanwhile: that changes the generation. */
static void drop_titles(uint32_t n)
{
	uint32_t now;

	atomic_fetch_sub(&process_slot->titles, n);
	now = atomic_load(&mapped_pool->generation);
	while ((now & POOL_BY_TITLE) && !is_any_running() &&
	       !atomic_compare_exchange_weak(
		       &mapped_pool->generation, &now,
		       now & ~(uint32_t)(POOL_ON | POOL_BY_TITLE)))
		continue;
}

/* False: too many run. No handler may jump out of it. */
static bool start(uint64_t hash)
{
	const struct kernel_signals before = kernel_hold_signals();
	bool has_place;

	atomic_fetch_add(&process_slot->titles, 1);
	pool_turn_on(mapped_pool, POOL_BY_TITLE);
	has_place = exchange(0, hash, 1) > 0;
	if (!has_place)
		drop_titles(1);
	kernel_let_signals(before);
	return has_place;
}

/* False: it does not run. No handler may jump out of it. */
static bool stop(uint64_t hash)
{
	const struct kernel_signals before = kernel_hold_signals();
	/* Two threads may have started it at once. */
	const uint32_t places = exchange(hash, 0, TITLES);

	drop_titles(places);
	kernel_let_signals(before);
	return places > 0;
}

EXPORT int weft_start(const char *title)
{
	uint64_t hash;

	if (!title || title[0] == '\0')
		return weft_resume();
	if (!process_ready())
		return -1;
	hash = hash_of(title);
	if (count_running(hash) > 0)
		return 1;
	if (!start(hash))
		return -2;
	mark("start", title);
	return 0;
}

EXPORT int weft_stop(const char *title)
{
	if (!is_recorded())
		return 0;
	if (!title || title[0] == '\0')
		return pool_turn_off(mapped_pool, POOL_ON | POOL_BY_TITLE) &
		       POOL_ON;
	if (count_running(hash_of(title)) == 0)
		return 0;
	mark("stop", title);
	return stop(hash_of(title));
}

/* The parent's titles do not run in the child. */
static void in_child(void)
{
	for (int i = 0; i < TITLES; i++)
		atomic_store(&running[i], 0);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* -------------------------------------------------------------- snapshots */

EXPORT int weft_snapshot(const char *reason)
{
	uint32_t nobody = SNAPSHOT_NONE;
	size_t length;

	if (!is_recorded() || !mapped_pool->flight)
		return -1;
	if (!atomic_compare_exchange_strong(&mapped_pool->snapshot, &nobody,
					    SNAPSHOT_TOLD))
		return 1;
	length = !reason ? 0 : strnlen(reason,
				sizeof(mapped_pool->snapshot_reason) - 1);
	if (length > 0)
		memcpy(mapped_pool->snapshot_reason, reason, length);
	mapped_pool->snapshot_reason[length] = '\0';
	atomic_store(&mapped_pool->snapshot, SNAPSHOT_WANTED);
	return 0;
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
		now.on = pool_is_on(mapped_pool);
		now.native = !atomic_load(&process_no_native);
		now.lua = mapped_view.lua;
		now.inside_only = atomic_load(&region_only);
		now.lost = lost_here();
	}
	now.size = status->size < sizeof(now) ? status->size : sizeof(now);
	memcpy(status, &now, now.size);
	return now.recorded ? 0 : -1;
}
