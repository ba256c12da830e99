/* dump_raw.c - chunks as they are: for whoever doubts the replay, or writes a
 * reader. Interprets words, keeps no stack.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/dump_raw.h"

#include "analyzer/base/mem.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/in/in.h"
#include "analyzer/out/out_escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_string(const struct chunk_string *string)
{
	char bytes[CHUNK_STRING_MAX + 1] = "";
	char *text;

	memcpy(bytes, string->bytes, string->stored);
	text = out_escape_terminal(bytes);
	printf(" \"%s\"", text);
	if (string->length > string->stored)
		printf(" of %" PRIu64 " bytes, hash %016" PRIx64,
		       string->length, string->hash);
	mem_free(text);
}

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

static void print_pair(const struct chunk_item *item)
{
	struct chunk_string key, value;

	decode_pair(item, &key, &value);
	print_string(&key);
	print_string(&value);
}

static void print_offcpu(const struct chunk_item *item)
{
	const uint64_t *pair;
	const size_t count = decode_offcpu(item, &pair);

	for (size_t i = 0; i < count; i++)
		printf(" %" PRIu64 "-%" PRIu64, pair[2 * i], pair[2 * i + 1]);
}

static void print_vm(const struct chunk_item *item)
{
	struct chunk_vm vm;

	decode_vm(item, &vm);
	printf(" %" PRIu64 " abi=%" PRIu32 " flags=0x%" PRIx32
	       " address=0x%" PRIx64, vm.serial, vm.abi, vm.flags, vm.address);
	if (vm.fiber != 0)
		printf(" in=%" PRIu64, vm.fiber);
}

static void print_frame(uint64_t word)
{
	const uint64_t age = rec_gap(word);

	if (rec_func(word) == REC_FUNC_OMITTED)
		printf(" [%" PRIu64 " frames]", age);
	else if (age == REC_AGE_UNKNOWN)
		printf(" f%" PRIu32 "@?", rec_func(word));
	else
		printf(" f%" PRIu32 "@%" PRIu64, rec_func(word), age);
}

static void print_stack(const struct chunk *chunk)
{
	struct chunk_segment segment = { 0 };

	while (decode_next_segment(chunk, &segment)) {
		printf(" coroutine=%" PRIu64 ":", segment.serial);
		for (size_t i = 0; i < segment.frames; i++)
			print_frame(segment.frame[i]);
	}
}

static void print_hint(const struct chunk_item *item)
{
	struct chunk_string hint;
	const uint32_t func = decode_hint(item, &hint);

	printf(" f%" PRIu32, func);
	print_string(&hint);
}

static void print_late(const struct chunk_item *item)
{
	printf(" f%" PRIu32, decode_untold_return(item));
}

static void print_name(const struct chunk_item *item)
{
	struct chunk_string name;

	decode_name(item, &name);
	print_string(&name);
}

static void print_process(const struct chunk_item *item)
{
	struct chunk_string path;
	const uint32_t parent = decode_process(item, &path);

	printf(" parent=%" PRIu32, parent);
	print_string(&path);
}

static void print_item(const struct chunk *chunk,
		       const struct chunk_item *item)
{
	static const struct {
		enum item_type type;
		const char *name;
		void (*print)(const struct chunk_item *);
	} kinds[] = {
		{ ITEM_MODULE, "module", print_module },
		{ ITEM_LUA, "lua", print_lua },
		{ ITEM_NAME, "name", print_name },
		{ ITEM_HINT, "hint", print_hint },
		{ ITEM_LABEL, "label", print_pair },
		{ ITEM_PROCESS, "process", print_process },
		{ ITEM_VM, "vm", print_vm },
		{ ITEM_OFFCPU, "offcpu", print_offcpu },
		{ ITEM_NOTE, "note", print_pair },
		{ ITEM_UNTOLD_RETURN, "late", print_late },
	};

	printf("  item @%zu ", (size_t)(item->word - chunk->items));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type != item->type)
			continue;
		fputs(kinds[i].name, stdout);
		kinds[i].print(item);
		putchar('\n');
		return;
	}
	if (item->type == ITEM_STACK) {
		fputs("stack", stdout);
		print_stack(chunk);
	} else {
		printf("type %d, %zu words", (int)item->type, item->n);
	}
	putchar('\n');
}

static void print_dict(const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->header.funcs; i++) {
		const uint64_t word = chunk->dict[i];

		printf("  f%" PRIu32 " ", i);
		if (dict_kind(word) == DICT_NATIVE)
			printf("module %" PRIu32 " + 0x%" PRIx64 "\n",
			       dict_module(word), dict_offset(word));
		else if (dict_kind(word) == DICT_CODE)
			printf("code 0x%" PRIx64 "\n", dict_offset(word));
		else
			printf("%s @%" PRIu64 "\n",
			       dict_kind(word) == DICT_LUA ? "lua" : "name",
			       dict_item(word));
	}
}

static const char *kind_name(enum rec_kind kind)
{
	switch (kind) {
#define X(name, number, operands, meaning) case REC_##name: return #name;
	REC_LIST(X)
#undef X
	}
	return "?";
}

/* One record with its operands; returns the words it takes. */
static size_t print_record(const struct chunk *chunk, size_t i)
{
	const uint64_t word = chunk->records[i];
	const enum rec_kind kind = rec_kind(word);
	const size_t words = decode_record_words(chunk, i);

	printf("  %zu %s", i, kind_name(kind));
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
		if (kind == REC_RESUME && k > 3)
			print_frame(chunk->records[i + k]);
		else
			printf(" %" PRIu64, rec_value(chunk->records[i + k]));
	}
	putchar('\n');
	return words;
}

static int print_chunk(void *ctx, const struct chunk *chunk)
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

int dump_raw_trace(const char *path)
{
	struct in_summary summary;

	return in_read(path, print_chunk, NULL, &summary);
}
