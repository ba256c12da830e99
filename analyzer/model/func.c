/* func.c - the table of functions and modules: an identity is found by its
 * hash, then compared whole. Knows nothing of chunks or symbols.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/func.h"
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/base/text.h"

#include <string.h>

/* Invariants: funcs[0] and modules[0] are none; ids run to the counts. chain
 * links functions (modules) whose identity has the same hash. */
struct func_table {
	struct arena *arena;
	struct func *funcs;
	size_t count, room;
	struct elf_module *modules;
	size_t module_count, module_room;
	func_id *chain;
	size_t chain_room;
	elf_id *module_chain;
	size_t module_chain_room;
	struct map *by_hash, *module_by_hash;
	struct map *hinted;      /* how often, by function and hint */
	/* Native functions that were asked for lately: dictionaries of chunks
	 * name the same ones again and again. */
	struct { uint64_t offset; elf_id module; func_id id; } recent[1024];
};

struct func_table *func_table_new(void)
{
	struct func_table *const t = mem_alloc(sizeof(*t));

	t->arena = arena_new();
	t->by_hash = map_new();
	t->module_by_hash = map_new();
	t->hinted = map_new();
	return t;
}

void func_table_free(struct func_table *t)
{
	if (!t)
		return;
	arena_free(t->arena);
	map_free(t->by_hash);
	map_free(t->module_by_hash);
	map_free(t->hinted);
	mem_free_all(t->funcs, t->modules, t->chain, t->module_chain, t);
}

struct func *func_get(struct func_table *t, func_id id)
{
	static struct func none = { .source = "", .hint = "", .name = "",
				      .file = "" };

	return id > 0 && id <= t->count ? &t->funcs[id] : &none;
}

size_t func_count(const struct func_table *t)
{
	return t->count;
}

bool func_is_special(struct func_table *t, func_id id, const char *name)
{
	const struct func *const f = func_get(t, id);

	return f->kind == FUNC_SPECIAL && strcmp(f->name, name) == 0;
}

bool func_is_libc(struct func_table *t, func_id id)
{
	const struct func *const f = func_get(t, id);
	const char *const name = f->kind != FUNC_NATIVE ? "" :
				 text_base_name(func_elf(t, f->module)->path);

	return strncmp(name, "libc.so", 7) == 0 ||
	       strncmp(name, "libc-2.", 7) == 0;
}

/* Does what opens at p belong to a type, "decltype (...)", and not to the
 * parameters? */
static bool is_of_type(const char *signature, const char *p)
{
	static const char word[8] = "decltype";

	p -= p > signature && p[-1] == ' ';
	return p - signature >= (ptrdiff_t)sizeof(word) &&
	       memcmp(p - sizeof(word), word, sizeof(word)) == 0;
}

/* A function's name in a signature, after what it returns. */
static const char *own_name(const char *signature)
{
	const char *name = signature;
	int depth = 0;

	for (const char *c = signature; *c && (*c != '(' || depth > 0 ||
					is_of_type(signature, c)); c++) {
		depth += (*c == '<' || *c == '(') - (*c == ')' ||
			(*c == '>' && (c == signature || c[-1] != '-')));
		if (*c == ' ' && depth == 0)
			name = c + 1;
	}
	return name;
}

bool func_is_library(struct func_table *t, func_id id)
{
	const char *const name = own_name(func_get(t, id)->name);

	return func_is_libc(t, id) || text_begins(name, "std::") ||
	       text_begins(name, "__gnu_cxx::") ||
	       text_begins(name, "__gthread_");
}

bool func_elf_is_lua(struct func_table *t, elf_id id)
{
	const char *name = text_base_name(func_elf(t, id)->path);

	name += text_begins(name, "lib") ? 3 : 0;
	if (!text_begins(name, "lua"))
		return false;
	name += text_begins(name, "luajit") ? 6 : 3;
	name += *name == '-';
	name += strspn(name, "0123456789.");
	return *name == '\0' || text_begins(name, "so") ||
	       text_begins(name, "-beta") || text_begins(name, "-c++");
}

struct elf_module *func_elf(struct func_table *t, elf_id id)
{
	static char no_path[] = "";
	static struct elf_module none;

	none.path = no_path;
	return id > 0 && id <= t->module_count ? &t->modules[id] : &none;
}

