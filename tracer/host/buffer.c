/* buffer.c - opening, filling and closing chunks. SPDX-License-Identifier: MIT */
#include "tracer/host/buffer.h"
#include "tracer/host/interrupt.h"
#include "tracer/host/lua_side.h"
#include "tracer/host/module.h"
#include "tracer/host/process.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_INDEX UINT32_MAX

/* Dictionary words kept free, so that a function can always be named, if only
 * by its address. */
enum { DICT_RESERVE = 64 };

static void show(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------ the pool */

/* Always the first free one: a pool that is drained in time then uses few of
 * its buffers, again and again, which stay in the caches and need no new page
 * of this process. */
static uint32_t claim_in(uint32_t first, uint32_t count, uint32_t slot)
{
	for (uint32_t i = 0; i < count; i++) {
		_Atomic uint64_t *const at = &process_view.states[first + i];
		uint64_t word = atomic_load_explicit(at, memory_order_relaxed);

		if (buffer_state(word) == BUFFER_FREE &&
		    atomic_compare_exchange_strong(at, &word, buffer_word(
			    BUFFER_FILLING, slot, buffer_generation(word))))
			return first + i;
	}
	return NO_BUFFER;
}

static uint64_t *buffer_words_of(uint32_t b)
{
	return b < process_view.small_count ?
	       process_view.small + (size_t)b * POOL_SMALL_WORDS :
	       process_view.big + (size_t)(b - process_view.small_count) *
				  POOL_BIG_WORDS;
}

/* The flight recorder: take the full buffer that was closed first. */
static uint32_t claim_oldest(uint32_t slot)
{
	for (int tries = 0; tries < 3; tries++) {
		uint64_t oldest = UINT64_MAX, word = 0;
		uint32_t best = NO_BUFFER;
		const uint32_t all = process_view.small_count +
				     process_view.big_count;

		for (uint32_t b = process_view.small_count; b < all; b++) {
			const uint64_t w = atomic_load(&process_view.states[b]);
			const struct chunk_header *h = (const void *)
						       buffer_words_of(b);

			if (buffer_state(w) == BUFFER_FULL &&
			    h->tick_end < oldest) {
				oldest = h->tick_end;
				best = b;
				word = w;
			}
		}
		if (best == NO_BUFFER)
			return NO_BUFFER;
		if (atomic_compare_exchange_strong(&process_view.states[best],
			    &word, buffer_word(BUFFER_FILLING, slot,
						    buffer_generation(word) +
						    1)))
			return best;
	}
	return NO_BUFFER;
}

static uint32_t claim_free(const struct state *s, int big)
{
	uint32_t b = NO_BUFFER;

	for (int i = 0; i < 2 && b == NO_BUFFER; i++, big = !big) {
		b = big ? claim_in(process_view.small_count,
				   process_view.big_count, s->slot_index) :
			  claim_in(0, process_view.small_count, s->slot_index);
	}
	return b;
}

/* Has the recorder died? The kernel says so in its robust mutex. */
static int recorder_dead(void)
{
	const int lock = __atomic_load_n((int *)&state_pool->recorder,
					 __ATOMIC_RELAXED);

	return lock == 0 || (lock & 0x40000000) != 0;
}

static uint32_t claim(const struct state *s, int big)
{
	const struct timespec pause = { 0, 200000 };
	uint32_t b = claim_free(s, big);

	if (b != NO_BUFFER || state_pool->on_full == POOL_DROP)
		return b;
	if (state_pool->on_full == POOL_OVERWRITE)
		return claim_oldest(s->slot_index);
	while (b == NO_BUFFER && !recorder_dead()) {
		/* nanosleep() itself would be a place to be cancelled at. */
		syscall(SYS_nanosleep, &pause, NULL);
		b = claim_free(s, big);
	}
	return b;
}

/* ---------------------------------------------------------- what is lost */

static void count_scrap(struct state *s)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < s->n; i++)
		lost += rec_kind(s->scrap_records[i]) != REC_OPERAND;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_FULL], lost,
				  memory_order_relaxed);
	atomic_store_explicit(&s->slot->scrap, 0, memory_order_relaxed);
}

