/* dump_chunk.c - the chunks of a trace as they are, word by word: "weft dump
 * --raw". Knows the names of what is in a chunk; keeps no stack and runs no
 * replay, so that a fault of the replay can be told from one of the trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/dump/dump_chunk.h"

#include "analyzer/base/mem.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/out/out_escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- strings and items -------------------------------------------------- */

/* Long strings are stored cut, with their length and hash: both are shown,
 * since two of them may begin alike. */
static void print_string(const struct chunk_string *string)
{
	char bytes[CHUNK_STRING_MAX + 1] = "";
	char *text;

	/* The bytes in a chunk do not end with a 0. */
	memcpy(bytes, string->bytes, string->stored);
	text = out_escape_terminal(bytes);
	printf(" \"%s\"", text);
	if (string->length > string->stored)
		printf(" of %" PRIu64 " bytes, hash %016" PRIx64,
		       string->length, string->hash);
	mem_free(text);
}

/* The header as it is, in four lines. Times are left as ticks: the clock pair
 * that would turn them into ns is among them. */
static void print_header(const struct chunk_header *h)
{
	printf("chunk %" PRIu64 " process=%" PRIu32 " thread=%" PRIu32
	       " level=%" PRIu32 " pid=%" PRIu32 " tid=%" PRIu32
	       " flags=0x%" PRIx32 " words=%" PRIu64 "\n", h->number,
	       h->process, h->thread, h->level, h->pid, h->tid, h->flags,
	       h->total_words);
	printf("  records=%" PRIu32 " items=%" PRIu32 " funcs=%" PRIu32
	       " recording=%016" PRIx64 "\n", h->records, h->items, h->funcs,
	       h->recording);
	printf("  ticks %" PRIu64 " to %" PRIu64 ", %" PRIu64 " a second, pair"
	       " %" PRIu64 " = mono %" PRIu64 " = real %" PRIu64
	       " width %" PRIu64 "\n", h->tick_begin, h->tick_end, h->tick_hz,
	       h->pair_tick, h->pair_mono, h->pair_real, h->pair_width);
	printf("  cpu %" PRIu64 " to %" PRIu64 " ns, lost", h->cpu_begin,
	       h->cpu_end);
	for (int i = 0; i < LOST_REASONS; i++)
		printf(" %" PRIu64, h->lost[i]);
	if (h->level > 0)
		printf(", interrupted record %" PRIu32 " of chunk %" PRIu64,
		       h->interrupted_record, h->interrupted_chunk);
	putchar('\n');
}

/* Items of each type have a function of their own; what it prints follows the
 * type's name. A chunk was checked as a whole before it comes here, so its
 * items are sound. */
static void print_module(const struct chunk_item *item)
{
	struct chunk_module module;

	decode_module(item, &module);
	printf(" %" PRIu32 " bias=0x%" PRIx64 " size=%" PRIu64 " build-id=",
	       module.number, module.bias, module.size);
	for (size_t i = 0; i < module.build_id_size; i++)
		printf("%02x", module.build_id[i]);
	print_string(&module.path);
}

/* A Lua function: its lines and ordinal, then its source and its name. */
static void print_lua(const struct chunk_item *item)
{
	struct chunk_lua lua;

	decode_lua(item, &lua);
	printf(" lines %" PRIu32 " to %" PRIu32, lua.line, lua.last_line);
	if (lua.ordinal != 0)
		printf(" ordinal %" PRIu32, lua.ordinal);
	print_string(&lua.source);
	print_string(&lua.name);
}

/* A label or a note: a key and a value. */
static void print_pair(const struct chunk_item *item)
{
	struct chunk_string key, value;

	decode_pair(item, &key, &value);
	print_string(&key);
	print_string(&value);
}

/* The time for which switches are known; in it, when the thread did not run: it
 * slept from - to, or had no core from = to. In ticks. */
static void print_switches(const struct chunk_item *item)
{
	struct chunk_switches s;
	struct chunk_away away;

	if (!decode_switches(item, &s))
		return;
	printf(" %" PRIu64 "-%" PRIu64, s.from, s.to);
	while (decode_next_away(&s, &away)) {
		if (away.from < away.ready)
			printf(" %" PRIu64 "-%" PRIu64, away.from, away.ready);
		if (away.ready < away.to)
			printf(" %" PRIu64 "=%" PRIu64, away.ready, away.to);
	}
}

/* A Lua state: how its frames are read follows from the flags. fiber: the
 * native coroutine in which it runs, if any. */
