/* decode.h - a chunk as its reader sees it: words of unknown origin.
 *
 * analyzer/chunk: checks a chunk once and whole, so that whoever gets a struct
 * chunk may trust every index in it. Uses base and the format in tracepoints;
 * must not know what records mean, nor files.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"
#include "tracepoints/record.h"

/* Borrows the words. After decode_chunk has returned 0:
 *   n = 32 + header.records + header.items + header.funcs
 *   every record of a known kind has its operands; every function index in
 *     records, stacks and hints is < header.funcs (or REC_FUNC_OMITTED, in a
 *     stack); a MARK's function is a DICT_NAME; so are the indices of a WAIT
 *     or HEAP, and the node of the latter is among the chunk's
 *   the ticks of all records together are <= tick_end - tick_begin;
 *     tick_end < 2^63
 *   every dictionary word has a known kind; its module or item exists
 *   every item lies inside the items, and its known fields inside the item;
 *     there is at most one ITEM_STACK, and a module number is defined once
 *   there is at most one ITEM_SAMPLES; it is as struct chunk_samples says;
 *   the nodes of counted calls have parents before them, functions that are in
 *     the dictionary, and together fewer than 2^63 calls */
struct held;

struct chunk {
	struct chunk_header header;
	const uint64_t *words;
	size_t n;
	const uint64_t *records, *items, *dict;
	const uint64_t *stack;   /* the ITEM_STACK's head word, or NULL */
	const uint64_t *bodies;  /* in it, a word for each segment, or NULL */
	const uint64_t *samples; /* the ITEM_SAMPLES' head word, or NULL */
	const uint64_t *counted; /* nodes of COUNTED_WORDS words, or NULL */
	size_t nodes;
	struct held *held;       /* whose the words are (held.h); NULL: they
	                          * are borrowed */
};

/* Check n words and describe them in the struct, which then borrows them: they
 * must neither move nor change while it is used. Returns 0, or -1 with the
 * cause in the chain (err.h); then the struct is not to be used. */
int decode_chunk(struct chunk *, const uint64_t *words, size_t n);
/* The same for words that are known to be as they were written: their checksum
 * is not looked at. */
int decode_sealed(struct chunk *, const uint64_t *words, size_t n);

/* The checksum that words[31] should hold: XXH3 of all words, with that one
 * taken as 0. Needs n >= 32. */
uint64_t decode_checksum(const uint64_t *words, size_t n);

/* ---- records ---- */

/* Number of words of the record at index i, its operands included. Operands of
 * a later format, which this reader does not know, count too. */
size_t decode_record_words(const struct chunk *, size_t i);

/* Of a HEAP at index i, of n words: the node of the counted call that takes the
 * memory; 0: none. */
uint64_t decode_heap_node(const struct chunk *, size_t i, size_t n);

/* Ticks from the end of the record before to what this record tells: the entry
 * of a LEAF's call, or the event itself. The layout of kinds that this reader
 * does not know is not known, but for the gap, which all kinds except TIME
 * have. Needs a word that is no OPERAND. */
static inline uint64_t decode_record_lead(uint64_t word)
{
	switch (rec_kind(word)) {
	case REC_TIME:
		return rec_value(word);
	case REC_LEAF:
		return rec_leaf_gap(word);
	default:
		return rec_gap(word);
	}
}

/* Ticks that a record takes in all: a LEAF lasts until its call has ended. */
static inline uint64_t decode_record_ticks(uint64_t word)
{
	return decode_record_lead(word) +
	       (rec_kind(word) == REC_LEAF ? rec_leaf_duration(word) : 0);
}

/* ---- items ---- */

/* A string's bytes as stored: untrusted, may hold NULs, no NUL at the end. */
struct chunk_string {
	const char *bytes;
	uint32_t stored;         /* bytes here, at most CHUNK_STRING_MAX */
	uint64_t length, hash;   /* of the whole string */
};

/* The stored bytes with a NUL after them; returns out. A NUL among them ends
 * the text early for a reader of C strings. */
const char *decode_text(const struct chunk_string *,
			char out[CHUNK_STRING_MAX + 1]);

/* An item, of known or unknown type. */
struct chunk_item {
	enum item_type type;
	const uint64_t *word;    /* its head word */
	size_t n;                /* words, the head included */
	size_t next;             /* private */
};

/* Go to the next item; start with an all-zero one. False if none is left. */
bool decode_next_item(const struct chunk *, struct chunk_item *);
/* The item that a DICT_LUA or DICT_NAME word refers to. */
void decode_dict_item(const struct chunk *, uint64_t dict,
		      struct chunk_item *);