static void use_scrap(struct state *s)
{
	s->head = &s->scrap_head;
	s->scrap_head.checksum = 0; /* record -1 is no ENTER */
	s->buffer = NO_BUFFER;
	s->records = s->scrap_records;
	s->n = 0;
	s->limit = SCRAP_WORDS - RECORD_SLACK;
	s->published = &s->slot->scrap;
	s->items = s->funcs = 0;
	s->epoch++;
}

/* ------------------------------------------------------------ open, close */

void buffer_disown(struct state *s)
{
	s->leaving = s->opening = 0;
	use_scrap(s);
}

void buffer_close(struct state *s, uint32_t flags)
{
	if (s->level > 0)
		interrupt_close(s, flags);
	buffer_hand_over(s, flags);
}

/* From filling to full, or back to free, if nobody was faster: the recorder, or
 * the parent of a fork. word: as it was, 0: not this process' any more. */
static void let_go(uint32_t b, uint64_t word, enum buffer_state state)
{
	const uint32_t slot = state == BUFFER_FULL ? buffer_slot(word) : 0;

	if (word != 0)
		atomic_compare_exchange_strong(&process_view.states[b], &word,
			buffer_word(state, slot, buffer_generation(word)));
}

/* A handler's jump left a hook in the midst of a change of chunks: the old one
 * is handed over after all; the new one, in which nothing stands, is given
 * back. */
static void finish_change(struct state *s)
{
	const uint64_t opening = s->opening;

	if (s->leaving != 0 && s->buffer != s->leaving_buffer) {
		s->number = s->scrap_head.number + 1;
		let_go(s->leaving_buffer, s->leaving, BUFFER_FULL);
	}
	s->leaving = 0;
	if (opening == 0)
		return;
	memset(buffer_words_of(s->opening_buffer), 0, CHUNK_HEADER_WORDS * 8);
	use_scrap(s);
	s->opening = 0;
	barrier();
	let_go(s->opening_buffer, opening, BUFFER_FREE);
}

void buffer_hand_over(struct state *s, uint32_t flags)
{
	struct chunk_header *h;
	uint32_t b;

	if (unlikely((s->leaving | s->opening) != 0) && !BROKEN(change))
		finish_change(s);
	h = s->head;
	b = s->buffer;
	if (b == NO_BUFFER) {
		if (s->n > 0) {
			count_scrap(s);
			s->resync = 1;
		}
		use_scrap(s);
		return;
	}
	s->cpu = state_cpu();
	h->tick_end = s->last;
	h->cpu_end = s->cpu;
	h->flags |= flags;
	show(&h->records, s->n); /* a jump may have come before that */
	/* A handler that jumps away from here must leave the state with a
	 * buffer and a number of its own, so these come first. */
	if (s->level > 0 && s->n >= s->limit)
		s->want_big = 1; /* else a small one will do */
	s->written = h->written + s->n;
	s->scrap_head.number = s->number;
	s->leaving_buffer = b;
	barrier();
	s->leaving = atomic_load_explicit(&process_view.states[b],
					  memory_order_relaxed);
	barrier();
	use_scrap(s);
	barrier(); /* a handler must not find the old n with the new number */
	s->number++;
	barrier();
	BREAK_PAUSE(closed);
	if (s->level == 0)
		interrupt_close(s, flags);
	let_go(b, s->leaving, BUFFER_FULL);
	barrier();
	s->leaving = 0;
}

