/* lua_token.c - takes a Lua source apart, as the lexers of Lua 5.1 to 5.5 and
 * LuaJIT do where they agree. Only what separates tokens and counts lines is
 * read exactly: numbers and escapes are not checked.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_token.h"

#include <stdbool.h>
#include <string.h>

/* The i-th byte that is still to be read; 0 behind the end. */
static unsigned char peek(const struct lua_text *t, size_t i)
{
	return i < (size_t)(t->end - t->at) ? (unsigned char)t->at[i] : 0;
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* LuaJIT's names may have any byte above ASCII. */
static bool is_word(unsigned char c)
{
	return is_digit(c) || c == '_' || c >= 0x80 ||
	       ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_newline(unsigned char c)
{
	return c == '\n' || c == '\r';
}

/* "\r\n" and "\n\r" are one line end. */
static void pass_newline(struct lua_text *t)
{
	const unsigned char first = peek(t, 0), second = peek(t, 1);

	t->at += is_newline(second) && second != first ? 2 : 1;
	t->line++;
}

static void pass(struct lua_text *t)
{
	if (is_newline(peek(t, 0)))
		pass_newline(t);
	else
		t->at++;
}

void lua_token_begin(struct lua_text *t, const char *text, size_t size)
{
	*t = (struct lua_text){ text, text + size, 1 };
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		t->at += 3;
	if (peek(t, 0) == '#')
		while (t->at < t->end && !is_newline(peek(t, 0)))
			t->at++;
}

/* ---- strings and comments ---- */

/* The number of bytes of "[[" or "[==["; 0: no long bracket begins here. */
static size_t long_bracket(const struct lua_text *t)
{
	size_t n = 1;

	if (peek(t, 0) != '[')
		return 0;
	while (peek(t, n) == '=')
		n++;
	return peek(t, n) == '[' ? n + 1 : 0;
}

static bool is_closed(const struct lua_text *t, size_t bracket)
{
	if (peek(t, 0) != ']' || peek(t, bracket - 1) != ']')
		return false;
	for (size_t i = 1; i + 1 < bracket; i++)
		if (peek(t, i) != '=')
			return false;
	return true;
}

/* False: it does not end. A test of a "]" goes no further than the next one, so
 * that all of them together take linear time. */
static bool pass_long(struct lua_text *t, size_t bracket)
{
	t->at += bracket;
	while (t->at < t->end && !is_closed(t, bracket))
		pass(t);
	if (t->at == t->end)
		return false;
	t->at += bracket;
	return true;
}

static bool pass_string(struct lua_text *t)
{
	const unsigned char quote = peek(t, 0);

	for (t->at++; t->at < t->end; ) {
		const unsigned char c = peek(t, 0);

		if (c == quote) {
			t->at++;
			return true;
		}
		if (is_newline(c))
			return false;
		if (c == '\\') {
			const bool skips = peek(t, 1) == 'z';

			t->at++;
			if (t->at < t->end)
				pass(t);
			while (skips && t->at < t->end &&
			       strchr(" \t\v\f\r\n", peek(t, 0)) &&
			       peek(t, 0) != '\0')
				pass(t);
			continue;
		}
		t->at++;
	}
	return false;
}

/* Pass white space and comments. False: a comment does not end. */
static bool pass_space(struct lua_text *t)
{
	while (t->at < t->end) {
		if (peek(t, 0) == '-' && peek(t, 1) == '-') {
			size_t bracket;

			t->at += 2;
			bracket = long_bracket(t);
			if (bracket > 0 && !pass_long(t, bracket))
				return false;
			while (bracket == 0 && t->at < t->end &&
			       !is_newline(peek(t, 0)))
				t->at++;
		} else if (peek(t, 0) <= ' ') {
			pass(t);
		} else {
			break;
		}
	}
	return true;
}

/* ---- words, numbers, operators ---- */

static enum lua_kind word_kind(const char *at, size_t size)
{
	static const struct {
		const char *word;
		enum lua_kind kind;
	} words[] = {
		{ "and", LUA_TOKEN_OPERATOR }, { "break", LUA_TOKEN_STATEMENT },
		{ "do", LUA_TOKEN_DO }, { "else", LUA_TOKEN_THEN },
		{ "elseif", LUA_TOKEN_THEN }, { "end", LUA_TOKEN_CLOSE },
		{ "false", LUA_TOKEN_VALUE }, { "for", LUA_TOKEN_STATEMENT },
		{ "function", LUA_TOKEN_FUNCTION }, { "if", LUA_TOKEN_IF },
		{ "in", LUA_TOKEN_OPERATOR }, { "local", LUA_TOKEN_LOCAL },
		{ "nil", LUA_TOKEN_VALUE }, { "not", LUA_TOKEN_OPERATOR },
		{ "or", LUA_TOKEN_OPERATOR }, { "repeat", LUA_TOKEN_REPEAT },
		{ "return", LUA_TOKEN_RETURN }, { "then", LUA_TOKEN_THEN },
		{ "true", LUA_TOKEN_VALUE }, { "until", LUA_TOKEN_UNTIL },
		{ "while", LUA_TOKEN_STATEMENT },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == size &&
		    memcmp(words[i].word, at, size) == 0)
			return words[i].kind;
	return LUA_TOKEN_NAME;
}

static void pass_number(struct lua_text *t)
{
	const bool is_hex = peek(t, 0) == '0' && (peek(t, 1) | 32) == 'x';

	while (is_word(peek(t, 0)) || peek(t, 0) == '.') {
		const unsigned char c = peek(t, 0) | 32;

		t->at++;
		if (c == (is_hex ? 'p' : 'e') &&
		    (peek(t, 0) == '+' || peek(t, 0) == '-'))
			t->at++;
	}
}

/* The length of "<const>" or "<close>", with the spaces in it; or 0. */
static size_t attribute(const struct lua_text *t)
{
	size_t n = 1, word;

	while (peek(t, n) == ' ')
		n++;
	for (word = n; is_word(peek(t, n)); n++)
		;
	if (n - word != 5 || (memcmp(t->at + word, "const", 5) != 0 &&
			      memcmp(t->at + word, "close", 5) != 0))
		return 0;
	while (peek(t, n) == ' ')
		n++;
	return peek(t, n) == '>' ? n + 1 : 0;
}

static enum lua_kind pass_operator(struct lua_text *t)
{
	static const char *const pairs = "== ~= <= >= // << >> .. :: ";
	const unsigned char c = peek(t, 0);
	const size_t more = c == '<' ? attribute(t) : 0;

	if (more > 0) {
		t->at += more;
		return LUA_TOKEN_ATTRIBUTE;
	}
	if (c == '.' && peek(t, 1) == '.' && peek(t, 2) == '.') {
		t->at += 3;
		return LUA_TOKEN_VALUE;
	}
	for (const char *pair = pairs; *pair != '\0'; pair += 3) {
		if (c != (unsigned char)pair[0] ||
		    peek(t, 1) != (unsigned char)pair[1])
			continue;
		t->at += 2;
		return c == ':' ? LUA_TOKEN_LABEL : LUA_TOKEN_OPERATOR;
	}
	t->at++;
	return (enum lua_kind)c;
}

static enum lua_kind pass_token(struct lua_text *t)
{
	const char *const at = t->at;
	const unsigned char c = peek(t, 0);
	const size_t bracket = long_bracket(t);

	if (is_digit(c) || (c == '.' && is_digit(peek(t, 1)))) {
		pass_number(t);
		return LUA_TOKEN_VALUE;
	}
	if (is_word(c)) {
		while (is_word(peek(t, 0)))
			t->at++;
		return word_kind(at, (size_t)(t->at - at));
	}
	if (c == '"' || c == '\'')
		return pass_string(t) ? LUA_TOKEN_STRING : LUA_TOKEN_BAD;
	if (bracket > 0)
		return pass_long(t, bracket) ? LUA_TOKEN_STRING :
		       LUA_TOKEN_BAD;
	return pass_operator(t);
}

struct lua_token lua_token_next(struct lua_text *t)
{
	struct lua_token token = { .kind = LUA_TOKEN_BAD };

	if (!pass_space(t)) {
		t->end = t->at;
		return token;
	}
	token.at = t->at;
	token.kind = t->at == t->end ? LUA_TOKEN_END : pass_token(t);
	token.size = (size_t)(t->at - token.at);
	token.line = t->line;
	return token;
}
