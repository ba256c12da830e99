/* sym.h - names for the functions of a session: native ones from their ELF
 * files, Lua ones from their sources. A function without a name is called after
 * the place where it lies.
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
