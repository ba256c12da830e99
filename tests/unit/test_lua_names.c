/* test_lua_names.c - functions that chunks name get the names that are in their
 * sources, and none from another version of a source. links: recorder
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_names.h"
#include "tests/test.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static char said[1024];
static struct chunk_items items;

static void begin(void)
{
	strcpy(dir, "/tmp/weft-test-names-XXXXXX");
	REQUIRE(mkdtemp(dir) != NULL);
	said[0] = '\0';
}

static void write_file(const char *name, const char *text)
{
	char command[256], path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"",
		 path);
	REQUIRE(system(command) == 0);
	file = fopen(path, "w");
	REQUIRE(file);
	fputs(text, file);
	fclose(file);
}

static uint32_t put_string(uint64_t *to, const char *text)
{
	const size_t n = strlen(text);

	to[0] = string_put(n, n);
	to[1] = XXH64(text, n, 0);
	memcpy(to + 2, text, n);
	return 2 + (uint32_t)((n + 7) / 8);
}

/* A chunk that names this function. */
static void note(struct lua_names *n, const char *source, uint32_t first,
		 uint32_t last, uint32_t ordinal)
{
	uint64_t words[CHUNK_HEADER_WORDS + 128] = { 0 };
	struct chunk_header *const h = (void *)words;
	uint64_t *const item = words + CHUNK_HEADER_WORDS;
	uint32_t at = 2;

	h->pid = (uint32_t)getpid();
	item[1] = (uint64_t)first << 32 | last;
	at += put_string(item + at, source);
	at += put_string(item + at, "hint");
	if (ordinal > 0)
		item[at++] = ordinal;
	item[0] = item_put(ITEM_LUA, at);
	h->items = at;
	chunk_items_read(&items, words, CHUNK_HEADER_WORDS + at);
	lua_names_note(n, &items);
}

/* "LINE#ORDINAL NAME;" */
static void say(void *ctx, const uint64_t *item, uint32_t words)
{
	const uint32_t source = 2 + (string_stored(item[2]) + 7) / 8;
	const uint64_t *const name = item + 2 + source;
	const uint32_t stored = string_stored(name[0]);
	const uint32_t end = 4 + source + (stored + 7) / 8;
	char *const to = said + strlen(said);

	(void)ctx;
	CHECK_EQ(item_type(item[0]), ITEM_LUA);
	CHECK_EQ(item_words(item[0]), words);
	CHECK(end == words || end + 1 == words);
	CHECK_EQ(name[1], XXH64(name + 2, stored, 0));
	snprintf(to, (size_t)(said + sizeof(said) - to), "%u#%u %.*s;",
		 (unsigned)(item[1] >> 32),
		 end < words ? (unsigned)item[end] : 0, (int)stored,
		 (const char *)(name + 2));
}

/* The recorder keeps it as long as it lives. */
static void forget(struct lua_names *n)
{
	free(n->seen.slot);
	free(n->source);
	free(n->by_hash.slot);
	free(n->function);
	free(n->items);
}

/* What is said of these functions of a source: { first, last, ordinal } ... */
static const char *names(const char *source, const uint32_t (*f)[3], size_t n)
{
	struct lua_names all;

	said[0] = '\0';
	lua_names_init(&all);
	for (size_t i = 0; i < 2 * n; i++)
		note(&all, source, f[i % n][0], f[i % n][1], f[i % n][2]);
	lua_names_read(&all, say, NULL);
	forget(&all);
	return said;
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	CHECK_EQ(system(command), 0);
}

void test_lua_names_are_those_of_the_source(void)
{
	static const uint32_t three[][3] = { { 1, 1, 0 }, { 1, 1, 1 },
					     { 2, 3, 0 } };
	char source[128];

	begin();
	write_file("set/init.lua", "f = function() end g = function() end\n"
				   "return function()\nend\n");
	snprintf(source, sizeof(source), "@%s/set/init.lua", dir);
	CHECK_STR(names(source, three, 3), "2#0 set;1#1 g;1#0 f;");
	CHECK_STR(names("f = function() end g = function() end", three, 2),
		  "1#1 g;1#0 f;");
	CHECK_STR(names("=text", three, 2), "");
	CHECK_STR(names("@/dev/zero", three, 2), "");
	CHECK_STR(names("@", three, 2), "");
	end();
}

void test_lua_names_of_another_version_are_not_taken(void)
{
	static const uint32_t two[][3] = { { 1, 1, 0 }, { 3, 3, 0 } };
	static const uint32_t around[][3] = { { 1, 4, 0 }, { 3, 3, 0 } };
	char source[128];

	begin();
	snprintf(source, sizeof(source), "@%s/a.lua", dir);
	write_file("a.lua", "function f() end\n\n\nfunction g() end\n");
	CHECK_STR(names(source, two, 2), "");
	write_file("a.lua", "function f() end\n\nfunction g() end\n");
	CHECK_STR(names(source, two, 2), "3#0 g;1#0 f;");
	CHECK_STR(names(source, around, 2), "3#0 g;");
	end();
}

/* A program chooses hashes that differ in few bits, to make tables slow. */
void test_lua_names_of_chosen_hashes_have_places_of_their_own(void)
{
	enum { HASHES = 1000, PLACES = 1 << 15 };
	static bool is_taken[PLACES];
	uint32_t places = 0;

	for (uint64_t i = 0; i < HASHES; i++) {
		const uint32_t at = name_set_place(i << 44) % PLACES;

		places += !is_taken[at];
		is_taken[at] = true;
	}
	CHECK(places > HASHES / 2);
}

/* Programs load texts without end: files still get names. */
void test_lua_names_are_limited(void)
{
	struct lua_names n;
	char source[128];

	begin();
	lua_names_init(&n);
	for (unsigned i = 0; i < 200000; i++) {
		snprintf(source, sizeof(source), "function f%u() end", i);
		note(&n, source, 1, 1, 0);
	}
	write_file("d.lua", "function g() end");
	snprintf(source, sizeof(source), "@%s/d.lua", dir);
	note(&n, source, 1, 1, 0);
	CHECK_EQ(n.sources, 8193);
	lua_names_read(&n, say, NULL);
	forget(&n);
	CHECK(strlen(said) > 20 && strncmp(said, "1#0 f0;", 7) == 0);
	end();
}
