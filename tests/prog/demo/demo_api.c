/* demo_api.c - the C functions that handlers.lua calls: what is known of a
 * document. A document is an integer in Lua; every one is checked.
 * SPDX-License-Identifier: MIT */
#include "demo.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

static const struct document *check_document(lua_State *L, int arg)
{
	const lua_Integer id = luaL_checkinteger(L, arg);

	luaL_argcheck(L, id >= 0 && (size_t)id < library.count, arg,
		      "no such document");
	return &library.documents[id];
}

static int path_of(lua_State *L)
{
	COUNT(path_of);
	lua_pushstring(L, check_document(L, 1)->path);
	return 1;
}

/* The first line with a letter in it. */
static int title_of(lua_State *L)
{
	const struct document *d = check_document(L, 1);
	struct text text = { d->text, d->text + d->size };
	struct word word;

	COUNT(title_of);
	if (!next_word(&text, &word)) {
		lua_pushliteral(L, "");
		return 1;
	}

	const char *from = text.at;
	const char *to = text.at;

	while (from > d->text && from[-1] != '\n')
		from--;
	while (to < text.end && *to != '\n')
		to++;
	lua_pushlstring(L, from, (size_t)(to - from));
	return 1;
}

/* The n commonest words, in no order: { { word = , count = } ... } */
static int terms_of(lua_State *L)
{
	const struct document *d = check_document(L, 1);
	const lua_Integer n = luaL_checkinteger(L, 2);
	struct heap heap = { .limit = n < HITS_MAX ? (size_t)n : HITS_MAX };

	COUNT(terms_of);
	luaL_argcheck(L, n > 0, 2, "not positive");
	for (uint32_t i = 0; i < d->words.size; i++)
		if (d->words.words[i].length > 3)
			heap_offer(&heap, (struct hit){
				d->words.words[i].count, i });
	lua_createtable(L, (int)heap.used, 0);
	for (size_t i = 0; i < heap.used; i++) {
		const struct word *w = &d->words.words[heap.hits[i].id];

		lua_createtable(L, 0, 2);
		lua_pushlstring(L, w->text, w->length);
		lua_setfield(L, -2, "word");
		lua_pushinteger(L, w->count);
		lua_setfield(L, -2, "count");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* The line number of the first place where a word stands, or nil. */
static int snippet_of(lua_State *L)
{
	const struct document *d = check_document(L, 1);
	size_t length;
	const char *wanted = luaL_checklstring(L, 2, &length);
	struct text text = { d->text, d->text + d->size };
	struct word word;
	lua_Integer line = 1;

	COUNT(snippet_of);
	while (next_word(&text, &word))
		if (word.length == length &&
		    memcmp(word.text, wanted, length) == 0)
			break;
	if (text.at == text.end)
		return 0;
	for (const char *p = d->text; p < text.at; p++)
		line += *p == '\n';
	lua_pushinteger(L, line);
	return 1;
}

/* The document that has most in common with one, and how much. */
static int nearest_of(lua_State *L)
{
	const struct document *d = check_document(L, 1);
	uint32_t best = 0;
	double most = -1;

	COUNT(nearest_of);
	for (uint32_t i = 0; i < library.count; i++) {
		const struct document *other = &library.documents[i];

		if (other == d)
			continue;

		const double share = compare_bags(&d->words, &other->words);

		if (share > most) {
			best = i;
			most = share;
		}
	}
	if (most < 0)
		return 0;
	lua_pushinteger(L, best);
	lua_pushnumber(L, most);
	return 2;
}

/* { { document = , weight = } ... } */
void push_hits(lua_State *L, const struct heap *heap)
{
	COUNT(push_hits);
	lua_createtable(L, (int)heap->used, 0);
	for (size_t i = 0; i < heap->used; i++) {
		lua_createtable(L, 0, 2);
		lua_pushinteger(L, heap->hits[i].id);
		lua_setfield(L, -2, "document");
		lua_pushnumber(L, heap->hits[i].weight);
		lua_setfield(L, -2, "weight");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

void api_open(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "path", path_of }, { "title", title_of },
		{ "terms", terms_of }, { "snippet", snippet_of },
		{ "nearest", nearest_of }, { NULL, NULL }
	};

	luaL_newlib(L, functions);
	lua_setglobal(L, "library");
}
