/* test_verdict.c - the table of verdicts, and the patterns that fill it.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/pattern.h"
#include "tracepoints/verdict.h"

#include <stdlib.h>

enum { SLOTS = 1024 };

static _Atomic uint64_t table[SLOTS];

static uint64_t id_of(uint64_t i)
{
	return verdict_of_native(UINT64_C(0x1234567890abcdef), 0x1000 + 16 * i);
}

static bool known;

static enum verdict find(uint64_t id)
{
	return verdict_find(table, SLOTS, id, &known);
}

/* What is set is found, until there is no room; the others are recorded. */
void test_verdict_is_found_or_refused(void)
{
	unsigned set = 0;

	for (size_t i = 0; i < SLOTS; i++)
		table[i] = 0;
	for (uint64_t i = 0; i < 2 * SLOTS; i++) {
		const bool done = verdict_set(table, SLOTS, id_of(i),
					      i % 2 ? VERDICT_SKIP :
					      VERDICT_COUNT);

		set += done;
		CHECK(find(id_of(i)) ==
		      (!done ? VERDICT_RECORD : i % 2 ? VERDICT_SKIP :
		       VERDICT_COUNT));
	}
	CHECK(set > SLOTS / 2 && set <= SLOTS);
	CHECK(find(id_of(5 * SLOTS)) == VERDICT_RECORD && !known);
	CHECK(verdict_set(table, SLOTS, id_of(1), VERDICT_RECORD));
	CHECK(find(id_of(1)) == VERDICT_RECORD && known);
}

/* Any program may write to the table: no look is longer for it, or leads out of
 * it. */
void test_verdict_table_of_any_words(void)
{
	srand(7);
	for (size_t i = 0; i < SLOTS; i++)
		table[i] = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 2 ^
			   (uint64_t)rand();
	for (uint64_t i = 0; i < 10000; i++) {
		CHECK((find(id_of(i)) & ~3u) == 0);
		verdict_set(table, SLOTS, id_of(i), VERDICT_SKIP);
	}
}

/* Does one of the alternatives match the native function, or Lua's? */
static bool is_native(const char *text, const char *name)
{
	bool is = false;

	while (text) {
		const struct pattern a = pattern_next(&text);

		is |= a.of == PATTERN_NAME && pattern_match_name(&a, name);
	}
	return is;
}

static bool is_lua(const char *text, const char *name)
{
	const struct pattern a = pattern_next(&text);

	return pattern_match_lua(&a, name, name + strlen(name));
}

void test_pattern_names_functions(void)
{
	CHECK(is_native("f", "f") && !is_native("f", "ff"));
	CHECK(is_native("a|f*", "ff") && is_native("?f|", "ff"));
	CHECK(is_native("f", "f(int)") && !is_native("f", "g(f)"));
	CHECK(is_native("f", "f <x.lua:3>"));
	CHECK(is_native("*::operator()", "gear::operator()(long)"));
	CHECK(is_lua("work", "M.work") && is_lua("M.work", "M.work"));
	CHECK(is_lua("work", "M:work") && !is_lua("work", "M.rework"));
}

void test_pattern_has_a_key(void)
{
	const char *text = "module=lib*|file=a.c||language=lua|f";
	static const enum pattern_of of[] = { PATTERN_MODULE, PATTERN_FILE,
		PATTERN_NAME, PATTERN_LANGUAGE, PATTERN_NAME };
	static const char *const rest[] = { "lib*", "a.c", "", "lua", "f" };

	for (size_t i = 0; i < 5; i++) {
		const struct pattern a = pattern_next(&text);

		CHECK(a.of == of[i]);
		CHECK((size_t)(a.end - a.p) == strlen(rest[i]));
		CHECK(strncmp(a.p, rest[i], strlen(rest[i])) == 0);
		if (i == 0)
			CHECK(pattern_match_path(&a, "/usr/lib/libz.so.1"));
	}
	CHECK(!text);
}

void test_pattern_split_looks_names_up(void)
{
	const char *const text = "g|f*|module=m|ff|a|";
	struct pattern all[7];
	const struct pattern *const names = &all[2];

	CHECK(pattern_room(text) == 7 && pattern_room(NULL) == 0);
	CHECK(pattern_split(text, all) == 3 && pattern_split(NULL, all) == 0);
	CHECK(pattern_match_text(&all[0], "fg"));
	CHECK(all[1].of == PATTERN_MODULE);
	CHECK(names->of == PATTERN_NAME && names->count == 4);
	CHECK(pattern_match_name(names, "g(int)"));
	CHECK(pattern_match_text(names, "ff") && pattern_match_text(names, ""));
	CHECK(!pattern_match_text(names, "f") &&
	      !pattern_match_text(names, "gg"));
}
