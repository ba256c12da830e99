/* chunk_names.h - what finished chunks name, by items of any bytes; and files
 * by such names.
 *
 * The folder names/ finds out what is called how: the functions that chunks
 * name, Lua's by their sources; the modules that are mapped; which functions
 * the user wants. It uses base/, and does not know where a trace is kept.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"

#include <stdbool.h>

/* A number, from 1 on, for each hash: a hash table of what was seen. */
struct name_set {
	struct name_slot { uint64_t hash; uint32_t number; } *slot;
	uint32_t slots, n, most;
	uint32_t refused;          /* what came when it was full */
};

/* Empty it; that many have room from then on. Nothing is ever freed: the
 * recorder keeps it as long as it lives. */
void name_set_init(struct name_set *s, uint32_t most);
/* The hash's number; 0: it is not there. */
uint32_t name_set_find(const struct name_set *s, uint64_t hash);
/* False: it is there already, or there is no room, or no memory. */
bool name_set_put(struct name_set *s, uint64_t hash, uint32_t number);
/* The same where the number does not matter. */
bool name_set_add(struct name_set *s, uint64_t hash);
/* Where the table looks for it first. A program may choose the hashes, but not
 * so that many of them share a place: that is random in each process. */
uint32_t name_set_place(uint64_t hash);
/* Add a value to a hash. Collisions are accepted: they cost one name. */
uint64_t name_set_mix(uint64_t hash, uint64_t value);

/* The items of a chunk, found once for all who look at them. All their words
 * lie in the chunk. */
struct chunk_items {
	struct chunk_header *h;
	uint64_t *to;              /* more may be written here: */
	uint32_t room, n;          /* words */
	struct seen_item { const uint64_t *at; uint32_t words; }
		item[CHUNK_MAX_WORDS];
	/* Of its modules, a bit each. */
	uint64_t numbers[DICT_MAX_MODULES / 64];
};

/* Find those of a chunk of that many words. None can be written. */
void chunk_items_read(struct chunk_items *items, const uint64_t *chunk,
		      uint32_t words);
/* Add one that was written behind the last: of no words, none. */
void chunk_items_add(struct chunk_items *items, uint32_t words);
/* A number that no module of the chunk has; the host gives out low ones.
 * DICT_MAX_MODULES: there is none. */
uint32_t chunk_items_number(const struct chunk_items *items);

/* What an ITEM_MODULE says. */
struct module_item {
	uint32_t number;
	const uint8_t *id;         /* the build-id, in the item */
	unsigned id_size;          /* 0: there is none */
	char path[CHUNK_STRING_MAX + 1]; /* "": it was cut, or has a NUL */
};
/* False: it is another item, or not whole. */
bool chunk_names_module(const struct seen_item *item, struct module_item *m);
/* The module as verdicts have it. */
uint64_t chunk_names_module_hash(const uint8_t *id, unsigned id_size,
				 const char *path);

/* What an ITEM_LUA says. */
struct lua_item {
	uint32_t line, last_line;
	uint64_t source, ordinal;  /* source: its hash */
	char file[CHUNK_STRING_MAX + 1]; /* the source, as Lua has it; "": it
	                            * was cut, or has a NUL */
	uint64_t name, rest;       /* the words where the name begins, and what
	                            * follows it */
};
/* False: it is another item, or not whole. */
bool chunk_names_lua(const struct seen_item *item, struct lua_item *f);

/* The path of a file that a program names: for i = 0 as the program sees it,
 * which may be in another root or folder and is therefore tried first; for
 * i = 1 as this process does, as where the program is gone. Needs 32 bytes more
 * than the name. */
enum { CHUNK_NAMES_PATHS = 2 };
void chunk_names_path(uint32_t pid, const char *file, int i, char *path,
		      size_t size);
/* Open a file to read. Neither waits for a FIFO nor takes a terminal. Returns a
 * descriptor, or negative with errno. */
int chunk_names_open(const char *path);