static void fill_header(struct state *s, struct chunk_header *h, uint32_t flags)
{
	const struct clock_pair pair = clock_pair();

	memset(h, 0, sizeof(*h));
	h->version = CHUNK_VERSION;
	h->flags = flags | (clock_is_tsc ? CHUNK_TSC : 0u) |
		   (s->base_unknown ? CHUNK_BASE_UNKNOWN : 0u);
	h->recording = process_view.recording;
	h->process = s->process_serial;
	h->thread = s->thread_serial;
	h->pid = process_slot->pid;
	h->tid = s->tid;
	h->number = s->number;
	h->level = s->level;
	h->written = s->written;
	if (s->below != NULL) {
		h->interrupted_chunk = interrupt_chunk(s->below);
		h->interrupted_record = s->below->n;
	} else {
		for (int i = 0; i < LOST_REASONS; i++)
			h->lost[i] = atomic_load_explicit(&s->slot->lost[i],
							  memory_order_relaxed);
	}
	h->process_start = process_start;
	h->tick_begin = s->last;
	h->pair_tick = pair.tick;
	h->pair_mono = pair.mono;
	h->pair_real = pair.real;
	h->pair_width = pair.width;
	h->tick_hz = atomic_load_explicit(&state_pool->tick_hz,
					  memory_order_relaxed);
	h->tick_hz_error = atomic_load_explicit(&state_pool->tick_hz_error,
						memory_order_relaxed);
	h->cpu_begin = s->cpu;
	memcpy(h->thread_name, s->name, sizeof(h->thread_name));
	h->magic = CHUNK_MAGIC;
}

/* A thread that needs more than 50 ms for a chunk is well served by a small
 * one; so is a thread's first. */
static int wants_big(const struct state *s)
{
	const uint64_t slow = clock_is_tsc ? 100000000 : 50000000;

	return s->top - s->frames > 64 || s->segments > 4 || s->want_big ||
	       (s->number > 0 && s->level == 0 && s->last - s->opened < slow);
}

static void put_process(struct state *s)
{
	const size_t length = strnlen(process_slot->path, POOL_PATH_MAX);
	const uint32_t words = 2 + buffer_string_words(length);
	uint64_t *const item = buffer_item(s, words);

	if (item == NULL)
		return;
	item[0] = item_put(ITEM_PROCESS, words);
	item[1] = process_slot->parent;
	buffer_put_string(item + 2, process_slot->path, length);
	buffer_publish_items(s);
}

static uint32_t name_try(struct state *s, uint64_t key, struct table_set *set);

/* The words of one frame of the stack item; frames that find no name (there is
 * no room for it) are left out like those in the middle of a deep stack. */
static uint64_t *put_frame(struct state *s, const struct frame *f, uint64_t *to,
			   const uint64_t *begin, int omit)
{
	const uint64_t age = s->last - f->tick;
	uint32_t index = NO_INDEX;

	if (!omit)
		index = name_try(s, f->key, &s->table[(f->key *
			UINT64_C(0x9e3779b97f4a7c15)) >> (64 - TABLE_BITS)]);
	if (index != NO_INDEX) {
		*to++ = rec_put(REC_OPERAND, index, age < REC_AGE_UNKNOWN ?
				age : REC_AGE_UNKNOWN);
		return to;
	}
	if (to > begin && rec_func(to[-1]) == REC_FUNC_OMITTED) {
		to[-1] += UINT64_C(1) << REC_GAP_SHIFT;
		return to;
	}
	*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED, 1);
	return to;
}

uint64_t *buffer_put_frames(struct state *s, const struct frame *f,
			    uint32_t count, uint32_t first, uint32_t total,
			    uint64_t *to)
{
	const uint64_t *const begin = to;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t k = first + i;

		to = put_frame(s, &f[i], to, begin,
			       k >= CHUNK_STACK_OUTER &&
			       k + CHUNK_STACK_INNER < total);
	}
	return to;
}

/* One segment after the other; all frames of each left out if omit. */
static uint64_t *put_segments(struct state *s, uint64_t *to, int omit)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;

	for (uint32_t i = 0; i < s->segments; i++) {
		const struct segment *const g = &s->segment[i];
		const uint32_t end = i + 1 < s->segments ? g[1].base :
				     total + 1;
		uint64_t *const count = to + 1;

		*to = g->serial;
		to += 2;
		if (omit && end > g->base)
			*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED,
					end - g->base);
		else
			to = buffer_put_frames(s, s->frames + g->base,
					       end - g->base, g->base - 1,
					       total, to);
		*count = (uint64_t)(to - count - 1);
	}
	return to;
}

