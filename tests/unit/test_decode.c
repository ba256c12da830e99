/* test_decode.c - a chunk is believed only when every part of it holds; each
 * lie is told one by one, with a right checksum.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/chunk/decode.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"

#include <stdio.h>

static struct chunk_build b;

/* A chunk with one of everything. */
static void build(void)
{
	cb_begin(&b, 1, 2, 3, 1000);
	cb_segment(&b, 0);
	cb_open(&b, "main", 900);
	cb_open(&b, NULL, 7);
	cb_segment(&b, 5);
	cb_open(&b, "body", REC_AGE_UNKNOWN);
	cb_module(&b, 3, "0123456789abcdefghij", "/bin/prog");
	cb_native(&b, "native", 3, 0x1234);
	cb_dict(&b, "code", dict_put_code(0xdead000));
	cb_enter(&b, "f", 5);
	cb_leaf(&b, "g", 2, 3);
	cb_mark(&b, "here", 1);
	cb_create(&b, 9, 1, 0);
	cb_resume(&b, 9, RESUME_STACK, 4, 2, 1);
	cb_frame(&b, "body", 3);
	cb_frame(&b, "f", 2);
	cb_unwind(&b, 1, UNWIND_ERROR, 1);
	cb_suspend(&b, 9, SUSPEND_YIELD, 1);
	cb_time(&b, 10);
	cb_old(&b, "f", 1);
	cb_leave(&b, "f", 1);
	cb_pair(&b, ITEM_LABEL, "zone", "a");
	cb_end(&b, 1100);
}

/* Open the chunk with a right checksum; what is wrong with it, or "". */
static const char *verdict(void)
{
	static char text[1024];
	FILE *const f = fmemopen(text, sizeof(text), "w");
	struct chunk v;
	const size_t n = ((struct chunk_header *)b.words)->total_words;

	text[0] = '\0';
	if (n >= CHUNK_HEADER_WORDS && n <= CHUNK_MAX_WORDS)
		cb_sum(b.words, n);
	if (decode_chunk(&v, b.words, b.n) < 0) {
		err_print(f, "view");
		CHECK(ftell(f) > 0);
	}
	fclose(f);
	return text;
}

static bool refused(const char *because)
{
	const char *const why = verdict();
	const bool held = strstr(why, because) != NULL;

	if (!held)
		printf("wanted \"%s\", got \"%s\"\n", because, why);
	return held;
}

/* What the chunk is after all of this is refused because of that. */
#define LIE(because, ...) (__VA_ARGS__, (void)CHECK(refused(because)))

static struct chunk_header *head(void)
{
	return (struct chunk_header *)b.words;
}

static uint64_t *record(size_t i)
{
	return b.words + CHUNK_HEADER_WORDS + i;
}

static uint64_t *item(enum item_type type)
{
	uint64_t *at = record(b.header.records);
	const uint64_t *const end = at + b.header.items;

	for (; at < end; at += item_words(*at))
		if (item_type(*at) == type)
			return at;
	abort();
}

static uint64_t *dict(const char *name)
{
	return record(b.header.records) + b.header.items + cb_find(&b, name);
}

void test_decode_opens_a_good_chunk(void)
{
	struct chunk v;

	build();
	CHECK_STR(verdict(), "");
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	CHECK_EQ(v.header.number, 3);
	CHECK_EQ(v.records - v.words, 32);
	CHECK_EQ(v.dict - v.words, b.n - b.header.funcs);
	CHECK_EQ(decode_checksum(b.words, b.n), v.header.checksum);
}

