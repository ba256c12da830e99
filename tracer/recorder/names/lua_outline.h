/* lua_outline.h - what a Lua source calls its functions.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer name is left out, with its terminating zero. */
enum { LUA_OUTLINE_NAME = 128 };

/* A function, with the lines that Lua gives it. */
struct lua_outline_function {
	uint32_t first, last;
	uint32_t name;             /* where its text begins; 0: it has none */
	/* for the reading only */
	uint32_t outer;            /* the function around it; 0: main */
	bool is_returned;          /* by the function around it */
	bool is_called;            /* where it stands: (function() end)() */
};

/* The functions of a source in the order of their keyword "function", which is
 * the order of ordinals. */
struct lua_outline {
	struct lua_outline_function *function; /* [0] is the main function */
	uint32_t n;
	uint32_t *by_lines;        /* sorted by first and last line */
	char *text;                /* zero-terminated names; text[0] is 0 */
	uint32_t size;
	size_t room, text_room;
	uint32_t lines;
};

/* Read a source text of any bytes by the grammars of Lua 5.1 to 5.5 and LuaJIT.
 * A function is called as it is defined: "M.work", "M:method", "t.helper",
 * `register("name")` if it is an argument, and "return of make" if make returns
 * it; module is what the main function returns. Takes time in proportion to
 * size. Returns 0, or negative if the text is no Lua or there is no memory. *o
 * is to be freed in any case. */
int lua_outline_read(struct lua_outline *o, const char *text, size_t size,
		     const char *module);
void lua_outline_free(struct lua_outline *o);

/* The function with these lines and this ordinal; 0: there is none. */
uint32_t lua_outline_find(const struct lua_outline *o, uint32_t first,
			  uint32_t last, uint32_t ordinal);
/* Its name; "" if it has none. It is valid as long as the outline. */
const char *lua_outline_name(const struct lua_outline *o, uint32_t function);
