/* chunk_build.h - makes valid chunks for tests, from calls that read like what
 * the program did. Shares the contract's headers with the readers, no code.
 * Included whole, so that any test program can use it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"
#include "tracepoints/record.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CB_NAMES = 1024, CB_ITEMS = 15000 };

/* Functions are Lua functions of source "=NAME", line 1, so that their name is
 * known without symbols; "0x1200" is native, at that offset in module 1; marks
 * are NAMEs. */
struct chunk_build {
	struct chunk_header header;
	uint64_t tick;           /* of the last record */
	uint64_t record[CHUNK_MAX_RECORDS + 16];
	uint64_t item[CB_ITEMS + 64];
	uint64_t dict[CB_NAMES];
	char name[CB_NAMES][64]; /* of each dictionary entry, kind in front */
	uint64_t stack[CB_ITEMS];/* payload of the ITEM_STACK */
	size_t stack_words, segment; /* segment: where the last one stands */
	uint64_t body[CB_NAMES]; /* of each segment, or 0 */
	bool has_bodies, has_program;
	uint64_t words[CHUNK_MAX_WORDS];
	size_t n;                /* of words, set by cb_end */
};

static inline void cb_begin(struct chunk_build *b, uint32_t process,
			    uint32_t thread, uint64_t number, uint64_t tick)
{
	b->header = (struct chunk_header){
		.magic = CHUNK_MAGIC, .version = CHUNK_VERSION,
		.recording = 77, .process = process, .thread = thread,
		.pid = 1000 + process, .tid = 2000 + thread,
		.number = number, .process_start = 5, .tick_begin = tick,
		.pair_tick = tick, .pair_mono = tick + 1000,
		.pair_real = tick + 2000, .pair_width = 1,
		.tick_hz = 1000000000 };
	b->tick = tick;
	b->stack_words = 0;
	b->has_bodies = b->has_program = false;
	b->n = 0;
}

static inline void cb_item_word(struct chunk_build *b, uint64_t word)
{
	if (b->header.items >= CB_ITEMS)
		abort();
	b->item[b->header.items++] = word;
}

static inline void cb_string(struct chunk_build *b, const char *text)
{
	const size_t length = strlen(text);
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;
	char bytes[CHUNK_STRING_MAX + 8] = "";

	memcpy(bytes, text, stored);
	cb_item_word(b, string_put(stored, length));
	cb_item_word(b, XXH64(text, length, 0));
	for (size_t i = 0; i < stored; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		cb_item_word(b, word);
	}
}

/* Numbers in LEB128, as docs/format.md has them for SWITCHES, in words. */
static inline void cb_numbers(struct chunk_build *b, const uint64_t *number,
			      size_t n)
{
	uint64_t word = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t left = number[i];

		do {
			const uint64_t more = left > 127 ? 128 : 0;

			word |= (left % 128 | more) << bits;
			left /= 128;
			bits += 8;
			if (bits == 64) {
				cb_item_word(b, word);
				word = bits = 0;
			}
		} while (left > 0);
	}
	if (bits > 0)
		cb_item_word(b, word);
}

/* Items: begin, words and strings, end. */
static inline size_t cb_item(struct chunk_build *b)
{
	cb_item_word(b, 0);
	return b->header.items - 1;
}

static inline void cb_item_end(struct chunk_build *b, size_t at,
			       enum item_type type)
{
	b->item[at] = item_put(type, b->header.items - at);
}

/* What is known of the thread's switches: numbers as in SWITCHES. */
static inline void cb_switches(struct chunk_build *b, uint64_t from,
			       uint64_t to, const uint64_t *number, size_t n)
{
	const size_t at = cb_item(b);

	cb_item_word(b, from);
	cb_item_word(b, to);
	cb_numbers(b, number, n);
	cb_item_end(b, at, ITEM_SWITCHES);
}

static inline void cb_pair(struct chunk_build *b, enum item_type type,
			   const char *key, const char *value)
{
	const size_t at = cb_item(b);

	cb_string(b, key);
	cb_string(b, value);
	cb_item_end(b, at, type);
}

static inline void cb_module(struct chunk_build *b, uint32_t number,
			     const char *build_id, const char *path)
{
	const size_t at = cb_item(b);
	uint64_t id[3] = { 0 };

	*(uint8_t *)id = (uint8_t)strlen(build_id);
	memcpy((uint8_t *)id + 1, build_id, strlen(build_id));
	cb_item_word(b, number);
	cb_item_word(b, 0x400000);
	cb_item_word(b, 0x10000);
	for (int i = 0; i < 3; i++)
		cb_item_word(b, id[i]);
	cb_string(b, path);
	cb_item_end(b, at, ITEM_MODULE);
}

