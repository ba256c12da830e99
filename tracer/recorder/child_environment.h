/* child_environment.h - what the recorded program finds in its environment.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_CHILD_ENVIRONMENT_H
#define WEFT_TRACER_RECORDER_CHILD_ENVIRONMENT_H

#include <stdbool.h>

struct surround {
	const char *preload;  /* value of LD_PRELOAD; NULL: leave it */
	const char *trace;    /* the trace's folder, absolute */
	const char *modules;  /* PREFIX/lib/lua, to have weft required by every
	                       * interpreter (--lua-init); NULL: do not */
	bool is_asan;         /* the program's first library is to be ASan's */
};

/* Set it in this process, which is about to become the program. */
void surround_set(const struct surround *s);

/* The value of LUA_INIT, or of that variable with a version: load weft, then do
 * what before (NULL: nothing), the value it had, says. The caller's to free;
 * NULL: no memory. */
char *surround_lua_init(const char *modules, const char *variable,
			const char *before);

#endif