/* The stack item goes where the items begin: its room is set aside first, since
 * naming its functions makes items too; what is left over is an item of type 0,
 * which readers skip. */
static void put_stack(struct state *s)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER;
	uint32_t words = 2 + 3 * s->segments + (total < most ? total : most);
	uint64_t *item = buffer_item(s, words), *to;
	const int omit = item == NULL;

	if (omit) {
		words = 2 + 3 * s->segments;
		item = buffer_item(s, words);
	}
	if (item == NULL) {
		s->head->flags |= CHUNK_BASE_UNKNOWN;
		return;
	}
	item[1] = s->segments;
	to = put_segments(s, item + 2, omit);
	item[0] = item_put(ITEM_STACK, (uint64_t)(to - item));
	if (to < item + words)
		*to = item_put(ITEM_NOTHING, (uint64_t)(item + words - to));
	buffer_publish_items(s);
}

static void buffer_open(struct state *s, uint32_t flags)
{
	const uint32_t b = claim(s, wants_big(s));

	s->opened = s->last;
	s->want_big = 0;
	if (b == NO_BUFFER)
		return; /* the scrap is in place */
	s->opening_buffer = b;
	barrier();
	s->opening = atomic_load_explicit(&process_view.states[b],
					  memory_order_relaxed);
	barrier();
	s->epoch++;
	s->buffer = b;
	s->head = (struct chunk_header *)buffer_words_of(b);
	s->buffer_words = b < process_view.small_count ? POOL_SMALL_WORDS :
			  POOL_BIG_WORDS;
	s->limit = pool_record_room(s->buffer_words) - RECORD_SLACK;
	s->items_at = CHUNK_HEADER_WORDS + pool_record_room(s->buffer_words);
	s->n = s->items = s->funcs = 0;
	s->records = (uint64_t *)(s->head + 1);
	s->published = (_Atomic uint32_t *)&s->head->records;
	memset(s->modules_named, 0, sizeof(s->modules_named));
	if (s->resync)
		flags |= CHUNK_GAP;
	s->resync = 0;
	fill_header(s, s->head, flags);
	if (!BROKEN(cut))
		put_stack(s);
	put_process(s);
	barrier();
	s->opening = 0;
	if (lua_side_chunk != NULL)
		lua_side_chunk(s);
}

void buffer_switch(struct state *s, uint32_t flags)
{
	const int saved = errno;

	buffer_close(s, 0);
	buffer_open(s, flags);
	errno = saved;
}

/* ---------------------------------------------------------------- items */

uint64_t *buffer_item(struct state *s, uint32_t words)
{
	uint64_t *const base = (uint64_t *)s->head;

	if (buffer_is_scrap(s) || s->items_at + s->items + words + s->funcs +
	    DICT_RESERVE > s->buffer_words)
		return NULL;
	s->items += words;
	return base + s->items_at + s->items - words;
}

void buffer_publish_items(struct state *s)
{
	show(&s->head->items, s->items);
}

uint32_t buffer_string_words(size_t length)
{
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;

	return (uint32_t)(2 + (stored + 7) / 8);
}

uint64_t *buffer_put_string(uint64_t *to, const char *text, size_t length)
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

static int put_module(struct state *s, uint32_t number)
{
	const struct module *const m = module_get(number);
	const size_t length = strlen(m->path);
	const uint32_t words = 7 + buffer_string_words(length);
	uint64_t *const item = buffer_item(s, words);

	if (item == NULL)
		return 0;
	item[0] = item_put(ITEM_MODULE, words);
	item[1] = number;
	item[2] = m->bias;
	item[3] = m->end - m->bias;
	item[4] = item[5] = item[6] = 0;
	((uint8_t *)&item[4])[0] = m->build_id_size;
	memcpy((uint8_t *)&item[4] + 1, m->build_id, m->build_id_size);
	buffer_put_string(item + 7, m->path, length);
	buffer_publish_items(s);
	s->modules_named[number / 64] |= UINT64_C(1) << number % 64;
	return 1;
}