/* The fields of an item. Each of these needs an item of its type. */

/* ITEM_MODULE. bias and size are bytes: what the loader added to the addresses
 * in the file, and how much is mapped. build_id and path point into the
 * chunk. */
struct chunk_module {
	/* Below DICT_MAX_MODULES, as the dictionary of this chunk calls it. */
	uint32_t number;
	uint64_t bias, size;
	const uint8_t *build_id;
	size_t build_id_size;    /* 0: none */
	struct chunk_string path;
};
void decode_module(const struct chunk_item *, struct chunk_module *);

/* ITEM_LUA. The strings point into the chunk. */
struct chunk_lua {
	uint32_t line, last_line;
	uint32_t ordinal;        /* see ITEM_LUA; 0 if not known */
	struct chunk_string source, name;
};
void decode_lua(const struct chunk_item *, struct chunk_lua *);

/* ITEM_NAME */
void decode_name(const struct chunk_item *, struct chunk_string *);
/* ITEM_HINT, what Lua code calls a function; returns its dictionary index. */
uint32_t decode_hint(const struct chunk_item *, struct chunk_string *);
/* ITEM_UNTOLD_RETURN; returns the dictionary index. */
uint32_t decode_untold_return(const struct chunk_item *);
/* ITEM_LABEL, ITEM_NOTE */
void decode_pair(const struct chunk_item *, struct chunk_string *key,
		 struct chunk_string *value);
/* ITEM_PROCESS, the path of its program, and the thread's pthread_self (0: not
 * known); returns the parent's serial. */
uint32_t decode_process(const struct chunk_item *, struct chunk_string *path,
			uint64_t *handle);

/* ITEM_VM. serial: of the VM; address: of its main lua_State; fiber: the native
 * coroutine that the VM belongs to, 0: none; bytes: that it has in use, 0: not
 * known; read: the tick at which it had them, 0: not known; abi and flags as in
 * tracepoints/chunk.h. */
struct chunk_vm {
	uint64_t serial, address, fiber, bytes, read;
	uint32_t abi, flags;
};
void decode_vm(const struct chunk_item *, struct chunk_vm *);

/* The time, in ticks, for which a thread's switches are known: from < to. */
struct chunk_switches {
	uint64_t from, to;
	const struct chunk_item *item; /* borrowed; this and what follows is */
	uint64_t at;                   /* for decode_next_away */
	size_t next;
};
/* A time at which the thread did not run: until `ready` it slept, then it had
 * no core. Either part may be empty. */
struct chunk_away { uint64_t from, ready, to; };

/* ITEM_SWITCHES or ITEM_OFFCPU. False: the item is neither, or nothing is
 * known. */
bool decode_switches(const struct chunk_item *, struct chunk_switches *);
/* The next time; the first one, if s is new. They rise, do not overlap, are not
 * empty, and lie between s->from and s->to. */
bool decode_next_away(struct chunk_switches *s, struct chunk_away *);

/* The chunk's ITEM_SAMPLES: where the thread's program counter was, once in
 * each period ns (> 0) that it spent on a CPU between the ticks from and to,
 * which lie inside the chunk's: tick_begin <= from <= to <= tick_end. pair is
 * { tick, place } n times. The ticks rise strictly, between from and to. A
 * place is a word like those of the dictionary, but is not in it: DICT_NATIVE,
 * whose module the chunk has, or DICT_CODE (address 0: in the kernel). */
struct chunk_samples {
	uint64_t period, from, to;
	const uint64_t *pair;
	size_t n;
};

/* False: the chunk has no such item; nothing is known of its time. */
bool decode_samples(const struct chunk *, struct chunk_samples *);

/* ITEM_REFERENCE: { place, samples } n times, each of which stands for ns of
 * CPU time; places as above. Counts, ns and lost are below 2^32. */
struct chunk_reference {
	enum reference_kind kind;
	uint64_t ns, lost;
	const uint64_t *pair;
	size_t n;
};
void decode_reference(const struct chunk_item *, struct chunk_reference *);

/* A segment of the chunk's ITEM_STACK. */
struct chunk_segment {
	uint64_t serial;         /* coroutine; 0: the thread itself */
	const uint64_t *frame;   /* open-frame words, outermost first */
	size_t frames;
	const uint64_t *body;    /* the coroutine's body, which a tail call has
	                          * replaced: an open-frame word, or NULL */
	size_t index;            /* private */
};

/* Go to the next segment, segment 0 first; start with an all-zero one. False if
 * none is left, or the chunk has no ITEM_STACK. */
bool decode_next_segment(const struct chunk *, struct chunk_segment *);