static void print_vm(const struct chunk_item *item)
{
	struct chunk_vm vm;

	decode_vm(item, &vm);
	printf(" %" PRIu64 " abi=%" PRIu32 " flags=0x%" PRIx32
	       " address=0x%" PRIx64, vm.serial, vm.abi, vm.flags, vm.address);
	if (vm.fiber != 0)
		printf(" in=%" PRIu64, vm.fiber);
	if (vm.bytes != 0)
		printf(" bytes=%" PRIu64, vm.bytes);
	if (vm.read != 0)
		printf(" read=%" PRIu64, vm.read);
}

/* A frame of a stack: its function's index in the dictionary and its age in
 * ticks, "?" if its entry was not seen; or how many frames were left out. */
static void print_frame(uint64_t word)
{
	const uint64_t age = rec_gap(word);

	if (rec_func(word) == REC_FUNC_OMITTED)
		printf(" [%" PRIu64 " frame%s]", age, age == 1 ? "" : "s");
	else if (age >= REC_AGE_BODY)
		printf(" f%" PRIu32 "@?", rec_func(word));
	else
		printf(" f%" PRIu32 "@%" PRIu64, rec_func(word), age);
}

/* The stitched stack at the chunk's start, segment by segment. It needs the
 * chunk, because segments are decoded from there. */
static void print_stack(const struct chunk *chunk)
{
	struct chunk_segment segment = { 0 };

	while (decode_next_segment(chunk, &segment)) {
		printf(" coroutine=%" PRIu64 ":", segment.serial);
		if (segment.body) {
			printf(" body");
			print_frame(*segment.body);
		}
		for (size_t i = 0; i < segment.frames; i++)
			print_frame(segment.frame[i]);
	}
}

/* How Lua calls a C function: the function's index, then the name. */
static void print_hint(const struct chunk_item *item)
{
	struct chunk_string hint;
	const uint32_t func = decode_hint(item, &hint);

	printf(" f%" PRIu32, func);
	print_string(&hint);
}

/* A function whose return LuaJIT does not tell; only its index. */
static void print_late(const struct chunk_item *item)
{
	printf(" f%" PRIu32, decode_untold_return(item));
}

/* A name that records refer to, of a mark for example. */
static void print_name(const struct chunk_item *item)
{
	struct chunk_string name;

	decode_name(item, &name);
	print_string(&name);
}

/* Counted calls: each node's number, its parent, and what is counted. */
static void print_counted(const struct chunk_item *item)
{
	const uint64_t *word = item->word + 1;

	for (size_t i = 1; i <= item->n / COUNTED_WORDS;
	     i++, word += COUNTED_WORDS) {
		printf("\n    %zu: by=%" PRIu64, i, rec_gap(word[0]));
		if (rec_kind(word[0]) == (enum rec_kind)COUNTED_CALL)
			printf(" f%" PRIu32 " calls=%" PRIu64 " ticks=%" PRIu64,
			       rec_func(word[0]), word[1], word[2]);
		else
			printf(" %s=%" PRIu64, rec_kind(word[0]) ==
			       (enum rec_kind)COUNTED_COROUTINE ? "co" :
			       "omitted", word[1]);
	}
}

/* The process: its parent's serial and its program. */
static void print_process(const struct chunk_item *item)
{
	struct chunk_string path;
	uint64_t handle;
	const uint32_t parent = decode_process(item, &path, &handle);

	printf(" parent=%" PRIu32, parent);
	print_string(&path);
	if (handle != 0)
		printf(" self=0x%" PRIx64, handle);
}

/* A place in code: a word of the dictionary's form. */
static void print_place(uint64_t word)
{
	if (dict_kind(word) == DICT_NATIVE)
		printf("module %" PRIu32 " + 0x%" PRIx64, dict_module(word),
		       dict_offset(word));
	else if (dict_offset(word) == 0)
		fputs("in the kernel", stdout);
	else
		printf("code 0x%" PRIx64, dict_offset(word));
}

/* Where the program counter was: after the period and the ticks between which
 * it is known, a line for each sample. Other items than this one are one line
 * each. */
static void print_samples(const struct chunk *chunk)
{
	struct chunk_samples s;

	if (!decode_samples(chunk, &s))
		return;
	printf("samples period=%" PRIu64 " %" PRIu64 "-%" PRIu64, s.period,
	       s.from, s.to);
	for (size_t i = 0; i < s.n; i++) {
		printf("\n    @%" PRIu64 " ", s.pair[2 * i]);
		print_place(s.pair[2 * i + 1]);
	}
}

static void print_reference(const struct chunk_item *item)
{
	struct chunk_reference r;

	decode_reference(item, &r);
	printf(" kind=%d ns=%" PRIu64 " lost=%" PRIu64, (int)r.kind, r.ns,
	       r.lost);
	for (size_t i = 0; i < r.n; i++) {
		printf("\n    %" PRIu64 " ", r.pair[2 * i + 1]);
		print_place(r.pair[2 * i]);
	}
}

