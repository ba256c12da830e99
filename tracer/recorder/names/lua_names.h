/* lua_names.h - what their sources call the Lua functions of a recording. The
 * files are opened when a chunk first names them, and read when the program has
 * ended. Names alone go into the trace, no other part of a source.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/names/chunk_names.h"

struct lua_names {
	struct name_set seen;      /* functions */
	struct lua_names_source *source;
	struct name_set by_hash;   /* of sources: index + 1 */
	struct lua_names_function *function;
	uint64_t *items;           /* LUA items as they came, back to back */
	size_t sources, source_room, functions, function_room;
	size_t item_words, item_room;
	uint32_t opened;           /* files that are kept open meanwhile */
	uint64_t bytes;            /* of sources that were read of late */
};

/* Nothing is ever freed: it lives as long as the recorder. */
void lua_names_init(struct lua_names *n);
/* Note the Lua functions that a chunk names. What is beyond limits or memory
 * gets no name. */
void lua_names_note(struct lua_names *n, const struct chunk_items *items);

/* An ITEM_LUA with a name: words that are valid during the call. */
typedef void lua_names_fn(void *ctx, const uint64_t *item, uint32_t words);

/* Read the sources and call back for each noted function that one names. A file
 * names functions only if all those that were noted of it begin and end on the
 * lines where it has functions: else it is another version. */
void lua_names_read(struct lua_names *n, lua_names_fn *fn, void *ctx);

/* What the function of this item, of a chunk with that header, is called in its
 * source, as far as that can be told now; "" if it cannot. It is valid for
 * ever. */
const char *lua_names_told(struct lua_names *n, const struct chunk_header *h,
			   const struct lua_item *f);

/* A function as its source tells of it. */
struct lua_names_told {
	const char *file, *name;   /* "": it has none, or none is known */
	uint64_t source, ordinal;  /* source: its hash */
	uint32_t line, last_line;
};
typedef void lua_names_told_fn(void *ctx, const struct lua_names_told *told);

/* Call back for each function in a file that a process names so, "@" first, as
 * far as it can be read now. */
void lua_names_tell(struct lua_names *n, uint32_t pid, uint64_t hash,
		    const char *name, lua_names_told_fn *fn, void *ctx);
