/* diff_match.c - matches functions by a text that identifies them: first by an
 * exact one, then, for those of other builds that are left, by their place in a
 * Lua source, then by name, then by a part of either where only one is left,
 * and last across Lua sources.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff_match.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* KEY_BYTES: longer keys are cut, and their functions count as of one name.
 * PARTS: so many last parts of its path tell a Lua source from others; WHOLE:
 * its whole name does. */
enum { KEY_BYTES = 4096, PARTS = 8, WHOLE = -1 };

/* ---- keys ---- */

/* All that identifies a function. A module without a build-id is identified by
 * its path; marks and special functions have their name alone. */
static void exact_key(struct session *s, func_id id, const char *source,
		      char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);
	const struct elf_module *const m = func_elf(s->funcs, f->module);
	char hex[2 * sizeof(m->build_id) + 1];

	text_hex(m->build_id, m->build_id_size, hex);
	snprintf(key, KEY_BYTES, "%d|%s|%.1000s|%" PRIx64 "|%.1000s|%" PRIx64
		 "|%" PRIu64 "|%" PRIu32 "|%" PRIu32 "|%" PRIu32 "|%.1000s",
		 (int)f->kind,
		 hex, hex[0] == '\0' ? m->path : "", f->offset, source,
		 f->source_hash, f->source_length, f->line, f->last_line,
		 f->ordinal, f->kind >= FUNC_NAME ? f->name : "");
}

/* What a Lua function keeps if only its body is edited, or others of its source
 * are: the hash of a source that has no file may be that of the body. */
static void place_key(struct session *s, func_id id, const char *source,
		      char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_LUA && f->line != UINT32_MAX)
		snprintf(key, KEY_BYTES, "p|%.1000s|%" PRIu32 "|%" PRIu32 "|%"
			 PRIu32 "|%.1000s", source, f->line, f->last_line,
			 f->ordinal, f->hint);
}

/* What a function keeps from build to build. Lines are no part of it: they move
 * with every change above them. A main chunk of Lua begins on line 0, and its
 * source names it. "" for a function that has no name to go by. The letter
 * keeps kinds apart. */
static void name_key(struct session *s, func_id id, const char *source,
		     char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_NATIVE || f->kind == FUNC_CODE)
		snprintf(key, KEY_BYTES, "n|%.3000s|%.1000s", f->name,
			 text_base_name(f->file));
	else if (f->kind == FUNC_LUA && f->hint[0] != '\0')
		snprintf(key, KEY_BYTES, "l|%.1000s|%.1000s", source, f->hint);
	else if (f->kind == FUNC_LUA && f->line == 0)
		snprintf(key, KEY_BYTES, "m|%.1000s", source);
}

/* What it keeps where its source file has another name. */
static void moved_key(struct session *s, func_id id,
		      const char *source __attribute__((unused)),
		      char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_NATIVE)
		snprintf(key, KEY_BYTES, "n|%.3000s", f->name);
}

/* A C++ name without what templates are given, which stands between < and >. In
 * front of a lone one there is an operator, or the arrow of ->. */
static void without_arguments(const char *name, char *to)
{
	static const char operator[] = "operator";
	size_t depth = 0, length;

	while (*name != '\0') {
		length = text_begins(name, operator) ? strlen(operator) : 0;
		length += length ? strspn(name + length, "<>=-") : 1;
		length += *name == '-' && name[1] == '>';
		depth += length == 1 && *name == '<';
		if (depth == 0) {
			memcpy(to, name, length);
			to += length;
		}
		depth -= length == 1 && *name == '>' && depth > 0;
		name += length;
	}
	*to = '\0';
}

/* What it keeps if its template has other arguments; or of a Lua function, its
 * place, under another name. */
