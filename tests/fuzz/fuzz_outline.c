/* fuzz_outline.c - feeds any bytes to the reader of Lua sources: tokens lie in
 * the text one behind another, and each function of an outline is found again.
 * make fuzz builds and runs it.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_outline.h"
#include "tracer/recorder/names/lua_token.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_so)
{
	if (!is_so)
		abort();
}

static void read_tokens(const char *text, size_t size)
{
	const char *at = text;
	struct lua_token token;
	struct lua_text t;
	uint32_t line = 1;

	lua_token_begin(&t, text, size);
	do {
		token = lua_token_next(&t);
		if (token.kind == LUA_TOKEN_BAD)
			return;
		require(token.at >= at && token.line >= line);
		require(token.size <= (size_t)(text + size - token.at));
		require(token.size > 0 || token.kind == LUA_TOKEN_END);
		at = token.at + token.size;
		line = token.line;
	} while (token.kind != LUA_TOKEN_END);
	require(at == text + size);
}

/* The number of functions before this one that have its lines. */
static uint32_t ordinal_of(const struct lua_outline *o, uint32_t function)
{
	const struct lua_outline_function *const f = &o->function[function];
	uint32_t n = 0;

	for (uint32_t i = 1; i < function; i++)
		n += o->function[i].first == f->first &&
		     o->function[i].last == f->last;
	return n;
}

static void read_outline(const char *text, size_t size)
{
	struct lua_outline o;

	if (lua_outline_read(&o, text, size, "module") == 0) {
		require(o.n > 0);
		for (uint32_t i = 1; i < o.n; i++) {
			const struct lua_outline_function *const f =
				&o.function[i];

			require(f->first <= f->last && f->last <= o.lines);
			require(strlen(lua_outline_name(&o, i)) <
				LUA_OUTLINE_NAME);
			if (i < 100)
				require(lua_outline_find(&o, f->first, f->last,
					ordinal_of(&o, i)) == i);
		}
	}
	lua_outline_free(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of its own size, so that a byte too far is seen. */
	char *const exact = malloc(size);

	if (size > 0)
		memcpy(exact, data, size);
	read_tokens(exact, size);
	read_outline(exact, size);
	free(exact);
	return 0;
}