/* The items that are printed by themselves. */
static const struct {
	enum item_type type;
	const char *name;
	void (*print)(const struct chunk_item *);
} items[] = {
	{ ITEM_MODULE, "module", print_module },
	{ ITEM_LUA, "lua", print_lua },
	{ ITEM_NAME, "name", print_name },
	{ ITEM_HINT, "hint", print_hint },
	{ ITEM_LABEL, "label", print_pair },
	{ ITEM_PROCESS, "process", print_process },
	{ ITEM_VM, "vm", print_vm },
	{ ITEM_OFFCPU, "offcpu", print_switches },
	{ ITEM_SWITCHES, "switches", print_switches },
	{ ITEM_NOTE, "note", print_pair },
	{ ITEM_UNTOLD_RETURN, "late", print_late },
	{ ITEM_COUNTED, "counted", print_counted },
	{ ITEM_REFERENCE, "reference", print_reference },
};

/* One item: where it begins in the items, by words, since records and the
 * dictionary refer to it so. Items of unknown types are shown by their number:
 * newer tracers may have more. */
static void print_item(const struct chunk *chunk,
		       const struct chunk_item *item)
{
	printf("  item @%zu ", (size_t)(item->word - chunk->items));
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		if (items[i].type != item->type)
			continue;
		fputs(items[i].name, stdout);
		items[i].print(item);
		putchar('\n');
		return;
	}
	/* These are no rows above, because they take the chunk. */
	if (item->type == ITEM_STACK) {
		fputs("stack", stdout);
		print_stack(chunk);
	} else if (item->type == ITEM_SAMPLES) {
		print_samples(chunk);
	} else {
		printf("type %d, %zu words", (int)item->type, item->n);
	}
	putchar('\n');
}

/* The dictionary: which function each index in the records means. Native ones
 * are places in modules; Lua functions and names refer to an item by its
 * word. */
static void print_dict(const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->header.funcs; i++) {
		const uint64_t word = chunk->dict[i];

		printf("  f%" PRIu32 " ", i);
		if (dict_kind(word) == DICT_NATIVE ||
		    dict_kind(word) == DICT_CODE)
			print_place(word);
		else
			printf("%s @%" PRIu64,
			       dict_kind(word) == DICT_LUA ? "lua" : "name",
			       dict_item(word));
		putchar('\n');
	}
}

/* ---- records, and a chunk ------------------------------------------------ */

/* The record's name in REC_LIST; "?" for a kind that is not in it. */
static const char *kind_name(enum rec_kind kind)
{
	switch (kind) {
#define X(name, number, operands, meaning) case REC_##name: return #name;
	REC_LIST(X)
#undef X
	}
	return "?";
}

/* One record with its operands; returns the words it takes. After the function
 * or flags, "+" is the gap in ticks since the record before. The operands of a
 * RESUME beyond the third are the frames that it brings back, the last of them
 * its body if RESUME_BODY says so. */
static size_t print_record(const struct chunk *chunk, size_t i)
{
	const uint64_t word = chunk->records[i];
	const enum rec_kind kind = rec_kind(word);
	const size_t words = decode_record_words(chunk, i);

	printf("  %zu %s", i, kind_name(kind));
	/* Kinds differ in the layout of their word: a LEAF has a duration, TIME
	 * has a value only, the others have a function or flags. */
	if (kind == REC_LEAF)
		printf(" f%" PRIu32 " +%" PRIu64 " for %" PRIu64,
		       rec_func(word), rec_leaf_gap(word),
		       rec_leaf_duration(word));
	else if (kind == REC_TIME || kind == REC_OPERAND)
		printf(" %" PRIu64, rec_value(word));
	else
		printf(" %s%" PRIu32 " +%" PRIu64,
		       kind == REC_ENTER || kind == REC_LEAVE ||
		       kind == REC_LEAVE_OLD || kind == REC_MARK ? "f" :
		       "flags=", rec_func(word), rec_gap(word));
	for (size_t k = 1; k < words; k++) {
		if (kind == REC_RESUME && (rec_func(word) & RESUME_BODY) &&
		    k == 4 + rec_value(chunk->records[i + 3]))
			printf(" body");
		if ((kind == REC_RESUME && k > 3) ||
		    (kind == REC_NOTED && k > 4))
			print_frame(chunk->records[i + k]);
		else
			printf(" %" PRIu64, rec_value(chunk->records[i + k]));
	}
	putchar('\n');
	return words;
}

int dump_chunk(void *ctx, const struct chunk *chunk)
{
	struct chunk_item item = { 0 };

	(void)ctx;
	print_header(&chunk->header);
	while (decode_next_item(chunk, &item))
		print_item(chunk, &item);
	print_dict(chunk);
	for (size_t i = 0; i < chunk->header.records; )
		i += print_record(chunk, i);
	return ferror(stdout) ? -1 : 0;
}
