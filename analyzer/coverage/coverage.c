/* coverage.c - all functions of a session's modules, with their calls. Calls come
 * from the tree, functions from the ELF files; the address joins them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/coverage/coverage.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Modules together may take so many times what one may. */
enum { ALL_MODULES = 4 };

static const char *const texts[COLD_WHYS] = {
	[COLD_NEVER] = "never called",
	[COLD_EXCLUDED] = "no_instrument_function or exclude list",
	[COLD_UNFLAGGED] = "built without -finstrument-functions",
	[COLD_UNHOOKED] = "not instrumented",
	[COLD_INLINED] = "inlined everywhere, without the hook",
	[COLD_UNREAD] = "not known: its machine code was not read",
	[COLD_RAN] = "ran",
};

const char *cold_text(enum cold_why why)
{
	return texts[why];
}

enum cold_why cold_why(const struct cold_row *row)
{
	static const enum cold_why of[SYM_STATES] = {
		[SYM_RECORDED] = COLD_NEVER,
		[SYM_EXCLUDED] = COLD_EXCLUDED,
		[SYM_UNFLAGGED] = COLD_UNFLAGGED,
		[SYM_UNHOOKED] = COLD_UNHOOKED,
		[SYM_INLINED] = COLD_INLINED,
		[SYM_UNREAD] = COLD_UNREAD,
	};

	return row->calls > 0 ? COLD_RAN : of[row->function->state];
}

/* What is looked up to find how often a function ran. */
struct calls {
	struct map *by_address;   /* to function */
	uint64_t *count;          /* by function */
	uint8_t *is_listed;       /* by function: found in its module's file */
	struct func_table *funcs;
};

static void calls_init(struct calls *calls, struct session *s)
{
	calls->funcs = s->funcs;
	calls->by_address = map_new();
	calls->count = mem_alloc((func_count(s->funcs) + 1) *
				 sizeof(*calls->count));
	calls->is_listed = mem_alloc(func_count(s->funcs) + 1);
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const node = cct_get(s->cct, id);

		if (node->func <= func_count(s->funcs))
			calls->count[node->func] += node->calls;
	}
	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->kind == FUNC_NATIVE)
			*map_put(calls->by_address, f->module, f->offset) = id;
	}
}

static void calls_fini(struct calls *calls)
{
	map_free(calls->by_address);
	mem_free(calls->count);
	mem_free(calls->is_listed);
}

static uint64_t calls_at(struct calls *calls, elf_id module, uint64_t entry)
{
	const func_id id = map_find(calls->by_address, module, entry);

	calls->is_listed[id] = 1;
	return calls->count[id];
}

/* A tracer may book a function at an odd address to the even one before it,
 * where no other function can begin. */
static uint64_t calls_of(struct calls *calls, elf_id module,
			 const struct sym_function *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->entry_count; i++) {
		const uint64_t entry = f->entries[i];

		sum += calls_at(calls, module, entry);
		if (entry % 2 != 0)
			sum += calls_at(calls, module, entry - 1);
	}
	return sum;
}

static int by_reason(const void *a, const void *b)
{
	const struct cold_row *const x = a, *const y = b;
	const struct sym_function *const f = x->function, *const g =
		y->function;
	const int files = strcmp(f->file, g->file);

	if (cold_why(x) != cold_why(y))
		return cold_why(x) < cold_why(y) ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (files != 0)
		return files;
	if (f->line != g->line)
		return f->line < g->line ? -1 : 1;
	if (f->offset != g->offset)
		return f->offset < g->offset ? -1 : 1;
	return strcmp(f->name, g->name);
}

/* A header's inline function is told of by every source that includes it; its
 * code, if it has any, is in one of them. */
static int is_same_source(const struct cold_row *a, const struct cold_row *b)
{
	return a->module == b->module &&
	       a->function->line == b->function->line &&
	       strcmp(a->function->file, b->function->file) == 0 &&
	       strcmp(a->function->name, b->function->name) == 0;
}

