/* chunk_dictionary.c - the dictionary of a chunk, and the stack at its
 * start, which refers to it. SPDX-License-Identifier: MIT */
#include "tracepoints/item.h"
#include "tracer/host/thread/chunk_dictionary.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/zone.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>

/* ------------------------------------------------------------------ words */

static bool put_module(struct thread_state *s, const struct module *m,
		       uint32_t number)
{
	const size_t length = strlen(m->path);
	uint64_t *const item = chunk_item(s, item_module_words(length));

	if (!item)
		return false;
	item_put_module(item, number, m->bias, m->end - m->bias, m->build_id,
			m->build_id_size, m->path, length);
	chunk_publish_items(s);
	s->modules_named[number / 64] |= UINT64_C(1) << number % 64;
	return true;
}

/* The module's number in the open chunk: its own, or, where the process has had
 * more modules than a chunk has numbers, one that is good for this chunk.
 * DICT_MAX_MODULES: none is left. */
static uint32_t number_of(struct thread_state *s, const struct module *m)
{
	uint32_t i = 0;

	if (m->number < MODULES_NUMBERED)
		return m->number;
	while (MODULES_NUMBERED + i < DICT_MAX_MODULES && s->modules_late[i] &&
	       s->modules_late[i] != m)
		i++;
	if (MODULES_NUMBERED + i < DICT_MAX_MODULES)
		s->modules_late[i] = m;
	return MODULES_NUMBERED + i;
}

/* The dictionary word of a code address, 0: its module cannot be named here.
 * known: the word, if it was found before, or 0. */
static uint64_t native_word(struct thread_state *s, uint64_t address,
			    uint64_t known)
{
	const struct module *m;
	uint32_t number;

	if (known == 0) {
		if (!module_find(address, &m))
			return dict_put_code(address);
		number = !m ? DICT_MAX_MODULES : number_of(s, m);
		if (number >= DICT_MAX_MODULES)
			return 0;
		known = dict_put_native(number, address - m->bias);
	} else {
		number = dict_module(known);
		m = dict_kind(known) == DICT_NATIVE ? module_get(number) : NULL;
	}
	return !m || (s->modules_named[number / 64] >> number % 64 & 1) ||
	       put_module(s, m, number) ? known : 0;
}

/* Of a mark or zone. */
static uint64_t name_word(struct thread_state *s, const char *name)
{
	const size_t length = strlen(name);
	const uint32_t words = 1 + item_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return 0;
	item[0] = item_put(ITEM_NAME, words);
	item_put_string(item + 1, name, length);
	chunk_publish_items(s);
	return dict_put_item(DICT_NAME, s->items - words);
}

/* 0: there is no room for its item. */
static uint64_t item_word(struct thread_state *s, uint64_t key)
{
	uint32_t at = NO_INDEX;

	if (key & KEY_MARK)
		return name_word(s, zone_is(key) ? zone_name(key) : s->mark);
	if (thread_upcalls.lua_item)
		at = thread_upcalls.lua_item(s, key);
	return at == NO_INDEX ? 0 : dict_put_item(DICT_LUA, at);
}

/* ----------------------------------------------------------------- naming */

static bool is_full(const struct thread_state *s)
{
	return chunk_room(s) == 0 || s->funcs >= CHUNK_MAX_FUNCS;
}

/* Words that what Lua says of a native function may take, and those that items
 * leave to the dictionary. */
enum { HINT_ROOM = 96 };

/* A function whose hint has no room waits for the next chunk: in this one it
 * would have no name. */
static bool has_hint_room(const struct thread_state *s, uint64_t key)
{
	return (key & (KEY_MARK | KEY_LUA)) || !thread_upcalls.lua_hint ||
	       chunk_room(s) >= HINT_ROOM;
}

/* Its index; chunk_show is left to the caller. */
static uint32_t add_word(struct thread_state *s, uint64_t word)
{
	((uint64_t *)s->head)[s->buffer_words - 1 - s->funcs] = word;
	return s->funcs++;
}

