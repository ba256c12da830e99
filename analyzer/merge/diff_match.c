/* diff_match.c - matches functions by a text that identifies them: first by an
 * exact one, then, for those of other builds that are left, by their place in a
 * Lua source, then by name.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff_match.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* KEY_BYTES: longer keys are cut, and their functions count as of one name.
 * SAME_MAX: of functions that share a text, more stay without a match, because
 * finding the nth takes n steps. */
enum { KEY_BYTES = 4096, SAME_MAX = 1000 };

/* ---- keys ---- */

/* The texts of one side. */
struct keys {
	struct arena *arena;
	struct map *by_hash;     /* hash of a text, n: the nth function of it */
	const char **text;       /* by function; NULL: none */
	uint32_t *rank;          /* how many of its text were put before it */
};

static void init_keys(struct keys *k, size_t funcs)
{
	k->arena = arena_new();
	k->by_hash = map_new();
	k->text = mem_alloc((funcs + 1) * sizeof(*k->text));
	k->rank = mem_alloc((funcs + 1) * sizeof(*k->rank));
}

static void fini_keys(struct keys *k)
{
	arena_free(k->arena);
	map_free(k->by_hash);
	mem_free_all(k->text, k->rank);
}

/* Remember the text of a function. Functions of one text, or of two texts with
 * one hash, stand behind each other: n counts them. */
static void put(struct keys *k, func_id id, const char *text)
{
	const uint64_t hash = text_hash(1, text);

	for (uint64_t n = 0; n < SAME_MAX; n++) {
		uint32_t *const at = map_put(k->by_hash, hash, n);

		if (*at != 0) {
			k->rank[id] += strcmp(k->text[*at], text) == 0;
			continue;
		}
		*at = id;
		k->text[id] = arena_copy(k->arena, text, strlen(text));
		return;
	}
}

/* The nth function of that text, from 0 on; 0 if there is none. */
static func_id find(const struct keys *k, const char *text, uint64_t nth)
{
	const uint64_t hash = text_hash(1, text);

	for (uint64_t n = 0;; n++) {
		const func_id id = map_find(k->by_hash, hash, n);

		if (id == 0)
			return 0;
		if (strcmp(k->text[id], text) == 0 && nth-- == 0)
			return id;
	}
}

/* All that identifies a function. A module without a build-id is identified by
 * its path; marks and special functions have their name alone. */
static void exact_key(struct session *s, func_id id, char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);
	const struct elf_module *const m = func_elf(s->funcs, f->module);
	char hex[2 * sizeof(m->build_id) + 1];

	text_hex(m->build_id, m->build_id_size, hex);
	snprintf(key, KEY_BYTES, "%d|%s|%.1000s|%" PRIx64 "|%.1000s|%" PRIx64
		 "|%" PRIu64 "|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%.1000s",
		 (int)f->kind,
		 hex, hex[0] == '\0' ? m->path : "", f->offset, f->source,
		 f->source_hash, f->source_length, f->line, f->last_line,
		 f->ordinal, f->kind >= FUNC_NAME ? f->name : "");
}

/* What a Lua function keeps if only its body is edited, or others of its source
 * are: the hash of a source that has no file may be that of the body. */
static void place_key(struct session *s, func_id id, char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_LUA && f->line != UINT32_MAX)
		snprintf(key, KEY_BYTES, "p|%.1000s|%" PRIu32 "|%" PRIu32 "|%"
			 PRIu32 "|%.1000s", f->source, f->line, f->last_line,
			 f->ordinal, f->hint);
}

/* What a function keeps from build to build. Lines are no part of it: they move
 * with every change above them. A main chunk of Lua begins on line 0, and its
 * source names it. "" for a function that has no name to go by. The letter
 * keeps kinds apart. */
static void name_key(struct session *s, func_id id, char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_NATIVE || f->kind == FUNC_CODE)
		snprintf(key, KEY_BYTES, "n|%.3000s|%.1000s", f->name,
			 text_base_name(f->file));
	else if (f->kind == FUNC_LUA && f->hint[0] != '\0')
		snprintf(key, KEY_BYTES, "l|%.1000s|%.1000s", f->source,
			 f->hint);
	else if (f->kind == FUNC_LUA && f->line == 0)
		snprintf(key, KEY_BYTES, "m|%.1000s", f->source);
}