void test_decode_gives_items(void)
{
	struct chunk v;
	struct chunk_item it = { 0 };
	struct chunk_module m = { 0 };
	struct chunk_segment s = { 0 };
	struct chunk_string key, value;

	build();
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	while (decode_next_item(&v, &it))
		if (it.type == ITEM_MODULE)
			decode_module(&it, &m);
		else if (it.type == ITEM_LABEL)
			decode_pair(&it, &key, &value);
	CHECK_EQ(m.number, 3);
	CHECK_EQ(m.build_id_size, 20);
	CHECK_MEM(m.build_id, "0123456789abcdefghij", 20);
	CHECK_MEM(m.path.bytes, "/bin/prog", 9);
	CHECK_EQ(key.stored, 4);
	CHECK_MEM(value.bytes, "a", 1);
	CHECK(decode_next_segment(&v, &s));
	CHECK_EQ(s.serial, 0);
	CHECK_EQ(s.frames, 2);
	CHECK(decode_next_segment(&v, &s));
	CHECK_EQ(s.serial, 5);
	CHECK_EQ(s.frames, 1);
	CHECK(!decode_next_segment(&v, &s));
}

void test_decode_cuts_long_strings(void)
{
	char text[1000];
	struct chunk v;
	struct chunk_item it = { 0 };
	struct chunk_string key, value;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cb_begin(&b, 1, 1, 0, 0);
	cb_pair(&b, ITEM_LABEL, "k", text);
	cb_end(&b, 0);
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	REQUIRE(decode_next_item(&v, &it));
	decode_pair(&it, &key, &value);
	CHECK_EQ(value.stored, 256);
	CHECK_EQ(value.length, 999);
	CHECK_EQ(value.hash, XXH64(text, 999, 0));
}

void test_decode_refuses_bad_headers(void)
{
	struct chunk v;

	build();
	CHECK(decode_chunk(&v, b.words, 31) < 0);
	CHECK(decode_chunk(&v, b.words, CHUNK_MAX_WORDS + 1) < 0);
	err_clear();
	head()->magic++;
	CHECK(refused("no chunk"));
	LIE("version 2", build(), head()->version = 2);
	LIE("words and has", build(), head()->total_words--);
	LIE("add up", build(), head()->records++);
	LIE("add up", build(), head()->items = UINT32_MAX);
	LIE("level 3", build(), head()->level = 3);
	LIE("ends before", build(), head()->tick_end = head()->tick_begin - 1);
	LIE("beyond 2^63", build(), head()->tick_end = UINT64_C(1) << 63);
	LIE("has records", build(), head()->flags |= CHUNK_META);
}

void test_decode_refuses_damage_anywhere(void)
{
	struct chunk v;

	build();
	for (size_t i = 0; i < b.n; i++) {
		b.words[i] ^= UINT64_C(1) << (i % 64);
		CHECK(decode_chunk(&v, b.words, b.n) < 0);
		err_clear();
		b.words[i] ^= UINT64_C(1) << (i % 64);
	}
	CHECK(decode_chunk(&v, b.words, b.n) == 0);
}

static bool takes_wait(uint64_t place, uint64_t site)
{
	cb_begin(&b, 1, 2, 0, 1000);
	cb_enter(&b, "f", 5);
	cb_wait(&b, WAIT_MUTEX, 4096, 7, 0);
	cb_operand(&b, place);
	cb_operand(&b, site);
	cb_operand(&b, 99); /* of a later format */
	cb_leave(&b, "f", 1);
	cb_end(&b, 1100);
	return verdict()[0] == '\0';
}

/* What a WAIT names is in the dictionary, or said not to be known. */
void test_decode_wait_names_what_there_is(void)
{
	CHECK(takes_wait(0, 0));
	CHECK(takes_wait(REC_FUNC_OMITTED, 0));
	CHECK(takes_wait(0, REC_FUNC_OMITTED));
	CHECK(!takes_wait(1, 0));
	CHECK(refused("WAIT names 1 of 1"));
	CHECK(!takes_wait(0, REC_FUNC_OMITTED + 1));
}

static bool takes_mutex(uint32_t flags, uint64_t place)
{
	cb_begin(&b, 1, 2, 0, 1000);
	cb_enter(&b, "f", 5);
	cb_wait(&b, flags, 4096, 0, 0);
	cb_operand(&b, 0);
	cb_operand(&b, 0);
	cb_operand(&b, 8192);
	cb_operand(&b, place);
	cb_operand(&b, 99);
	cb_leave(&b, "f", 1);
	cb_end(&b, 1100);
	return verdict()[0] == '\0';
}