/* The dictionary word of a code address, 0: its module cannot be named here. */
static uint64_t native_word(struct state *s, uint64_t address, uint64_t known)
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

static uint64_t mark_word(struct state *s)
{
	const size_t length = strlen(s->mark);
	const uint32_t words = 1 + buffer_string_words(length);
	uint64_t *const item = buffer_item(s, words);

	if (item == NULL)
		return 0;
	item[0] = item_put(ITEM_NAME, words);
	buffer_put_string(item + 1, s->mark, length);
	buffer_publish_items(s);
	return dict_put_item(DICT_NAME, s->items - words);
}

static uint64_t item_word(struct state *s, uint64_t key)
{
	uint32_t at = NO_INDEX;

	if (key & KEY_MARK)
		return mark_word(s);
	if (lua_side_item != NULL)
		at = lua_side_item(s, key);
	return at == NO_INDEX ? 0 : dict_put_item(DICT_LUA, at);
}

static uint32_t name_try(struct state *s, uint64_t key, struct table_set *set)
{
	struct table_way *way = &set->way[0];
	uint64_t word;

	for (int i = 0; i < 2; i++) {
		if (set->way[i].key == key) {
			way = &set->way[i];
			if (way->epoch == s->epoch)
				return way->index;
			goto found;
		}
	}
	if (set->way[0].epoch == s->epoch)
		way = &set->way[1];
	way->word = 0;
found:
	if (buffer_is_scrap(s)) {
		if (way->key != key)
			way->word = 0;
		way->key = key;
		way->epoch = s->epoch;
		way->index = 0;
		return 0;
	}
	if (s->items_at + s->items + s->funcs + 1 > s->buffer_words ||
	    s->funcs >= CHUNK_MAX_FUNCS)
		return NO_INDEX;
	word = (key & KEY_LUA) ? item_word(s, key) :
	       native_word(s, key, way->key == key ? way->word : 0);
	if (word == 0 || s->items_at + s->items + s->funcs + 1 >
	    s->buffer_words)
		return NO_INDEX;
	((uint64_t *)s->head)[s->buffer_words - 1 - s->funcs] = word;
	way->key = key;
	way->word = (key & KEY_LUA) ? 0 : word;
	way->epoch = s->epoch;
	way->index = s->funcs++;
	show(&s->head->funcs, s->funcs);
	if (!(key & KEY_MARK) && lua_side_hint != NULL)
		lua_side_hint(s, key, way->index);
	return way->index;
}

/* No room even in a chunk of its own: the address, or nothing, must do. */
static uint32_t name_poorly(struct state *s, uint64_t key)
{
	if (s->items_at + s->items + s->funcs + 1 > s->buffer_words ||
	    s->funcs >= CHUNK_MAX_FUNCS)
		return s->funcs > 0 ? s->funcs - 1 : 0;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_NAMES], 1,
				  memory_order_relaxed);
	((uint64_t *)s->head)[s->buffer_words - 1 - s->funcs] =
		dict_put_code((key & KEY_LUA) ? 0 : key);
	show(&s->head->funcs, ++s->funcs);
	return s->funcs - 1;
}

SLOW uint32_t buffer_name(struct state *s, uint64_t key, struct table_set *set)
{
	const int saved = errno;
	uint32_t index = name_try(s, key, set);

	if (index == NO_INDEX) {
		s->want_big = 1;
		buffer_switch(s, 0);
		index = name_try(s, key, set);
		if (index == NO_INDEX)
			index = name_poorly(s, key);
	}
	errno = saved;
	return index;
}

SLOW uint64_t buffer_long_gap(struct state *s, uint64_t gap)
{
	buffer_put(s, rec_put_value(REC_TIME, gap & REC_VALUE_MAX));
	return 0;
}