/* What it keeps where its source file has another name. */
static void moved_key(struct session *s, func_id id, char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_NATIVE)
		snprintf(key, KEY_BYTES, "n|%.3000s", f->name);
}

/* ---- matches ---- */

static void add_match(struct diff_matches *m, func_id before, func_id after)
{
	m->list[m->count] = (struct diff_match){ { before, after } };
	if (before > 0)
		m->of[0][before] = (uint32_t)m->count;
	if (after > 0)
		m->of[1][after] = (uint32_t)m->count;
	m->count++;
}

/* Match functions that have no match yet, are open to it and have the same
 * key. The first of several functions with one key matches the first of the
 * other side, and so on. */
static void match_by(struct diff_matches *m, struct session *const side[2],
		     const bool *const is_open[2],
		     void (*key_of)(struct session *, func_id, char *))
{
	struct keys keys[2];
	char key[KEY_BYTES];

	for (int i = 0; i < 2; i++) {
		init_keys(&keys[i], func_count(side[i]->funcs));
		for (func_id f = 1; f <= func_count(side[i]->funcs); f++) {
			if (m->of[i][f] != 0 || !is_open[i][f])
				continue;
			key_of(side[i], f, key);
			if (key[0] != '\0')
				put(&keys[i], f, key);
		}
	}
	for (func_id f = 1; f <= func_count(side[0]->funcs); f++) {
		const func_id other = !keys[0].text[f] ? 0 :
			find(&keys[1], keys[0].text[f], keys[0].rank[f]);

		if (other > 0)
			add_match(m, f, other);
	}
	fini_keys(&keys[0]);
	fini_keys(&keys[1]);
}

/* Modules are told apart by the first 16 bytes of their build-ids: that is all
 * a map's key holds, and equal ones are no accident. */
static uint32_t *module_at(struct map *map, const struct elf_module *m)
{
	uint64_t key[2];

	memcpy(key, m->build_id, sizeof(key));
	return map_put(map, key[0], key[1]);
}

/* Functions of a module that both sides have do not match by name: one that the
 * other side lacks did not run there. Lua functions are in no module, and stay
 * open. */
static void close_shared(struct session *const side[2], bool *const is_open[2])
{
	for (int i = 0; i < 2; i++) {
		struct func_table *const t = side[i]->funcs;
		struct func_table *const other = side[!i]->funcs;
		struct map *const shared = map_new();

		for (elf_id m = 1; m <= func_elf_count(other); m++)
			*module_at(shared, func_elf(other, m)) = 1;
		for (func_id f = 1; f <= func_count(t); f++) {
			const struct elf_module *const m =
				func_elf(t, func_get(t, f)->module);

			is_open[i][f] = m->build_id_size == 0 ||
					*module_at(shared, m) == 0;
		}
		map_free(shared);
	}
}

/* Exact matches come first, so that a name never takes a function away from its
 * own. Those that are left are alone in their match. */
void diff_match_init(struct diff_matches *m, struct session *const side[2])
{
	bool *is_open[2];
	size_t all = 1;

	for (int i = 0; i < 2; i++) {
		const size_t funcs = func_count(side[i]->funcs) + 1;

		m->of[i] = mem_alloc(funcs * sizeof(*m->of[i]));
		is_open[i] = mem_alloc(funcs * sizeof(bool));
		memset(is_open[i], true, funcs * sizeof(bool));
		all += funcs;
	}
	m->list = mem_alloc(all * sizeof(*m->list));
	m->count = 1;
	match_by(m, side, (const bool *const *)is_open, exact_key);
	close_shared(side, is_open);
	match_by(m, side, (const bool *const *)is_open, place_key);
	match_by(m, side, (const bool *const *)is_open, name_key);
	match_by(m, side, (const bool *const *)is_open, moved_key);
	for (int i = 0; i < 2; i++)
		for (func_id f = 1; f <= func_count(side[i]->funcs); f++)
			if (m->of[i][f] == 0)
				add_match(m, i == 0 ? f : 0, i == 0 ? 0 : f);
	assert(m->count <= all);
	mem_free_all(is_open[0], is_open[1]);
}

void diff_match_fini(struct diff_matches *m)
{
	mem_free_all(m->list, m->of[0], m->of[1]);
}