/* Where the mutex of a condition lies, too; other waits have none. */
void test_decode_wait_names_a_mutex(void)
{
	CHECK(takes_mutex(WAIT_CONDITION, 0));
	CHECK(takes_mutex(WAIT_CONDITION, REC_FUNC_OMITTED));
	CHECK(!takes_mutex(WAIT_CONDITION, 1));
	CHECK(refused("WAIT names 1 of 1"));
	CHECK(takes_mutex(WAIT_CONDITION | WAIT_ENDS, 1));
	CHECK(takes_mutex(WAIT_MUTEX, 1));
}

static bool takes_heap(uint32_t flags, uint64_t site)
{
	cb_begin(&b, 1, 2, 0, 1000);
	cb_enter(&b, "f", 5);
	cb_heap(&b, flags, 4096, 100, site, 8192, 3, 0);
	cb_leave(&b, "f", 1);
	cb_end(&b, 1100);
	return verdict()[0] == '\0';
}

/* Likewise what a HEAP names; each kind of it has its operands. */
void test_decode_heap_has_what_it_tells(void)
{
	CHECK(takes_heap(HEAP_TAKE, 0));
	CHECK(takes_heap(HEAP_MOVE, REC_FUNC_OMITTED));
	CHECK(!takes_heap(HEAP_TAKE, 1));
	CHECK(refused("HEAP names 1 of 1"));
	CHECK(!takes_heap(HEAP_MOVE, 1));
	CHECK(takes_heap(HEAP_FREE, 1));
	CHECK(takes_heap(HEAP_COLLECTED, 1));
	CHECK(takes_heap(HEAP_COLLECTED + 1, 1));
	takes_heap(HEAP_MOVE, 0);
	*record(6) = rec_put_value(REC_TIME, 0);
	CHECK(refused("kind 12 has 4 operands"));
	takes_heap(HEAP_TAKE, 0);
	*record(4) = rec_put_value(REC_TIME, 0);
	*record(5) = *record(6) = rec_put_value(REC_TIME, 0);
	CHECK(refused("kind 12 has 2 operands"));
	takes_heap(HEAP_FREE, 0);
	for (size_t i = 2; i < 7; i++)
		*record(i) = rec_put_value(REC_TIME, 0);
	CHECK(refused("kind 12 has 0 operands"));
}

static bool takes_heap_on(uint32_t flags, uint64_t node)
{
	size_t at;

	cb_begin(&b, 1, 2, 0, 1000);
	cb_func(&b, "f");
	cb_heap(&b, flags, 4096, 100, 0, 8192, 3, 5);
	cb_operand(&b, node);
	at = cb_item(&b);
	cb_item_word(&b, COUNTED_CALL);
	cb_item_word(&b, 2);
	cb_item_word(&b, 0);
	cb_item_end(&b, at, ITEM_COUNTED);
	cb_end(&b, 1100);
	return verdict()[0] == '\0';
}

/* Nor does memory stand on a counted call that is not there. */
void test_decode_heap_stands_on_what_there_is(void)
{
	CHECK(takes_heap_on(HEAP_TAKE, 0));
	CHECK(takes_heap_on(HEAP_TAKE, 1));
	CHECK(takes_heap_on(HEAP_MOVE, 1));
	CHECK(!takes_heap_on(HEAP_TAKE, 2));
	CHECK(refused("HEAP stands on node 2 of 1"));
	CHECK(!takes_heap_on(HEAP_MOVE, REC_VALUE_MAX));
	CHECK(takes_heap_on(HEAP_FREE, 2));
}

/* In the order of build(): enter 0, leaf 1, mark 2, create 3-5, resume 6-11,
 * unwind 12-13, suspend 14-15, time 16, old 17, leave 18. */
