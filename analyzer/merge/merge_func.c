/* merge_func.c - the functions and modules of a session among those of a sum:
 * who is who, and which of several names stands for all.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <string.h>

const char *merge_first(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return a[0] == '\0' ? b : a;
	return strcmp(a, b) <= 0 ? a : b;
}

/* Take the text if it is to stand for both. */
static void put_first(const struct merge *c, const char **at,
		      const char *text)
{
	if (merge_first(*at, text) != *at)
		*at = merge_own(c, text);
}

static void add_naming(struct merge *c, elf_id id,
		       const struct session *from, elf_id other)
{
	struct session *const s = c->sum;
	struct naming *to;

	vec_need(&s->namings, &c->naming_room, id);
	for (; s->naming_count < id; s->naming_count++)
		s->namings[s->naming_count] = (struct naming){ "", "", 0, 0, 0,
							       0 };
	if (other > from->naming_count)
		return;
	to = &s->namings[id - 1];
	put_first(c, &to->file, from->namings[other - 1].file);
	put_first(c, &to->why, from->namings[other - 1].why);
	to->is_refused |= from->namings[other - 1].is_refused;
}

static void add_modules(struct merge *c, struct session *from, elf_id *map)
{
	for (elf_id i = 1; i <= func_elf_count(from->funcs); i++) {
		const struct elf_module *const m = func_elf(from->funcs, i);
		struct elf_module *to;

		map[i] = func_module(c->sum->funcs, m->path, m->build_id,
				     m->build_id_size, m->size);
		to = func_elf(c->sum->funcs, map[i]);
		if (m->size > to->size)
			to->size = m->size;
		if (merge_first(to->path, m->path) != to->path)
			to->path = arena_copy(c->sum->text, m->path,
					      strlen(m->path));
		add_naming(c, map[i], from, i);
	}
}

/* A name that comes with its file is better than one that does not; of two as
 * good ones the first. */
static int is_better(const struct func *a, const struct func *b)
{
	int order;

	if (b->name[0] == '\0' || (a->file[0] != '\0') != (b->file[0] != '\0'))
		return b->name[0] == '\0' || a->file[0] != '\0';
	order = strcmp(a->name, b->name);
	if (order == 0)
		order = strcmp(a->file, b->file);
	return order < 0 || (order == 0 && a->file_line < b->file_line);
}

static void add_funcs(struct merge *c, struct session *from,
		      const elf_id *module, func_id *map)
{
	for (func_id i = 1; i <= func_count(from->funcs); i++) {
		const struct func *const f = func_get(from->funcs, i);
		struct func *to;

		map[i] = func_like(c->sum->funcs, f, module[f->module]);
		to = func_get(c->sum->funcs, map[i]);
		put_first(c, &to->hint, f->hint);
		to->untold_return |= f->untold_return;
		if (!is_better(f, to))
			continue;
		to->name = merge_own(c, f->name);
		to->file = merge_own(c, f->file);
		to->file_line = f->file_line;
	}
}

void merge_func_join(struct merge *c, struct session *from,
		       elf_id *module, func_id *func)
{
	add_modules(c, from, module);
	add_funcs(c, from, module, func);
}