/* The function's place in the table, or one that it may take. */
static uint32_t place_of(struct thread_state *s, uint64_t key)
{
	uint32_t at = chunk_place(key);

	if (s->words[at].key == key)
		return at;
	if (s->words[at ^ 1].key == key)
		return at ^ 1;
	at ^= (uint32_t)(s->table_used[at / 64] >> at % 64) & 1;
	s->words[at].key = key;
	s->words[at].word = 0;
	return at;
}

/* The place is marked as used first: a handler may jump away from here. frame:
 * of what is still open, or 0. */
static uint32_t remember_with(struct thread_state *s, uint32_t at, uint64_t key,
			      uint32_t index, uint64_t frame)
{
	s->table_used[at / 64] |= UINT64_C(1) << at % 64;
	s->table[at].key = chunk_no_key(at);
	barrier();
	s->table[at].enter = rec_put(REC_ENTER, index, frame);
	barrier();
	s->table[at].key = key;
	return index;
}

static uint32_t remember(struct thread_state *s, uint32_t at, uint64_t key,
			 uint32_t index)
{
	return remember_with(s, at, key, index, 0);
}

uint32_t dictionary_try_name(struct thread_state *s, uint64_t key)
{
	const struct table_entry *e = chunk_named(s, key);
	uint64_t word;
	uint32_t index, at;

	if (!e)
		e = chunk_turned(s, key, key | KEY_STILL_OPEN);
	if (e)
		return rec_func(e->enter);
	at = place_of(s, key);
	if (chunk_is_scrap(s))
		return remember(s, at, key, 0);
	if (is_full(s) || !has_hint_room(s, key))
		return NO_INDEX;
	word = (key & KEY_LUA) ? item_word(s, key) :
	       native_word(s, key, s->words[at].word);
	if (word == 0 || is_full(s) || !has_hint_room(s, key))
		return NO_INDEX;
	index = remember(s, at, key, add_word(s, word));
	/* Is the word good for other chunks, too? */
	s->words[at].word = dict_kind(word) == DICT_CODE ||
			    (dict_kind(word) == DICT_NATIVE &&
			     dict_module(word) < MODULES_NUMBERED) ? word : 0;
	chunk_show(&s->head->funcs, s->funcs);
	if (!(key & KEY_MARK) && thread_upcalls.lua_hint)
		thread_upcalls.lua_hint(s, key, index);
	return index;
}

uint32_t dictionary_name_poorly(struct thread_state *s, uint64_t key)
{
	uint32_t index;

	chunk_count_lost(s, LOST_NAMES, 1);
	if ((key & KEY_MARK) && !zone_is(key))
		return NO_INDEX;
	CHECKED(!is_full(s)); /* items leave words for that */
	index = add_word(s, dict_put_code((key & KEY_LUA) ? 0 : key));
	chunk_show(&s->head->funcs, s->funcs);
	return index;
}

/* --------------------------------------------------------------- verdicts */

/* What stands for the function in the table of verdicts. 0: nothing. */
static uint64_t verdict_key(uint64_t key, struct function_origin *from)
{
	const struct module *m;

	if (key & KEY_LUA)
		return !thread_upcalls.lua_verdict ? 0 :
		       thread_upcalls.lua_verdict(key, from);
	if (!module_find(key, &m) || !m)
		return 0;
	from->name = m->path;
	from->size = strlen(m->path);
	from->hash = m->build_id_size > 0 ?
		     XXH64(m->build_id, m->build_id_size, 0) :
		     XXH64(m->path, from->size, 0);
	return verdict_of_native(from->hash, key - m->bias);
}

static enum verdict find_verdict(uint64_t id, bool *known)
{
	return verdict_find(mapped_view.verdicts, mapped_view.verdict_slots,
			    id, known);
}

/* An entry that only chunk_skips finds. */
static void remember_skipped(struct thread_state *s, uint64_t key)
{
	const uint32_t at = place_of(s, key);

	remember(s, at, key + KEY_SKIPPED, 0);
}

void dictionary_counts(struct thread_state *s, uint64_t key, uint32_t index)
{
	if (!chunk_counts(s, key))
		remember(s, place_of(s, key), key | KEY_COUNTED, index);
}

static enum verdict look_up(uint64_t key, bool *known)
{
	const int saved = errno;
	struct function_origin from;
	const uint64_t id = verdict_key(key, &from);