void test_decode_refuses_bad_records(void)
{
	LIE("function", build(),
	    *record(0) = rec_put(REC_ENTER, b.header.funcs, 5));
	LIE("function", build(), *record(1) |= REC_FUNC_MASK << REC_FUNC_SHIFT);
	LIE("no name", build(),
	    *record(2) = rec_put(REC_MARK, cb_find(&b, "=f"), 1));
	LIE("kind 0", build(), *record(0) = 0);
	LIE("kind 15", build(), *record(0) = rec_put_value(REC_OPERAND, 1));
	LIE("operands", build(), *record(5) = *record(0));
	LIE("cut short", build(), *record(9) = rec_put_value(REC_OPERAND, 3));
	LIE("cut short", build(),
	    *record(9) = rec_put_value(REC_OPERAND, UINT64_MAX >> 4));
	LIE("function", build(),
	    *record(10) = rec_put(REC_OPERAND, b.header.funcs, 0));
	LIE("leaves out no frames", build(),
	    *record(10) = rec_put(REC_OPERAND, REC_FUNC_OMITTED, 0));
	LIE("RESUME counts", build(), *record(6) = rec_put(REC_RESUME, 0, 1));
	LIE("function", build(),
	    *record(17) |= REC_FUNC_MASK << REC_FUNC_SHIFT);
}

/* With so many frames, of which the last is a word of our own. */
static void build_noted(uint64_t told, uint64_t frames, uint64_t last)
{
	cb_begin(&b, 1, 2, 3, 1000);
	cb_segment(&b, 0);
	cb_open(&b, "main", 900);
	cb_noted(&b, NOTED_COMPILED, REC_VALUE_MAX, REC_VALUE_MAX, told, 1);
	for (uint64_t i = 0; i + 1 < frames; i++)
		cb_frame(&b, "f", i == 0 ? REC_AGE_UNKNOWN : 7);
	if (frames > 0)
		cb_word(&b, last);
	cb_end(&b, 1100);
}

void test_decode_refuses_bad_noted(void)
{
	const uint64_t good = rec_put(REC_OPERAND, 0, 3);

	build_noted(0, 0, 0);
	CHECK_STR(verdict(), "");
	build_noted(NOTED_FRAMES, NOTED_FRAMES, good);
	CHECK_STR(verdict(), "");
	build_noted(2, 4, good); /* operands of a later weft */
	CHECK_STR(verdict(), "");
	build_noted(NOTED_FRAMES + 1, NOTED_FRAMES + 1, good);
	CHECK(refused("NOTED's frames"));
	LIE("NOTED's frames", build_noted(2, 1, good));
	LIE("NOTED's frames", build_noted(REC_VALUE_MAX, 3, good));
	build_noted(3, 3, rec_put(REC_OPERAND, b.header.funcs, 3));
	CHECK(refused("function"));
	build_noted(3, 3, rec_put(REC_OPERAND, REC_FUNC_OMITTED, 0));
	CHECK(refused("leaves out no frames"));
	LIE("kind 14 has 3 operands", build_noted(0, 0, 0),
	    *record(4) = rec_put(REC_TIME, 0, 0));
}

void test_decode_refuses_records_past_the_end(void)
{
	LIE("past the chunk's end", build(),
	    *record(16) = rec_put_value(REC_TIME, 100));
	LIE("past the chunk's end", build(),
	    *record(16) = rec_put_value(REC_TIME, REC_VALUE_MAX));
	LIE("past the chunk's end", build(), head()->tick_end = 1010);
}

void test_decode_skips_what_it_does_not_know(void)
{
	build();
	*record(3) = rec_put(12, 0x3fff, 2);
	CHECK_STR(verdict(), "");
	build();
	*item(ITEM_LABEL) = item_put(200, item_words(*item(ITEM_LABEL)));
	CHECK_STR(verdict(), "");
}