size_t func_elf_count(const struct func_table *t)
{
	return t->module_count;
}

/* A build-id is the module's identity wherever it lies; without one it is the
 * path and the size. */
static bool same_module(const struct elf_module *a, const struct elf_module *b)
{
	if (a->build_id_size != b->build_id_size)
		return false;
	if (a->build_id_size > 0)
		return !memcmp(a->build_id, b->build_id, a->build_id_size);
	return a->size == b->size && !strcmp(a->path, b->path);
}

static uint64_t hash_module(const struct elf_module *m)
{
	return m->build_id_size > 0 ?
		text_hash_bytes(1, m->build_id, m->build_id_size) :
		text_hash(m->size, m->path);
}

static elf_id add_module(struct func_table *t, const struct elf_module *m,
			 uint32_t *head)
{
	const size_t id = t->module_count + 1;

	vec_need(&t->modules, &t->module_room, id + 1);
	vec_need(&t->module_chain, &t->module_chain_room, id + 1);
	t->modules[id] = *m;
	t->modules[id].path = arena_copy(t->arena, m->path, strlen(m->path));
	t->module_chain[id] = *head;
	t->module_count = id;
	*head = (elf_id)id;
	return (elf_id)id;
}

elf_id func_module(struct func_table *t, const char *path,
		   const uint8_t *build_id, size_t build_id_size,
		   uint64_t size)
{
	struct elf_module m = { .path = (char *)(uintptr_t)path, .size = size };
	uint32_t *head;

	if (build_id_size > sizeof(m.build_id))
		build_id_size = sizeof(m.build_id);
	if (build_id_size > 0)
		memcpy(m.build_id, build_id, build_id_size);
	m.build_id_size = (uint8_t)build_id_size;
	head = map_put(t->module_by_hash, hash_module(&m), 0);
	for (elf_id id = *head; id; id = t->module_chain[id])
		if (same_module(&t->modules[id], &m))
			return id;
	return add_module(t, &m, head);
}

/* Names count only where nothing else tells functions apart. */
static bool same_func(const struct func *a, const struct func *b)
{
	return a->kind == b->kind && a->module == b->module &&
	       a->offset == b->offset && a->source_hash == b->source_hash &&
	       a->source_length == b->source_length && a->line == b->line &&
	       a->last_line == b->last_line && a->ordinal == b->ordinal &&
	       !strcmp(a->source, b->source) &&
	       (a->kind < FUNC_NAME || !strcmp(a->name, b->name));
}

/* Equal functions have equal keys. */
static void hash_func(const struct func *f, uint64_t key[2])
{
	key[0] = (uint64_t)f->kind << 60 ^ (uint64_t)f->module << 40 ^
		 f->offset;
	key[1] = f->source_hash ^ (uint64_t)f->line << 32 ^ f->last_line ^
		 (uint64_t)f->ordinal << 48;
	if (f->kind >= FUNC_NAME)
		key[1] ^= text_hash(1, f->name);
}

/* The strings of a new function become the table's; source is stored bytes
 * long and may hold NULs. */
static func_id add_func(struct func_table *t, const struct func *f,
			size_t stored, uint32_t *head)
{
	const size_t id = t->count + 1;

	vec_need(&t->funcs, &t->room, id + 1);
	vec_need(&t->chain, &t->chain_room, id + 1);
	t->funcs[id] = *f;
	t->funcs[id].source = stored ?
		arena_copy(t->arena, f->source, stored) : "";
	t->funcs[id].hint = *f->hint ?
		arena_copy(t->arena, f->hint, strlen(f->hint)) : "";
	t->funcs[id].name = *f->name ?
		arena_copy(t->arena, f->name, strlen(f->name)) : "";
	t->chain[id] = *head;
	t->count = id;
	*head = (func_id)id;
	return (func_id)id;
}

/* source has `stored` bytes. */
static func_id find_or_add(struct func_table *t, const struct func *f,
			   size_t stored)
{
	uint64_t key[2];
	uint32_t *head;

	hash_func(f, key);
	head = map_put(t->by_hash, key[0], key[1]);
	for (func_id id = *head; id; id = t->chain[id])
		if (same_func(&t->funcs[id], f))
			return id;
	return add_func(t, f, stored, head);
}