static int by_source(const void *a, const void *b)
{
	const struct cold_row *const x = a, *const y = b;
	int order = x->module < y->module ? -1 : x->module > y->module;

	if (order == 0)
		order = strcmp(x->function->file, y->function->file);
	if (order == 0)
		order = x->function->line < y->function->line ? -1 :
			x->function->line > y->function->line;
	if (order == 0)
		order = strcmp(x->function->name, y->function->name);
	/* That which has code comes first. */
	return order != 0 ? order : (x->function->entry_count == 0) -
				    (y->function->entry_count == 0);
}

static void join(struct cold *cold)
{
	size_t kept = 0;

	if (cold->count == 0)
		return;
	qsort(cold->rows, cold->count, sizeof(*cold->rows), by_source);
	for (size_t i = 0; i < cold->count; i++) {
		const struct cold_row *const row = &cold->rows[i];

		if (kept == 0 || row->function->entry_count > 0 ||
		    !is_same_source(row, &cold->rows[kept - 1]))
			cold->rows[kept++] = *row;
	}
	cold->count = kept;
	qsort(cold->rows, cold->count, sizeof(*cold->rows), by_reason);
}

static void add_row(struct cold *cold, size_t *room, elf_id module,
		    const struct sym_function *f, uint64_t calls)
{
	*vec_add(&cold->rows, room, &cold->count) =
		(struct cold_row){ module, f, calls };
}

static void add_module(struct cold *cold, elf_id module, size_t *room,
		       struct calls *calls)
{
	const struct sym_cold *const m = &cold->modules[module];

	for (size_t i = 0; i < m->count; i++)
		add_row(cold, room, module, &m->functions[i],
			calls_of(calls, module, &m->functions[i]));
}

/* Those that ran and that no file names. */
static void add_unlisted(struct cold *cold, size_t *room,
			 const struct calls *calls)
{
	for (func_id id = 1; id <= func_count(calls->funcs); id++) {
		const struct func *const f = func_get(calls->funcs, id);
		struct sym_function *made;

		if (f->kind != FUNC_NATIVE || calls->is_listed[id] ||
		    calls->count[id] == 0)
			continue;
		made = arena_alloc(cold->arena, sizeof(*made));
		*made = (struct sym_function){
			.name = f->name, .file = f->file, .line = f->file_line,
			.offset = f->offset, .entry_count = 1 };
		add_row(cold, room, f->module, made, calls->count[id]);
	}
}

static void count_rows(struct cold *cold)
{
	for (size_t i = 0; i < cold->count; i++) {
		const struct cold_row *const row = &cold->rows[i];

		if (row->module <= cold->module_count)
			cold->counts[row->module][cold_why(row)]++;
	}
}

struct cold *cold_new(struct load *load)
{
	struct func_table *const funcs = load->session->funcs;
	struct sym_options options = load_sym_options(load);
	const time_t end = time(NULL) + (time_t)options.seconds * ALL_MODULES;
	struct cold *const cold = mem_alloc(sizeof(*cold));
	struct calls calls;
	size_t room = 0;

	cold->arena = arena_new();
	cold->module_count = func_elf_count(funcs);
	cold->modules = mem_alloc((cold->module_count + 1) *
				  sizeof(*cold->modules));
	cold->counts = mem_alloc((cold->module_count + 1) *
				 sizeof(*cold->counts));
	calls_init(&calls, load->session);
	for (elf_id m = 1; m <= cold->module_count; m++) {
		const time_t left = end - time(NULL);

		if (left < (time_t)options.seconds)
			options.seconds = left < 0 ? 0 : (unsigned)left;
		sym_cold_read(func_elf(funcs, m), cold->arena, &options,
			      &cold->modules[m]);
		add_module(cold, m, &room, &calls);
	}
	add_unlisted(cold, &room, &calls);
	calls_fini(&calls);
	join(cold);
	count_rows(cold);
	return cold;
}

void cold_free(struct cold *cold)
{
	if (!cold)
		return;
	for (elf_id m = 1; m <= cold->module_count; m++)
		mem_free(cold->modules[m].functions);
	mem_free(cold->modules);
	mem_free(cold->counts);
	mem_free(cold->rows);
	arena_free(cold->arena);
	mem_free(cold);
}