void test_decode_refuses_bad_items(void)
{
	LIE("has 0 words", build(),
	    *item(ITEM_LABEL) = item_put(ITEM_LABEL, 0));
	LIE("has 1000 words", build(),
	    *item(ITEM_STACK) = item_put(ITEM_STACK, 1000));
	LIE("stores 257", build(), item(ITEM_LABEL)[1] = string_put(257, 300));
	LIE("stores 5", build(), item(ITEM_LABEL)[1] = string_put(5, 4));
	LIE("cut short", build(), item(ITEM_LABEL)[1] = string_put(200, 200));
	LIE("too high", build(), item(ITEM_MODULE)[1] = 4096);
	LIE("build-id of 21", build(), item(ITEM_MODULE)[4] = 21);
	LIE("cut short", build(), *item(ITEM_LABEL) = item_put(ITEM_VM, 3));
}

/* A chunk with one Lua function, its item having so many words more. */
static void build_lua(const uint64_t *more, size_t n)
{
	size_t at;

	cb_begin(&b, 1, 2, 3, 1000);
	at = cb_item(&b);
	cb_item_word(&b, UINT64_C(7) << 32 | 9);
	cb_string(&b, "@x.lua");
	cb_string(&b, "handler");
	for (size_t i = 0; i < n; i++)
		cb_item_word(&b, more[i]);
	cb_item_end(&b, at, ITEM_LUA);
	cb_dict(&b, "handler", dict_put_item(DICT_LUA, (uint32_t)at));
	cb_end(&b, 1100);
}

static void check_ordinal(const uint64_t *more, size_t n, uint32_t wanted)
{
	struct chunk v;
	struct chunk_item it = { 0 };
	struct chunk_lua l;

	build_lua(more, n);
	CHECK_STR(verdict(), "");
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	decode_dict_item(&v, v.dict[0], &it);
	decode_lua(&it, &l);
	CHECK_EQ(l.ordinal, wanted);
	CHECK_EQ(l.line, 7);
	CHECK_EQ(l.last_line, 9);
	CHECK_EQ(l.source.stored, 6);
	CHECK(l.name.stored == 7 && !memcmp(l.name.bytes, "handler", 7));
}

void test_decode_gives_ordinals(void)
{
	/* Absent, there, at its most, and before words nobody knows. */
	check_ordinal(NULL, 0, 0);
	check_ordinal((const uint64_t[]){ 0 }, 1, 0);
	check_ordinal((const uint64_t[]){ 3 }, 1, 3);
	check_ordinal((const uint64_t[]){ CHUNK_ORDINAL_MAX }, 1, 65535);
	check_ordinal((const uint64_t[]){ 1, UINT64_MAX, 5 }, 3, 1);
}

void test_decode_refuses_ordinals_too_big(void)
{
	build_lua((const uint64_t[]){ CHUNK_ORDINAL_MAX + 1 }, 1);
	CHECK(refused("an ordinal of 65536"));
	/* Nor one that fits only when cut. */
	build_lua((const uint64_t[]){ UINT64_C(1) << 32 }, 1);
	CHECK(refused("an ordinal of 4294967296"));
	build_lua((const uint64_t[]){ UINT64_MAX }, 1);
	CHECK(refused("type 3"));
}

void test_decode_refuses_modules_defined_twice(void)
{
	cb_begin(&b, 1, 1, 0, 0);
	cb_module(&b, 1, "x", "/a");
	cb_module(&b, 1, "y", "/b");
	cb_end(&b, 0);
	CHECK(refused("defined twice"));
}

void test_decode_refuses_bad_stacks(void)
{
	LIE("cut short", build(), item(ITEM_STACK)[1] = 3);
	LIE("no segments", build(), item(ITEM_STACK)[1] = 0);
	LIE("segment 0", build(), item(ITEM_STACK)[2] = 5);
	LIE("segment 1", build(), item(ITEM_STACK)[6] = 0);
	LIE("cut short", build(), item(ITEM_STACK)[3] = UINT64_MAX);
	LIE("no frame", build(), item(ITEM_STACK)[4] = *record(0));
}

