/* diagnose_lua.h - programs that carry a Lua nobody sees, and the way in.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_DIAGNOSE_LUA_H
#define WEFT_RECORDER_DIAGNOSE_LUA_H

#include "tracer/recorder/diagnose.h"
#include "tracer/recorder/image.h"

enum diagnose_lua {
	LUA_NONE,                  /* no Lua anywhere */
	LUA_NO_STATE,              /* a Lua that would have been seen */
	LUA_OWN,                   /* linked in, unseen */
	LUA_INTERPRETER,           /* ... and the program is an interpreter */
};

/* Say of the program at path, and of those that it started, which have a Lua
 * of their own that was not seen. What the first of them is. */
enum diagnose_lua diagnose_lua(const char *path, const struct image *image,
			       const struct diagnose_facts *facts);

/* Does it need a shared Lua library? */
bool diagnose_lua_needed(const char *path, const struct image *image);

#endif