static struct func blank(enum func_kind kind)
{
	return (struct func){ .kind = kind, .source = "", .hint = "",
			      .name = "", .file = "" };
}

func_id func_native(struct func_table *t, elf_id module, uint64_t offset)
{
	struct func f = blank(FUNC_NATIVE);
	const size_t at = (offset >> 2 ^ offset >> 12 ^ module) %
			  (sizeof(t->recent) / sizeof(t->recent[0]));

	if (t->recent[at].id == 0 || t->recent[at].offset != offset ||
	    t->recent[at].module != module) {
		f.module = module;
		f.offset = offset;
		t->recent[at].id = find_or_add(t, &f, 0);
		t->recent[at].offset = offset;
		t->recent[at].module = module;
	}
	return t->recent[at].id;
}

func_id func_code(struct func_table *t, uint64_t address)
{
	struct func f = blank(FUNC_CODE);

	f.offset = address;
	return find_or_add(t, &f, 0);
}

func_id func_lua(struct func_table *t, const struct func_origin *o,
		 const char *hint)
{
	char text[257] = "";
	const size_t stored = o->stored < 256 ? o->stored : 256;
	struct func f = blank(FUNC_LUA);

	memcpy(text, o->source, stored);
	f.source = text;
	f.source_length = o->length;
	f.source_hash = o->hash;
	f.line = o->line;
	f.last_line = o->last_line;
	f.ordinal = o->ordinal;
	const func_id id = find_or_add(t, &f, stored);

	func_hint(t, id, hint);
	return id;
}

func_id func_name(struct func_table *t, const char *name)
{
	struct func f = blank(FUNC_NAME);

	f.name = name;
	return find_or_add(t, &f, 0);
}

func_id func_special(struct func_table *t, const char *name)
{
	struct func f = blank(FUNC_SPECIAL);

	f.name = name;
	return find_or_add(t, &f, 0);
}

func_id func_like(struct func_table *t, const struct func *f, elf_id module)
{
	switch (f->kind) {
	case FUNC_NATIVE:
		return func_native(t, module, f->offset);
	case FUNC_CODE:
		return func_code(t, f->offset);
	case FUNC_LUA:
		return func_lua(t, &(struct func_origin){ f->source,
			strlen(f->source), f->source_length, f->source_hash,
			f->line, f->last_line, f->ordinal }, "");
	case FUNC_NAME:
		return func_name(t, f->name);
	case FUNC_NONE:
	case FUNC_SPECIAL:
		break;
	}
	return func_special(t, f->name);
}

void func_set_untold_return(struct func_table *t, func_id id)
{
	if (id > 0 && id <= t->count)
		t->funcs[id].untold_return = 1;
}

static void set_hint(struct func_table *t, func_id id, const char *hint,
		     uint32_t times)
{
	struct func *const f = &t->funcs[id];

	if (strcmp(f->hint, hint) != 0)
		f->hint = arena_copy(t->arena, hint, strlen(hint));
	f->hints = times;
}

void func_hint(struct func_table *t, func_id id, const char *hint)
{
	const struct func *const f = func_get(t, id);
	uint32_t *times;

	if (id == 0 || id > t->count || !*hint || f->hints == UINT32_MAX)
		return;
	times = map_put(t->hinted, id, text_hash(1, hint));
	++*times;
	if (*times > f->hints ||
	    (*times == f->hints && strcmp(hint, f->hint) < 0))
		set_hint(t, id, hint, *times);
}

/* No number of hints is more. */
void func_define(struct func_table *t, func_id id, const char *name)
{
	if (id > 0 && id <= t->count && *name)
		set_hint(t, id, name, UINT32_MAX);
}

/* LuaJIT's libraries are as native as those of other Luas, though a part of
 * them is no code of the ELF module, or is written in Lua: it has no lines. */
const char *func_language(const struct func *f)
{
	const bool is_library = f->line == UINT32_MAX &&
				f->last_line == UINT32_MAX;

	switch (f->kind) {
	case FUNC_NATIVE:
	case FUNC_CODE:
		return "native";
	case FUNC_LUA:
		return is_library ? "native" : "lua";
	case FUNC_NAME:
		return "zone";
	default:
		return "";
	}
}