void test_decode_refuses_two_stacks(void)
{
	size_t at;

	cb_begin(&b, 1, 1, 0, 0);
	cb_segment(&b, 0);
	at = cb_item(&b);
	cb_item_word(&b, 1);
	cb_item_word(&b, 0);
	cb_item_word(&b, 0);
	cb_item_end(&b, at, ITEM_STACK);
	cb_end(&b, 0);
	CHECK(refused("two stacks"));
}

void test_decode_refuses_hints_for_no_function(void)
{
	for (uint64_t func = 0; func < 2; func++) {
		size_t at;

		cb_begin(&b, 1, 1, 0, 0);
		cb_func(&b, "f");
		at = cb_item(&b);
		cb_item_word(&b, func);
		cb_string(&b, "string.format");
		cb_item_end(&b, at, ITEM_HINT);
		cb_end(&b, 0);
		CHECK(func == 0 ? !*verdict() : refused("a hint"));
	}
}

void test_decode_refuses_bad_offcpu(void)
{
	static const struct { uint64_t from, to; const char *why; } bad[] = {
		{ 10, 9, "ends before" }, { 10, 0, "no end" },
		{ 10, UINT64_C(1) << 63, "beyond 2^63" },
		{ 10, UINT64_MAX, "beyond 2^63" },
	};

	for (int i = 0; i < 8; i++) {
		const uint64_t to = bad[i / 2].to;
		size_t at;

		cb_begin(&b, 1, 1, 0, 0);
		at = cb_item(&b);
		cb_item_word(&b, bad[i / 2].from);
		if (to)
			cb_item_word(&b, to);
		cb_item_end(&b, at, i % 2 ? ITEM_OFFCPU : ITEM_SWITCHES);
		cb_end(&b, 0);
		CHECK(refused(bad[i / 2].why));
	}
}

void test_decode_refuses_bad_dictionaries(void)
{
	LIE("not described", build(),
	    *dict("native") = dict_put_native(2, 0x1234));
	LIE("not described", build(), *dict("=f") += 1 << DICT_KIND_BITS);
	build();
	*dict("=f") = dict_put_item(DICT_NAME,
				    (uint32_t)dict_item(*dict("=f")));
	CHECK(refused("not described"));
	LIE("not described", build(),
	    *dict("#here") = dict_put_item(DICT_NAME, UINT32_MAX));
	LIE("not described", build(), *dict("code") = 7);
}

/* A chunk in which a tail call has replaced the body of a coroutine. */
static void build_bodies(void)
{
	cb_begin(&b, 1, 2, 3, 1000);
	cb_segment(&b, 0);
	cb_open(&b, "main", 900);
	cb_segment(&b, 5);
	cb_open(&b, "callee", 7);
	cb_body(&b, rec_put(REC_OPERAND, cb_func(&b, "body"), 8));
	cb_segment(&b, 6);
	cb_resume(&b, 9, RESUME_STACK | RESUME_BODY, 4, 1, 1);
	cb_frame(&b, "callee", 3);
	cb_frame(&b, "body", 5);
	cb_end(&b, 1100);
}

void test_decode_reads_replaced_bodies(void)
{
	struct chunk v;
	struct chunk_segment s = { 0 };

	build_bodies();
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	CHECK(decode_next_segment(&v, &s) && !s.body);
	CHECK(decode_next_segment(&v, &s) && s.body);
	CHECK_EQ(rec_func(*s.body), cb_find(&b, "=body"));
	CHECK_EQ(rec_gap(*s.body), 8);
	CHECK(decode_next_segment(&v, &s) && !s.body);
	CHECK(!decode_next_segment(&v, &s));
}

void test_decode_refuses_bad_bodies(void)
{
	build_bodies();
	/* Payload: the number of segments, 3, 3 and 2 words, the bodies. */
	item(ITEM_STACK)[10] = rec_put(REC_OPERAND, 0, 1);
	CHECK(refused("a thread has a body"));
	LIE("function", build_bodies(),
	    item(ITEM_STACK)[11] = rec_put(REC_OPERAND, b.header.funcs, 1));
	LIE("a body is left out", build_bodies(),
	    item(ITEM_STACK)[11] = rec_put(REC_OPERAND, REC_FUNC_OMITTED, 1));
	LIE("RESUME has no body", build_bodies(),
	    *record(3) = rec_put_value(REC_OPERAND, 2));
	LIE("function", build_bodies(),
	    *record(5) = rec_put(REC_OPERAND, b.header.funcs, 1));
}

