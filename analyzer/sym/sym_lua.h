/* sym_lua.h - what to call a Lua function.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_LUA_H
#define WEFT_ANALYZER_SYM_SYM_LUA_H

#include "analyzer/base/mem.h"
#include "analyzer/model/func.h"

/* Fill in name, file and file_line of a FUNC_LUA. The file is what Lua's own
 * messages would show: "app.lua", "stdin", "[string "return 1..."]"; the name
 * is the hint with its place, "handler <app.lua:12>", or "function <...>" or
 * "main chunk <app.lua>"; "<app.lua:12#2>" is the second on those lines. */
void sym_lua_name(struct func *, struct arena *);

#endif