	errno = saved;
	*known = false;
	return id == 0 ? VERDICT_RECORD : find_verdict(id, known);
}

/* Sources that are no files have no names to look for. To be found out before
 * the function is looked up: where all are in the table, it is. */
static bool may_be_asked(const struct function_origin *from)
{
	bool known;

	find_verdict(verdict_start_all(from->hash), &known);
	return !known && !kernel_confined && from->size > 1 &&
	       (from->name[0] == '@' || from->name[0] == '/');
}

SLOW bool dictionary_begins(uint64_t key)
{
	const int saved = errno;
	struct function_origin from;
	const uint64_t id = !mapped_view.verdicts ? 0 :
			    verdict_key(key, &from);
	const bool asks = id != 0 && may_be_asked(&from);
	bool known = false;

	if (id != 0)
		find_verdict(verdict_start(id), &known);
	if (!known && asks &&
	    mapped_ask(process_slot->pid, from.hash, from.name, from.size))
		find_verdict(verdict_start(id), &known);
	if (known)
		pool_turn_off(mapped_pool, POOL_AWAITS);
	errno = saved;
	return known;
}

SLOW enum verdict dictionary_verdict(struct thread_state *s, uint64_t key)
{
	enum verdict verdict;
	bool known;

	if (s->awaits && !chunk_skips(s, key))
		remember_skipped(s, key);
	if (s->awaits)
		return VERDICT_SKIP;
	if (!mapped_view.verdicts || chunk_named(s, key) ||
	    chunk_still_opens(s, key))
		return VERDICT_RECORD;
	if (chunk_skips(s, key))
		return VERDICT_SKIP;
	if (chunk_counts(s, key))
		return VERDICT_COUNT;
	verdict = look_up(key, &known);
	if (verdict == VERDICT_SKIP)
		remember_skipped(s, key);
	return verdict;
}

/* So many records at least lie between the early ends of two chunks. And so
 * long into a chunk, a function that is open and calls itself is seen as one
 * that stays open: it is then named as any other, which is quicker. */
enum { STILL_OPEN_RECORDS = 1000 };

SLOW bool dictionary_has_outlived(struct thread_state *s, uint64_t key)
{
	const struct table_entry *const e =
		chunk_turned(s, key, key | KEY_STILL_OPEN);
	const uint64_t at = s->written + chunk_count(s);
	const struct frame *f;
	bool is_open;

	if (!e)
		return false;
	f = s->frames + rec_gap(e->enter);
	is_open = f < s->top && f->key == key;
	if (!is_open && at >= s->may_end) {
		s->may_end = at + STILL_OPEN_RECORDS;
		return true;
	}
	if (!is_open || chunk_count(s) >= STILL_OPEN_RECORDS)
		remember(s, place_of(s, key), key, rec_func(e->enter));
	return false;
}

SLOW bool dictionary_may_skip(const struct thread_state *s, uint64_t key)
{
	bool known = s->awaits ||
		     (mapped_view.verdicts && chunk_skips(s, key));

	if (mapped_view.verdicts && !known)
		look_up(key, &known);
	return known;
}

/* -------------------------------------------------------------- open stacks */

/* Words that a stack leaves to what follows it in the chunk: the process, and
 * the longest name of a function or mark. */
enum { STACK_RESERVE = 256 };

/* The index of a frame's function. If its calls are left out by now, a chunk
 * that is being opened notes that it is still open; a body, which has no frame,
 * is not. */
static uint32_t name_open(struct thread_state *s, const struct frame *f)
{
	const bool is_first = s->opening.word != 0 && mapped_view.verdicts &&
			      !chunk_named(s, f->key) &&
			      !chunk_still_opens(s, f->key);
	const uint32_t index = dictionary_try_name(s, f->key);
	const bool is_frame = f > s->frames && f < s->top;
	bool known;

	if (is_first && index != NO_INDEX &&
	    look_up(f->key, &known) != VERDICT_RECORD)
		remember_with(s, place_of(s, f->key), f->key | KEY_STILL_OPEN,
			      index,
			      is_frame ? (uint64_t)(f - s->frames) : 0);
	return index;
}