/* A chunk of the ticks 1000 to 1100 with samples: words of the item after its
 * head. */
static void build_of(enum item_type type, const uint64_t *words, size_t n)
{
	size_t at;

	cb_begin(&b, 1, 2, 3, 1000);
	cb_module(&b, 3, "0123456789abcdefghij", "/bin/prog");
	at = cb_item(&b);
	for (size_t i = 0; i < n; i++)
		cb_item_word(&b, words[i]);
	cb_item_end(&b, at, type);
	cb_end(&b, 1100);
}

static void build_samples(const uint64_t *words, size_t n)
{
	build_of(ITEM_SAMPLES, words, n);
}

void test_decode_reads_samples(void)
{
	const uint64_t words[] = { 250000, 1010, 1090,
				   1010, dict_put_native(3, 0x1234),
				   1011, dict_put_code(0),
				   1090, dict_put_code(0xdead000) };
	struct chunk_samples s;
	struct chunk v;

	build_samples(words, 3);
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	CHECK(decode_samples(&v, &s));
	CHECK_EQ(s.n, 0);
	build_samples(words, 9);
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	REQUIRE(decode_samples(&v, &s));
	CHECK_EQ(s.period, 250000);
	CHECK_EQ(s.from, 1010);
	CHECK_EQ(s.to, 1090);
	CHECK_EQ(s.n, 3);
	CHECK_EQ(s.pair[0], 1010);
	CHECK_EQ(dict_module(s.pair[1]), 3);
	CHECK_EQ(dict_offset(s.pair[5]), 0xdead000);
	build();
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	CHECK(!decode_samples(&v, &s));
}