static void other_key(struct session *s, func_id id, const char *source,
		      char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);
	char bare[KEY_BYTES];

	place_key(s, id, source, key);
	if (key[0] != '\0')
		key[strlen(key) - strnlen(f->hint, 1000)] = '\0';
	if (f->kind != FUNC_NATIVE || strlen(f->name) >= 3000)
		return;
	without_arguments(f->name, bare);
	snprintf(key, KEY_BYTES, "n|%.3000s|%.1000s", bare,
		 text_base_name(f->file));
}

/* What a Lua function without a name keeps on another line. */
static void nameless_key(struct session *s, func_id id, const char *source,
			 char key[KEY_BYTES])
{
	const struct func *const f = func_get(s->funcs, id);

	key[0] = '\0';
	if (f->kind == FUNC_LUA && f->hint[0] == '\0' &&
	    f->line != UINT32_MAX && f->line > 0)
		snprintf(key, KEY_BYTES, "f|%.1000s", source);
}

/* The last so many parts of a source's path, which follows a letter; NULL if it
 * has not as many. */
static const char *last_parts(const char *path, int parts)
{
	const char *at = path + strlen(path);

	if (parts == WHOLE)
		return path;
	path += path[0] != '\0';
	while (at > path && parts > 0)
		parts -= *--at == '/' || at == path;
	return parts > 0 ? NULL : *at == '/' ? at + 1 : at;
}

/* ---- matches ---- */

/* The functions of one key. It is known by 128 bits of hash: who makes two keys
 * of one hash has functions of his own trace mistaken. */
struct group {
	uint32_t count[2];       /* by side */
	const char *source[2];
	bool is_mixed;           /* a side has it in more than one source */
};

typedef void key_fn(struct session *, func_id, const char *, char *);

/* One round: functions that are open match if they have the same key. */
struct round {
	struct session *const *side;
	bool *const *is_open;    /* by side and function */
	key_fn *key_of;
	int parts;               /* how much of a source's path is in a key */
	bool is_strict;          /* only if both sides have as many of a key,
	                          * each in one source */
	bool is_only;            /* only if each has one that has no match */
	struct map *by_key, *by_rank; /* group + 1; by group, rank: function of
	                          * the side after */
	struct group *groups;
	size_t count, room;
	uint32_t *group[2], *rank[2]; /* by side and function: its group + 1,
	                          * and how many of it come before */
};

static void add_match(struct diff_matches *m, func_id before, func_id after)
{
	m->list[m->count] = (struct diff_match){ { before, after } };
	if (before > 0)
		m->of[0][before] = (uint32_t)m->count;
	if (after > 0)
		m->of[1][after] = (uint32_t)m->count;
	m->count++;
}

static void put(struct round *r, int side, func_id id, const char *key)
{
	const char *const source = func_get(r->side[side]->funcs, id)->source;
	uint32_t *const at = map_put(r->by_key, text_hash(1, key),
				     text_hash(2, key));
	struct group *g;

	if (*at == 0) {
		*vec_add(&r->groups, &r->room, &r->count) =
			(struct group){ .is_mixed = false };
		*at = (uint32_t)r->count;
	}
	g = &r->groups[*at - 1];
	g->is_mixed |= g->source[side] && strcmp(g->source[side], source) != 0;
	g->source[side] = source;
	r->group[side][id] = *at;
	r->rank[side][id] = g->count[side]++;
	if (side == 1)
		*map_put(r->by_rank, *at, r->rank[side][id]) = id;
}

static int by_line(const void *a, const void *b, void *funcs)
{
	const func_id x = *(const func_id *)a, y = *(const func_id *)b;
	const struct func *const f = func_get(funcs, x);
	const struct func *const g = func_get(funcs, y);

	return ORDER(f->line, g->line) ?: ORDER(f->last_line, g->last_line) ?:
	       ORDER(x, y);
}

/* Those that have a match keep their rank among the others of a strict round:
 * they make a key no rarer. */