static inline void cb_copy(char *to, const char *name, size_t room)
{
	const size_t n = strlen(name) + 1;

	if (n > room)
		abort();
	memcpy(to, name, n);
}

static inline uint32_t cb_dict(struct chunk_build *b, const char *name,
			       uint64_t word)
{
	if (b->header.funcs >= CB_NAMES)
		abort();
	cb_copy(b->name[b->header.funcs], name, sizeof(b->name[0]));
	b->dict[b->header.funcs] = word;
	return b->header.funcs++;
}

static inline uint32_t cb_find(const struct chunk_build *b, const char *name)
{
	for (uint32_t i = 0; i < b->header.funcs; i++)
		if (!strcmp(b->name[i], name))
			return i;
	return UINT32_MAX;
}

/* The dictionary index of a function of that name. */
/* A place in the code of module 1, as a word of the dictionary's form. */
static inline uint64_t cb_place(struct chunk_build *b, uint64_t offset)
{
	if (!b->has_program)
		cb_module(b, 1, "program's build", "/program");
	b->has_program = true;
	return dict_put_native(1, offset);
}

static inline uint32_t cb_func(struct chunk_build *b, const char *name)
{
	char source[64] = "=";
	uint32_t i;
	size_t at;

	cb_copy(source + 1, name, sizeof(source) - 1);
	i = cb_find(b, source);
	if (i != UINT32_MAX)
		return i;
	if (strncmp(name, "0x", 2) == 0)
		return cb_dict(b, source, cb_place(b, strtoull(name, NULL,
							       16)));
	at = cb_item(b);
	cb_item_word(b, UINT64_C(1) << 32 | 9);
	cb_string(b, source);
	cb_string(b, "");
	cb_item_end(b, at, ITEM_LUA);
	return cb_dict(b, source, dict_put_item(DICT_LUA, (uint32_t)at));
}

static inline uint32_t cb_mark_name(struct chunk_build *b, const char *name)
{
	char key[64] = "#";
	uint32_t i;
	size_t at;

	cb_copy(key + 1, name, sizeof(key) - 1);
	i = cb_find(b, key);
	if (i != UINT32_MAX)
		return i;
	at = cb_item(b);
	cb_string(b, name);
	cb_item_end(b, at, ITEM_NAME);
	return cb_dict(b, key, dict_put_item(DICT_NAME, (uint32_t)at));
}

static inline uint32_t cb_native(struct chunk_build *b, const char *name,
				 uint32_t module, uint64_t offset)
{
	return cb_dict(b, name, dict_put_native(module, offset));
}

/* Records; gap: ticks since the one before. */
static inline void cb_word(struct chunk_build *b, uint64_t word)
{
	if (b->header.records >= CHUNK_MAX_RECORDS)
		abort();
	b->record[b->header.records++] = word;
}

static inline void cb_put(struct chunk_build *b, enum rec_kind kind,
			  uint64_t func, uint64_t gap)
{
	b->tick += gap;
	cb_word(b, rec_put(kind, func, gap));
}

static inline void cb_operand(struct chunk_build *b, uint64_t value)
{
	cb_word(b, rec_put_value(REC_OPERAND, value));
}

static inline void cb_enter(struct chunk_build *b, const char *f, uint64_t gap)
{
	cb_put(b, REC_ENTER, cb_func(b, f), gap);
}

static inline void cb_leave(struct chunk_build *b, const char *f, uint64_t gap)
{
	cb_put(b, REC_LEAVE, cb_func(b, f), gap);
}

static inline void cb_leaf(struct chunk_build *b, const char *f, uint64_t gap,
			   uint64_t duration)
{
	b->tick += gap + duration;
	cb_word(b, rec_enter_to_leaf(rec_put(REC_ENTER, cb_func(b, f), gap),
				     duration));
}

static inline void cb_unwind(struct chunk_build *b, uint64_t n,
			     enum unwind why, uint64_t gap)
{
	cb_put(b, REC_UNWIND, why, gap);
	cb_operand(b, n);
}

/* With RESUME_STACK, k calls of cb_frame follow. */
static inline void cb_resume(struct chunk_build *b, uint64_t serial,
			     uint32_t flags, uint64_t slept, uint64_t k,
			     uint64_t gap)
{
	cb_put(b, REC_RESUME, flags, gap);
	cb_operand(b, serial);
	cb_operand(b, slept);
	cb_operand(b, k);
}

static inline void cb_frame(struct chunk_build *b, const char *f, uint64_t age)
{
	cb_word(b, rec_put(REC_OPERAND, f ? cb_func(b, f) : REC_FUNC_OMITTED,
			   age));
}

/* k calls of cb_frame follow, with lines in place of ages. */
static inline void cb_noted(struct chunk_build *b, enum noted state,
			    uint64_t ns, uint64_t missed, uint64_t k,
			    uint64_t gap)
{
	cb_put(b, REC_NOTED, state, gap);
	cb_operand(b, ns);
	cb_operand(b, missed);
	cb_operand(b, 1);
	cb_operand(b, k);
}

