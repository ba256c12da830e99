/* lua_token.h - the tokens of a Lua source, of any version.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A token of one character is that character. */
enum lua_kind {
	LUA_TOKEN_END = 0,         /* of the text */
	LUA_TOKEN_NAME = 256,      /* also goto and global */
	LUA_TOKEN_STRING,
	LUA_TOKEN_VALUE,           /* a number, nil, true, false, "..." */
	LUA_TOKEN_OPERATOR,        /* of letters or several characters */
	LUA_TOKEN_LABEL,           /* :: */
	LUA_TOKEN_ATTRIBUTE,       /* <const> or <close> */
	LUA_TOKEN_FUNCTION, LUA_TOKEN_CLOSE, /* the word "end" */
	LUA_TOKEN_DO, LUA_TOKEN_IF, LUA_TOKEN_THEN, /* also else and elseif */
	LUA_TOKEN_REPEAT, LUA_TOKEN_UNTIL, LUA_TOKEN_RETURN,
	LUA_TOKEN_LOCAL, LUA_TOKEN_STATEMENT, /* while, for, break */
	LUA_TOKEN_BAD,             /* a string or a comment that does not end */
};

struct lua_token {
	enum lua_kind kind;
	const char *at;            /* in the text */
	size_t size;
	uint32_t line;             /* on which it ends, as Lua counts */
};

struct lua_text {
	const char *at, *end;
	uint32_t line;
};

/* Begin with a text of any bytes, which stays the caller's. A first line that
 * begins with # is passed over, as Lua does in files. */
void lua_token_begin(struct lua_text *t, const char *text, size_t size);
/* The next token. At the end of the text, LUA_TOKEN_END comes for ever. What
 * comes after LUA_TOKEN_BAD has no meaning. */
struct lua_token lua_token_next(struct lua_text *t);