/* How long it has been open, as readers are told. */
static uint64_t age_of(const struct thread_state *s, const struct frame *f)
{
	const uint64_t age = s->last - f->tick;

	return frame_begins_borrowed(f) ? REC_AGE_BODY :
	       age < REC_AGE_BODY ? age : REC_AGE_UNKNOWN;
}

/* The words of one frame of the stack item; frames that find no name (there is
 * no room for it) are left out like those in the middle of a deep stack. */
static uint64_t *put_frame(struct thread_state *s, const struct frame *f,
			   uint64_t *to, const uint64_t *begin, bool omit)
{
	const uint32_t index = omit || (s->opening.word != 0 &&
					chunk_room(s) < STACK_RESERVE) ?
			       NO_INDEX : name_open(s, f);

	if (index != NO_INDEX)
		*to++ = rec_put(REC_OPERAND, index, age_of(s, f));
	else if (to > begin && rec_func(to[-1]) == REC_FUNC_OMITTED)
		to[-1] += UINT64_C(1) << REC_GAP_SHIFT;
	else
		*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED, 1);
	return to;
}

uint64_t *dictionary_put_frames(struct thread_state *s, const struct frame *f,
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

uint64_t dictionary_body(struct thread_state *s, const struct segment *g)
{
	const struct frame *const f = s->frames + g->base;
	const struct frame body = { .key = g->body.key, .tick = g->body.tick };
	uint64_t word;

	/* The last frame's, too, where none is left: the body has not ended. */
	if (body.key == 0 || f->tick != g->body.on)
		return 0;
	put_frame(s, &body, &word, &word, false);
	return rec_func(word) == REC_FUNC_OMITTED ? 0 : word;
}

/* A word for each segment, if one of them has a body under it. */
static uint64_t *put_bodies(struct thread_state *s, uint64_t *to)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < s->segments; i++) {
		to[i] = dictionary_body(s, &s->segment[i]);
		any |= to[i];
	}
	return any != 0 ? to + s->segments : to;
}

/* How many frames of the segment readers know of: none where calls are counted.
 * And of all segments. */
static uint32_t told_in(const struct thread_state *s, uint32_t i)
{
	return s->counts ? 0 : (uint32_t)(depth_recorded_end(s, i) -
					  s->frames) - s->segment[i].base;
}

static uint32_t told_of(const struct thread_state *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->segments; i++)
		n += told_in(s, i);
	return n;
}

/* One segment after the other; all frames of each left out if omit. */
static uint64_t *put_segments(struct thread_state *s, uint64_t *to, bool omit)
{
	const uint32_t total = told_of(s);
	uint32_t first = 0;

	for (uint32_t i = 0; i < s->segments; i++) {
		const struct segment *const g = &s->segment[i];
		const uint32_t n = told_in(s, i);
		uint64_t *const count = to + 1;

		*to = g->serial;
		to += 2;
		if (omit && n > 0)
			*to++ = rec_put(REC_OPERAND, REC_FUNC_OMITTED, n);
		else
			to = dictionary_put_frames(s, s->frames + g->base, n,
						   first, total, to);
		first += n;
		*count = (uint64_t)(to - count - 1);
	}
	return omit || s->counts ? to : put_bodies(s, to);
}

/* The stack item goes where the items begin: its room is set aside first, since
 * naming its functions makes items too; what is left over is an item of type 0,
 * which readers skip. */
void dictionary_put_stack(struct thread_state *s)
{
	const uint32_t total = told_of(s);
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER;
	uint32_t words = 2 + 4 * s->segments + (total < most ? total : most);
	const bool omit = words + STACK_RESERVE > chunk_room(s);
	uint64_t *item, *to;

	if (omit)
		words = 2 + 3 * s->segments;
	item = chunk_item(s, words);
	if (!item) {
		s->head->flags |= CHUNK_BASE_UNKNOWN;
		return;
	}
	item[1] = s->segments;
	to = put_segments(s, item + 2, omit);
	item[0] = item_put(ITEM_STACK, (uint64_t)(to - item));
	if (to < item + words)
		*to = item_put(ITEM_NOTHING, (uint64_t)(item + words - to));
	chunk_publish_items(s);
}