static inline void cb_suspend(struct chunk_build *b, uint64_t serial,
			      uint32_t flags, uint64_t gap)
{
	cb_put(b, REC_SUSPEND, flags, gap);
	cb_operand(b, serial);
}

static inline void cb_create(struct chunk_build *b, uint64_t serial,
			     uint64_t vm, uint64_t gap)
{
	cb_put(b, REC_CREATE, 0, gap);
	cb_operand(b, serial);
	cb_operand(b, vm);
}

static inline void cb_interrupt(struct chunk_build *b, uint64_t chunk,
				uint64_t records, uint64_t gap)
{
	cb_put(b, REC_INTERRUPT, 0, gap);
	cb_operand(b, chunk);
	cb_operand(b, records);
}

static inline void cb_mark(struct chunk_build *b, const char *name,
			   uint64_t gap)
{
	cb_put(b, REC_MARK, cb_mark_name(b, name), gap);
}

static inline void cb_wait(struct chunk_build *b, uint32_t flags,
			   uint64_t object, uint64_t owner, uint64_t gap)
{
	cb_put(b, REC_WAIT, flags, gap);
	cb_operand(b, object);
	cb_operand(b, owner);
}

static inline void cb_heap(struct chunk_build *b, uint32_t flags,
			   uint64_t block, uint64_t size, uint64_t site,
			   uint64_t old, uint64_t ago, uint64_t gap)
{
	cb_put(b, REC_HEAP, flags, gap);
	cb_operand(b, block);
	cb_operand(b, size);
	cb_operand(b, site);
	cb_operand(b, old);
	cb_operand(b, ago);
}

static inline void cb_old(struct chunk_build *b, const char *f, uint64_t gap)
{
	cb_put(b, REC_LEAVE_OLD, cb_func(b, f), gap);
}

static inline void cb_time(struct chunk_build *b, uint64_t gap)
{
	b->tick += gap;
	cb_word(b, rec_put_value(REC_TIME, gap));
}

/* The stack open at the chunk's start: segments (the first is 0), frames. */
static inline void cb_segment(struct chunk_build *b, uint64_t serial)
{
	if (b->stack_words == 0)
		b->stack[b->stack_words++] = 0;
	b->body[b->stack[0]++] = 0;
	b->segment = b->stack_words;
	b->stack[b->stack_words++] = serial;
	b->stack[b->stack_words++] = 0;
}

static inline void cb_open(struct chunk_build *b, const char *f, uint64_t age)
{
	if (b->stack_words == 0)
		cb_segment(b, 0);
	if (b->stack_words >= CB_ITEMS)
		abort();
	b->stack[b->segment + 1]++;
	b->stack[b->stack_words++] =
		rec_put(REC_OPERAND, f ? cb_func(b, f) : REC_FUNC_OMITTED, age);
}

/* The body that a tail call has replaced in the last segment. */
static inline void cb_body(struct chunk_build *b, uint64_t word)
{
	b->body[b->stack[0] - 1] = word;
	b->has_bodies = true;
}

/* The checksum anew, after a test changed words. */
static inline void cb_sum(uint64_t *words, size_t n)
{
	words[CHUNK_HEADER_WORDS - 1] = 0;
	words[CHUNK_HEADER_WORDS - 1] = XXH3_64bits(words, n * 8);
}

/* Put the chunk together in words[0..n). */
static inline size_t cb_end(struct chunk_build *b, uint64_t tick)
{
	if (b->stack_words > 0) {
		const size_t at = cb_item(b);

		for (size_t i = 0; i < b->stack_words; i++)
			cb_item_word(b, b->stack[i]);
		for (size_t i = 0; b->has_bodies && i < b->stack[0]; i++)
			cb_item_word(b, b->body[i]);
		cb_item_end(b, at, ITEM_STACK);
		b->stack_words = 0;
	}
	b->header.tick_end = tick;
	b->n = CHUNK_HEADER_WORDS + b->header.records + b->header.items +
	       b->header.funcs;
	if (b->n > CHUNK_MAX_WORDS)
		abort();
	b->header.total_words = b->n;
	memcpy(b->words, &b->header, sizeof(b->header));
	memcpy(b->words + CHUNK_HEADER_WORDS, b->record,
	       b->header.records * 8);
	memcpy(b->words + CHUNK_HEADER_WORDS + b->header.records, b->item,
	       b->header.items * 8);
	memcpy(b->words + CHUNK_HEADER_WORDS + b->header.records +
	       b->header.items, b->dict, b->header.funcs * 8);
	cb_sum(b->words, b->n);
	return b->n;
}
