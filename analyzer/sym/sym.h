/* sym.h - names for the functions of a session: native ones from their ELF
 * files, Lua ones from their sources. A function without a name is called after
 * the place where it lies. Also what ELF files say of sampled addresses.
 *
 * This folder finds and reads ELF files. It may use analyzer/base and model; it
 * knows nothing of traces, tables or output.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"
#include "analyzer/sym/sym_options.h"

/* Fill in name, file and file_line of every function of the table; a native one
 * that has a name keeps it, and no name is "" afterwards. Each ELF file is read
 * in a process of its own, so that a hostile or huge file costs the names of
 * its own functions only. Nothing is a failure: what went wrong is in the
 * elements' why. Strings go into the arena and live as long as it does. Returns
 * an array with an element for each module, by its id - 1, to be freed with
 * mem_free. */
struct naming *sym_name(struct func_table *, struct arena *,
			const struct sym_options *);

/* Fill in name, file and file_line of a FUNC_LUA. The file is shown as in Lua's
 * own messages: "app.lua", "stdin", "[string "return 1..."]". The name is the
 * hint with its place, "handler <app.lua:12>", or "function <...>", or "main
 * chunk <app.lua>"; "<app.lua:12#2>" is the second function on those lines. */
void sym_lua_name(struct func *, struct arena *);

/* ---- sampled addresses -------------------------------------------------- */

/* Fill in name, begin, line and inlined of the session's places, and which are
 * PLACE_PROBE; PLACE_OWN and func are left to net_place. As sym_name does, each
 * ELF file is read in a process of its own; what cannot be read has no names.
 * Strings go into the arena. */
void sym_places(struct session *, struct arena *, const struct sym_options *);

/* ---- source lines ------------------------------------------------------- */

/* An instruction. offset is given, as a recorded function's is: an address in
 * the file, without the load bias. All else is found out; strings are the
 * arena's, never NULL. */
struct sym_line {
	uint64_t offset;
	bool is_own;             /* it is the function's code, or of what was
	                          * inlined into it */
	uint32_t own_line;       /* if so: the line of the function on which it
	                          * is, or on which the inlined call is; 0: not
	                          * known, or in a file that it includes */
	const char *name;        /* the innermost function whose code it is, or
	                          * "": not known, or the function itself */
	const char *file;        /* of the instruction itself; "": not known */
	uint32_t line;           /* there; 0: not known */
};

/* Find out the lines of instructions of one module; `of` is the function, or
 * NULL: then no instruction is its own. is_here: its entry is in this module;
 * else, as in another build, its code is found by name, file and line of its
 * declaration. Sorts the lines by offset. The ELF file is read in a process of
 * its own. Returns NULL, or what went wrong or is missing (the arena's); what
 * could be found out is there all the same. */
const char *sym_lines(struct sym_line *, size_t count, const struct func *of,
		      bool is_here, const struct elf_module *, struct arena *,
		      const struct sym_options *);
