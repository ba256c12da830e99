/* decode.h - a chunk as its reader sees it: words of unknown origin, checked once
 * and whole, so that whoever gets a view may trust every index in it. Knows the
 * layout; knows nothing of what the records mean.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CHUNK_DECODE_H
#define WEFT_ANALYZER_CHUNK_DECODE_H

#include "tracepoints/chunk.h"
#include "tracepoints/record.h"

#include <stddef.h>
#include <stdint.h>

/* Borrows the words. After view_open has returned 0:
 *   n = 32 + head.records + head.items + head.funcs
 *   every record of a known kind has its operands; every function index in
 *     records, stacks and hints is < head.funcs (or REC_FUNC_OMITTED, in a
 *     stack); a MARK's function is a DICT_NAME
 *   the ticks of all records together are <= tick_end - tick_begin;
 *   tick_end < 2^63
 *   every dictionary word has a known kind; its module or item is there
 *   every item lies inside the items, and its known fields inside it; there is
 *     at most one ITEM_STACK, and a module number is defined once */
struct chunk_view {
	struct chunk_header head;
	const uint64_t *words;
	size_t n;
	const uint64_t *records, *items, *dict;
	const uint64_t *stack;   /* the ITEM_STACK's head word, or NULL */
};

/* 0, or -1 with the cause added to the chain (err.h). */
int view_open(struct chunk_view *, const uint64_t *words, size_t n);

/* The checksum that should stand in words[31]. Needs n >= 32. */
uint64_t view_checksum(const uint64_t *words, size_t n);

/* Words of the record at index i with all its operands. */
size_t view_record_words(const struct chunk_view *, size_t i);

/* The string's bytes as stored: untrusted, may hold NULs, no NUL at the end. */
struct view_string {
	const char *bytes;
	uint32_t stored;         /* bytes here, at most CHUNK_STRING_MAX */
	uint64_t length, hash;   /* of the whole string */
};

/* Ticks that a record takes, its own and those before it. */
uint64_t view_record_ticks(uint64_t word);

/* Items, of known and unknown type. Start with an all-zero item; 1, or 0 when
 * there is none left. */
struct view_item {
	enum item_type type;
	const uint64_t *word;    /* its head word */
	size_t n;                /* words, the head counted */
	size_t next;             /* private */
};
int view_next_item(const struct chunk_view *, struct view_item *);
/* The item a DICT_LUA or DICT_NAME word points to. */
void view_dict_item(const struct chunk_view *, uint64_t dict,
		    struct view_item *);

/* The fields of an item; needs an item of that type. */
struct view_module {
	uint32_t number;
	uint64_t bias, size;
	const uint8_t *build_id;
	size_t build_id_size;    /* 0: none */
	struct view_string path;
};
void view_get_module(const struct view_item *, struct view_module *);

struct view_lua {
	uint32_t line, last_line;
	uint32_t ordinal;        /* of those on these lines; may not be known */
	struct view_string source, name;
};
void view_get_lua(const struct view_item *, struct view_lua *);

/* ITEM_NAME */
void view_get_name(const struct view_item *, struct view_string *);
/* ITEM_HINT: the dictionary index is returned. */
uint32_t view_get_hint(const struct view_item *, struct view_string *);
/* ITEM_LATE: the dictionary index. */
uint32_t view_get_late(const struct view_item *);
/* ITEM_LABEL, ITEM_NOTE */
void view_get_pair(const struct view_item *, struct view_string *key,
		   struct view_string *value);
/* ITEM_PROCESS: the parent's serial is returned. */
uint32_t view_get_process(const struct view_item *, struct view_string *path);

/* fiber: the native coroutine it is booked to; 0: none. */
struct view_vm { uint64_t serial, address, fiber; uint32_t abi, flags; };
void view_get_vm(const struct view_item *, struct view_vm *);

/* ITEM_OFFCPU: how many pairs { from, to } stand from *pair on. The first is
 * the time for which switches are known; in it the others, when the thread did
 * not run (they may be out of order, or outside). */
size_t view_get_offcpu(const struct view_item *, const uint64_t **pair);

/* The segments of the chunk's ITEM_STACK, segment 0 first. Start with an
 * all-zero segment; 1, or 0 when there is none left (or no ITEM_STACK). */
struct view_segment {
	uint64_t serial;         /* coroutine; 0: the thread itself */
	const uint64_t *frame;   /* open-frame words, outermost first */
	size_t frames;
	size_t index;            /* 1 for segment 0: private */
};
int view_next_segment(const struct chunk_view *, struct view_segment *);

#endif
