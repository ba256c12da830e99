/* diff_match.c - functions are paired by a text that says who they are: first
 * exactly, then, what is left over of other builds, by name.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff_match.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Texts of one side, with the function that each is of. */
struct keys {
	struct arena *arena;
	struct map *by_hash;
	const char **text;       /* by function; NULL: none */
};

enum { KEY_BYTES = 4096, SAME_MAX = 1000 };

/* Several may share a text; more than so many stay unpaired. */
static void put(struct keys *k, func_id id, const char *text)
{
	const uint64_t hash = text_hash(1, text);

	for (uint64_t n = 0; n < SAME_MAX; n++) {
		uint32_t *const at = map_put(k->by_hash, hash, n);

		if (*at != 0)
			continue;
		*at = id;
		k->text[id] = arena_copy(k->arena, text, strlen(text));
		return;
	}
}

/* The nth function of that text, or 0. */
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

/* How many of its side, before it, have its text. */
static uint64_t place_of(const struct keys *k, func_id id)
{
	uint64_t n = 0;

	while (find(k, k->text[id], n) != id)
		n++;
	return n;
}

static void exact_key(struct session *s, func_id id, char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);
	const struct elf_module *const m = func_elf(s->funcs, f->module);
	char hex[2 * sizeof(m->build_id) + 1] = "";

	for (size_t i = 0; i < m->build_id_size && i < sizeof(m->build_id); i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	snprintf(key, KEY_BYTES, "%d|%s|%.1000s|%" PRIx64 "|%.1000s|%" PRIx64
		 "|%" PRIu64 "|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%.1000s",
		 (int)f->kind,
		 hex, hex[0] == '\0' ? m->path : "", f->offset, f->source,
		 f->source_hash, f->source_length, f->line, f->last_line,
		 f->ordinal, f->kind >= FUNC_MARK ? f->name : "");
}

/* Its build-id's first 16 bytes. */
static uint32_t *module_at(struct map *map, const struct elf_module *m)
{
	uint64_t key[2];

	memcpy(key, m->build_id, sizeof(key));
	return map_put(map, key[0], key[1]);
}

/* "" for what has no name to go by. */
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

static void init_keys(struct keys *k, size_t funcs)
{
	k->arena = arena_new();
	k->by_hash = map_new();
	k->text = mem_alloc((funcs + 1) * sizeof(*k->text));
}

static void fini_keys(struct keys *k)
{
	arena_free(k->arena);
	map_free(k->by_hash);
	mem_free(k->text);
}

static void add_pair(struct diff_matches *p, func_id before, func_id after)
{
	p->pairs[p->count] = (struct diff_match){ { before, after } };
	if (before > 0)
		p->of[0][before] = (uint32_t)p->count;
	if (after > 0)
		p->of[1][after] = (uint32_t)p->count;
	p->count++;
}

/* Pair those that have no pair yet and bear the same text. */
static void pair_by(struct diff_matches *p, struct session *const side[2],
		    const uint8_t *const is_open[2],
		    void (*key_of)(struct session *, func_id, char *))
{
	struct keys keys[2];
	char key[KEY_BYTES];

	for (int i = 0; i < 2; i++) {
		init_keys(&keys[i], func_count(side[i]->funcs));
		for (func_id f = 1; f <= func_count(side[i]->funcs); f++) {
			if (p->of[i][f] != 0 || !is_open[i][f])
				continue;
			key_of(side[i], f, key);
			if (key[0] != '\0')
				put(&keys[i], f, key);
		}
	}
	for (func_id f = 1; f <= func_count(side[0]->funcs); f++) {
		const func_id other = !keys[0].text[f] ? 0 :
			find(&keys[1], keys[0].text[f], place_of(&keys[0], f));

		if (other > 0)
			add_pair(p, f, other);
	}
	fini_keys(&keys[0]);
	fini_keys(&keys[1]);
}

/* Which functions of a side may be paired by name: not those of a module that
 * is on the other side, too. What that one lacks of it did not run there. */
static void close_shared(struct session *const side[2], uint8_t *const open[2])
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

			open[i][f] = m->build_id_size == 0 ||
				     *module_at(shared, m) == 0;
		}
		map_free(shared);
	}
}

void diff_match_init(struct diff_matches *p, struct session *const side[2])
{
	uint8_t *open[2];
	size_t all = 1;

	for (int i = 0; i < 2; i++) {
		const size_t funcs = func_count(side[i]->funcs) + 1;

		p->of[i] = mem_alloc(funcs * sizeof(*p->of[i]));
		open[i] = mem_alloc(funcs);
		memset(open[i], 1, funcs);
		all += funcs;
	}
	p->pairs = mem_alloc(all * sizeof(*p->pairs));
	p->count = 1;
	pair_by(p, side, (const uint8_t *const *)open, exact_key);
	close_shared(side, open);
	pair_by(p, side, (const uint8_t *const *)open, name_key);
	for (int i = 0; i < 2; i++)
		for (func_id f = 1; f <= func_count(side[i]->funcs); f++)
			if (p->of[i][f] == 0)
				add_pair(p, i == 0 ? f : 0, i == 0 ? 0 : f);
	mem_free(open[0]);
	mem_free(open[1]);
}

void diff_match_fini(struct diff_matches *p)
{
	mem_free(p->pairs);
	mem_free(p->of[0]);
	mem_free(p->of[1]);
}
