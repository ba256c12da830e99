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

/* Borrows the words. After decode_chunk has returned 0:
 *   n = 32 + head.records + head.items + head.funcs
 *   every record of a known kind has its operands; every function index in
 *     records, stacks and hints is < head.funcs (or REC_FUNC_OMITTED, in a
 *     stack); a MARK's function is a DICT_NAME
 *   the ticks of all records together are <= tick_end - tick_begin;
 *   tick_end < 2^63
 *   every dictionary word has a known kind; its module or item is there
 *   every item lies inside the items, and its known fields inside it; there is
 *     at most one ITEM_STACK, and a module number is defined once */
struct chunk {
	struct chunk_header header;
	const uint64_t *words;
	size_t n;
	const uint64_t *records, *items, *dict;
	const uint64_t *stack;   /* the ITEM_STACK's head word, or NULL */
};

/* 0, or -1 with the cause added to the chain (err.h). */
int decode_chunk(struct chunk *, const uint64_t *words, size_t n);

/* The checksum that should stand in words[31]. Needs n >= 32. */
uint64_t decode_checksum(const uint64_t *words, size_t n);

/* Words of the record at index i with all its operands. */
size_t decode_record_words(const struct chunk *, size_t i);

/* The string's bytes as stored: untrusted, may hold NULs, no NUL at the end. */
struct chunk_string {
	const char *bytes;
	uint32_t stored;         /* bytes here, at most CHUNK_STRING_MAX */
	uint64_t length, hash;   /* of the whole string */
};

/* Ticks that a record takes, its own and those before it. */
uint64_t decode_record_ticks(uint64_t word);

/* Items, of known and unknown type. Start with an all-zero item; 1, or 0 when
 * there is none left. */
struct chunk_item {
	enum item_type type;
	const uint64_t *word;    /* its head word */
	size_t n;                /* words, the head counted */
	size_t next;             /* private */
};
int decode_next_item(const struct chunk *, struct chunk_item *);
/* The item a DICT_LUA or DICT_NAME word points to. */
void decode_dict_item(const struct chunk *, uint64_t dict,
		    struct chunk_item *);

/* The fields of an item; needs an item of that type. */
struct chunk_module {
	uint32_t number;
	uint64_t bias, size;
	const uint8_t *build_id;
	size_t build_id_size;    /* 0: none */
	struct chunk_string path;
};
void decode_module(const struct chunk_item *, struct chunk_module *);

struct chunk_lua {
	uint32_t line, last_line;
	uint32_t ordinal;        /* of those on these lines; may not be known */
	struct chunk_string source, name;
};
void decode_lua(const struct chunk_item *, struct chunk_lua *);

/* ITEM_NAME */
void decode_name(const struct chunk_item *, struct chunk_string *);
/* ITEM_HINT: the dictionary index is returned. */
uint32_t decode_hint(const struct chunk_item *, struct chunk_string *);
/* ITEM_LATE: the dictionary index. */
uint32_t decode_untold_return(const struct chunk_item *);
/* ITEM_LABEL, ITEM_NOTE */
void decode_pair(const struct chunk_item *, struct chunk_string *key,
		   struct chunk_string *value);
/* ITEM_PROCESS: the parent's serial is returned. */
uint32_t decode_process(const struct chunk_item *, struct chunk_string *path);

/* fiber: the native coroutine it is booked to; 0: none. */
struct chunk_vm { uint64_t serial, address, fiber; uint32_t abi, flags; };
void decode_vm(const struct chunk_item *, struct chunk_vm *);

/* ITEM_OFFCPU: how many pairs { from, to } stand from *pair on. The first is
 * the time for which switches are known; in it the others, when the thread did
 * not run (they may be out of order, or outside). */
size_t decode_offcpu(const struct chunk_item *, const uint64_t **pair);

/* The segments of the chunk's ITEM_STACK, segment 0 first. Start with an
 * all-zero segment; 1, or 0 when there is none left (or no ITEM_STACK). */
struct chunk_segment {
	uint64_t serial;         /* coroutine; 0: the thread itself */
	const uint64_t *frame;   /* open-frame words, outermost first */
	size_t frames;
	size_t index;            /* 1 for segment 0: private */
};
int decode_next_segment(const struct chunk *, struct chunk_segment *);

#endif