static void put_side(struct round *r, const struct diff_matches *m, int side)
{
	struct session *const s = r->side[side];
	const size_t funcs = func_count(s->funcs) + 1;
	func_id *const order = mem_alloc(funcs * sizeof(*order));
	char key[KEY_BYTES];
	size_t count = 0;

	r->group[side] = mem_alloc(funcs * sizeof(uint32_t));
	r->rank[side] = mem_alloc(funcs * sizeof(uint32_t));
	for (func_id f = 1; f < funcs; f++)
		if (r->is_open[side][f] &&
		    (m->of[side][f] == 0 || r->is_strict))
			order[count++] = f;
	qsort_r(order, count, sizeof(*order), by_line, s->funcs);
	for (size_t i = 0; i < count; i++) {
		const char *const source = last_parts(
			func_get(s->funcs, order[i])->source, r->parts);

		key[0] = '\0';
		if (source)
			r->key_of(s, order[i], source, key);
		if (key[0] != '\0')
			put(r, side, order[i], key);
	}
	mem_free(order);
}

/* Match functions that have no match yet. The first of several functions with
 * one key matches the first of the other side, and so on. */
static void match_by(struct diff_matches *m, struct round r, key_fn *key_of)
{
	r.key_of = key_of;
	r.by_key = map_new();
	r.by_rank = map_new();
	put_side(&r, m, 0);
	put_side(&r, m, 1);
	for (func_id f = 1; f <= func_count(r.side[0]->funcs); f++) {
		const uint32_t at = r.group[0][f];
		const struct group *const g = at > 0 ? &r.groups[at - 1] : NULL;
		const func_id other = !g ? 0 :
			map_find(r.by_rank, at, r.rank[0][f]);

		if (other > 0 && m->of[0][f] == 0 && m->of[1][other] == 0 &&
		    !(r.is_strict &&
		      (g->is_mixed || g->count[0] != g->count[1])) &&
		    !(r.is_only && (g->count[0] > 1 || g->count[1] > 1)))
			add_match(m, f, other);
	}
	map_free(r.by_key);
	map_free(r.by_rank);
	mem_free_all(r.groups, r.group[0], r.group[1], r.rank[0], r.rank[1]);
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

/* Only functions of Lua files that the other side does not have match across
 * files: one that a file of both sides lacks did not run there. */
static void open_moved(struct session *const side[2], bool *const is_open[2])
{
	struct map *const sides = map_new();

	for (int turn = 0; turn < 4; turn++) {
		struct func_table *const t = side[turn % 2]->funcs;

		for (func_id id = 1; id <= func_count(t); id++) {
			const struct func *const f = func_get(t, id);
			const char *const source = f->source;
			const bool is_file = f->kind == FUNC_LUA &&
				f->line != UINT32_MAX &&
				(source[0] == '@' || source[0] == '=');
			uint32_t *const at = map_put(sides,
				text_hash(1, source), text_hash(2, source));

			*at |= is_file ? 1U << turn % 2 : 0;
			is_open[turn % 2][id] = is_file &&
						*at == 1U << turn % 2;
		}
	}
	map_free(sides);
}

/* What is left of Lua, in files of another name. The more of two paths is the
 * same, the sooner their functions match; those without a common file name, by
 * their name alone. Places come last: a change above a function moves it. */
static void match_moved(struct diff_matches *m, struct round round)
{
	round.is_strict = true;
	open_moved(round.side, round.is_open);
	for (round.parts = PARTS; round.parts >= 0; round.parts--) {
		match_by(m, round, name_key);
		if (round.parts > 0)
			match_by(m, round, place_key);
	}
}

/* Exact matches come first, so that a name never takes a function away from its
 * own. Those that are left are alone in their match. */
void diff_match_init(struct diff_matches *m, struct session *const side[2])
{
	bool *is_open[2];
	struct round round = { .side = side, .is_open = is_open,
			       .parts = WHOLE };
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
	match_by(m, round, exact_key);
	close_shared(side, is_open);
	match_by(m, round, place_key);
	match_by(m, round, name_key);
	match_by(m, round, moved_key);
	round.is_only = true;
	match_by(m, round, other_key);
	match_by(m, round, nameless_key);
	round.is_only = false;
	match_moved(m, round);
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