void test_decode_refuses_bad_samples(void)
{
	const uint64_t here = dict_put_native(3, 0x1234);
	const struct {
		uint64_t words[8];
		size_t n;
		const char *why;
	} bad[] = {
		{ { 5, 1010 }, 2, "cut short" },
		{ { 0, 1010, 1020 }, 3, "cannot be" },
		{ { 5, 999, 1020 }, 3, "cannot be" },
		{ { 5, 1020, 1010 }, 3, "cannot be" },
		{ { 5, 1010, 1101 }, 3, "cannot be" },
		{ { 5, 1010, 1020, 1009, here }, 5,
		  "sample 0 comes too early" },
		{ { 5, 1010, 1020, 1021, here }, 5, "sample 0 comes too late" },
		{ { 5, 1010, 1020, 1015, here, 1015, here }, 7,
		  "sample 1 comes too early" },
		{ { 5, 1010, 1020, 1015, dict_put_native(4, 1) }, 5,
		  "sample 0 is nowhere" },
		{ { 5, 1010, 1020, 1015, dict_put_item(DICT_LUA, 0) }, 5,
		  "sample 0 is nowhere" },
		{ { 5, 1010, 1020, 1015, here, 1016 }, 6, "no place" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		build_samples(bad[i].words, bad[i].n);
		CHECK(refused(bad[i].why));
	}
	build_samples((const uint64_t[]){ 5, 1010, 1020, item_put(
		      ITEM_SAMPLES, 4), 5, 1010, 1020 }, 7);
	*item(ITEM_SAMPLES) = item_put(ITEM_SAMPLES, 4);
	CHECK(refused("two lists of samples"));
}

void test_decode_reads_a_reference(void)
{
	const uint64_t words[] = { REFERENCE_OFF, 240000, 3,
				   dict_put_native(3, 0x1234), 7,
				   dict_put_code(0), UINT32_MAX };
	struct chunk_item it = { 0 };
	struct chunk_reference r;
	struct chunk v;

	build_of(ITEM_REFERENCE, words, 7);
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	while (decode_next_item(&v, &it) && it.type != ITEM_REFERENCE)
		;
	REQUIRE(it.type == ITEM_REFERENCE);
	decode_reference(&it, &r);
	CHECK_EQ(r.kind, REFERENCE_OFF);
	CHECK_EQ(r.ns, 240000);
	CHECK_EQ(r.lost, 3);
	CHECK_EQ(r.n, 2);
	CHECK_EQ(dict_offset(r.pair[0]), 0x1234);
	CHECK_EQ(r.pair[1], 7);
	CHECK_EQ(r.pair[3], UINT32_MAX);
}

void test_decode_refuses_bad_references(void)
{
	const uint64_t here = dict_put_native(3, 0x1234);
	const uint64_t much = UINT64_C(1) << 32;
	const struct {
		uint64_t words[6];
		size_t n;
		const char *why;
	} bad[] = {
		{ { 1, 5 }, 2, "cut short" },
		{ { 0, 5, 0 }, 3, "unknown kind" },
		{ { 4, 5, 0 }, 3, "unknown kind" },
		{ { 1, 0, 0 }, 3, "cannot be" },
		{ { 1, much, 0 }, 3, "cannot be" },
		{ { 1, 5, much }, 3, "cannot be" },
		{ { 1, 5, 0, here }, 4, "no count" },
		{ { 1, 5, 0, here, much }, 5, "cannot be" },
		{ { 1, 5, 0, dict_put_native(4, 1), 1 }, 5, "cannot be" },
		{ { 1, 5, 0, dict_put_item(DICT_LUA, 0), 1 }, 5, "cannot be" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		build_of(ITEM_REFERENCE, bad[i].words, bad[i].n);
		CHECK(refused(bad[i].why));
	}
}

/* main, which leads to a coroutine, and leaf in it. */
static uint64_t *put_counted(void)
{
	const uint32_t main = cb_func(&b, "main"), leaf = cb_func(&b, "leaf");
	const size_t at = cb_item(&b);

	for (uint64_t i = 0; i < 4; i++) {
		static const enum counted kind[] = { COUNTED_CALL,
			COUNTED_COROUTINE, COUNTED_CALL, COUNTED_OMITTED };
		cb_item_word(&b, rec_put((enum rec_kind)kind[i], i == 0 ?
					 main : i == 2 ? leaf : 0, i));
		cb_item_word(&b, i * 7);
		cb_item_word(&b, 0);
	}
	cb_item_end(&b, at, ITEM_COUNTED);
	cb_mark(&b, "here", 0);
	cb_end(&b, 2000);
	return item(ITEM_COUNTED) + 1;
}

/* A chunk that counts calls; its nodes. */
static uint64_t *build_counted(void)
{
	cb_begin(&b, 1, 1, 0, 1000);
	return put_counted();
}

void test_decode_reads_counted_calls(void)
{
	struct chunk v;

	build_counted();
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	CHECK_EQ(v.nodes, 4);
	CHECK_EQ(rec_gap(v.counted[6]), 2);
	CHECK_EQ(v.counted[7], 14);
}

void test_decode_refuses_bad_counted_calls(void)
{
	const uint64_t parent = UINT64_C(1) << REC_GAP_SHIFT;
	const uint64_t function = 1 << REC_FUNC_SHIFT;

	LIE("counted calls 1 are by 1", build_counted()[0] += parent);
	LIE("counted calls 3 are by 1002", build_counted()[6] += parent * 1000);
	LIE("of kind 5", build_counted()[0] += 4);
	LIE("of kind 0", build_counted()[0] -= 1);
	LIE("of function", build_counted()[6] += function * b.header.funcs);
	LIE("stand for nothing", build_counted()[4] = 0);
	LIE("stand for nothing", build_counted()[9] += function);
	LIE("more than 2^63", build_counted()[1] = INT64_MAX - 5);
	LIE("cut short", *(build_counted() - 1) = item_put(ITEM_COUNTED, 12));
}
