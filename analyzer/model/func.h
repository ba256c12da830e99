/* func.h - the functions of a session: who is who across chunks, processes and
 * machines. Knows identities; names are filled in later by analyzer/sym.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t func_id;  /* index into a session's functions; 0 is none */
typedef uint32_t elf_id;   /* index into its ELF modules; 0 is none */

enum func_kind {
	FUNC_NONE,
	FUNC_NATIVE,   /* module and offset */
	FUNC_CODE,     /* an address in no ELF module: offset is the address */
	FUNC_LUA,      /* source, lines and ordinal */
	FUNC_NAME,     /* a zone, or a mark: its name */
	FUNC_SPECIAL,  /* made by the analyzer: name says what it stands for,
	                * such as "[open before start]" */
};

/* 1 and 2 are in profiles of earlier versions. */
enum { FUNC_COUNTED = 4 };

/* An ELF module. Identity: build-id, or path where there is none. */
struct elf_module {
	char *path;              /* as recorded; untrusted */
	uint8_t build_id[20];
	uint8_t build_id_size;   /* 0: none */
	uint64_t size;           /* of the mapping, from the load bias */
};

/* A function. Identity: kind and module + offset, or kind and source (with its
 * whole length and hash) + lines + ordinal. All strings are untrusted bytes,
 * never NULL, owned by the table. */
struct func {
	enum func_kind kind;
	elf_id module;
	uint64_t offset;
	const char *source;      /* Lua: the chunk name as Lua has it ("@x.lua",
	                          * "=stdin", or the text itself) */
	uint64_t source_hash, source_length; /* hash: where many sources may
	                          * have that name, also of the function */
	uint32_t line, last_line;
	uint32_t ordinal;        /* its position among the source's functions on
	                          * these two lines; 0: the first, the only
	                          * one, or not known */
	const char *hint;        /* what its source calls it, or else most
	                          * callers; or "" */
	uint32_t hints;          /* how often the hint came */
	int untold_return;       /* 1: LuaJIT does not tell of its returns; its
	                          * times are upper bounds */
	int counted;             /* FUNC_COUNTED: it is native, and there are
	                          * calls of it without records; or 0 */
	int noted;               /* 1: a sampled VM was in it, or threads slept
	                          * in it; how often that began is not known */
	/* Filled in by analyzer/sym; until then "" and 0. For FUNC_SPECIAL and
	 * FUNC_NAME name is there from the start. */
	const char *name;        /* demangled; Lua: its name or "function" */
	const char *file;        /* source file */
	uint32_t file_line;
};

struct func_table;
struct func_table *func_table_new(void);
void func_table_free(struct func_table *);

/* Find or add. The strings are copied. build_id may be NULL with size 0. */
elf_id func_module(struct func_table *, const char *path,
		   const uint8_t *build_id, size_t build_id_size,
		   uint64_t size);
func_id func_native(struct func_table *, elf_id, uint64_t offset);
func_id func_code(struct func_table *, uint64_t address);
/* stored: bytes at source; at most 256 of them are kept. length and hash are
 * those of the whole text. */
struct func_origin {
	const char *source;
	size_t stored;
	uint64_t length, hash;
	uint32_t line, last_line, ordinal;
};
func_id func_lua(struct func_table *, const struct func_origin *,
		 const char *hint);
func_id func_name(struct func_table *, const char *name);
func_id func_special(struct func_table *, const char *name);
/* Sleep in no call that is recorded as one that waits. */
#define FUNC_OTHER_WAIT "[other wait]"
/* Find or add a function of another table, where its module is `module` here.
 * The hint is not copied, nor the name of a native or Lua function. */
func_id func_like(struct func_table *, const struct func *, elf_id module);
/* Callers call a function so. Its hint is what came most often; of those that
 * came as often, the first in alphabetical order. */
void func_hint(struct func_table *, func_id, const char *hint);
/* Remember what its source calls it, instead of any hint. */
void func_define(struct func_table *, func_id, const char *name);
/* Its returns are not told: see struct func. */
void func_set_untold_return(struct func_table *, func_id);

/* Borrowed; valid until the table grows. Ids run from 1 to the count; any other
 * gives a function, or module, without name. */
struct func *func_get(struct func_table *, func_id);
size_t func_count(const struct func_table *);
struct elf_module *func_elf(struct func_table *, elf_id);
size_t func_elf_count(const struct func_table *);
/* Is it the one that func_special gives for that name? */
bool func_is_special(struct func_table *, func_id, const char *name);
/* Is it one of libc's? That has no hooks: what is recorded of it are calls that
 * may wait. */
bool func_is_libc(struct func_table *, func_id);
/* Is it libc's, or of the C++ standard library, whose functions are compiled
 * into the program? What waits in one does so for whoever called it. */
bool func_is_library(struct func_table *, func_id);
/* Is the module Lua's own library or interpreter, by its file's name: lua5.4,
 * liblua5.1.so.0, luajit-2.1.0-beta3? Others only begin likewise, as
 * liblua5.1-socket.so.2. */
bool func_elf_is_lua(struct func_table *, elf_id);

/* "native", "lua", "zone" or "": the language column. Functions of Lua's own
 * libraries are native. */
const char *func_language(const struct func *);
