/* coverage.c - joins the functions of the ELF files to the calls in the tree,
 * by module and address. Knows the session and the order of the table; must not
 * know ELF files or machine code.
 * SPDX-License-Identifier: MIT */
#include "analyzer/coverage/coverage.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All modules together may take this many times what one may. */
enum { ALL_MODULES = 4 };

const char *coverage_text(enum coverage_why why)
{
	static const char *const texts[COVERAGE_WHYS] = {
		[COVERAGE_NEVER] = "never called",
		[COVERAGE_EXCLUDED] = "no_instrument_function or exclude list",
		[COVERAGE_UNFLAGGED] = "built without -finstrument-functions",
		[COVERAGE_UNHOOKED] = "not instrumented",
		[COVERAGE_RESUMED] = "clang's part of a coroutine: no hooks",
		[COVERAGE_INLINED] = "inlined everywhere, without the hook",
		[COVERAGE_UNREAD] = "not known: its machine code was not read",
		[COVERAGE_RAN] = "ran",
	};

	return texts[why];
}

enum coverage_why coverage_why(const struct coverage_row *row)
{
	static const enum coverage_why of[FUNCTION_STATES] = {
		[FUNCTION_RECORDED] = COVERAGE_NEVER,
		[FUNCTION_EXCLUDED] = COVERAGE_EXCLUDED,
		[FUNCTION_UNFLAGGED] = COVERAGE_UNFLAGGED,
		[FUNCTION_UNHOOKED] = COVERAGE_UNHOOKED,
		[FUNCTION_INLINED] = COVERAGE_INLINED,
		[FUNCTION_UNREAD] = COVERAGE_UNREAD,
		[FUNCTION_RESUMED] = COVERAGE_RESUMED,
	};

	return row->calls > 0 ? COVERAGE_RAN : of[row->function->state];
}

/* ---- calls ---- */

/* What is looked up to find how often a function was called. */
struct calls {
	struct map *by_address;   /* by module, offset: function */
	uint64_t *count;          /* by function */
	bool *is_listed;          /* by function: its module's file names it */
	bool *is_recorded;        /* by module: it has a recorded function */
	struct func_table *funcs;
};

/* Add up the calls of each function over the tree. */
static void calls_init(struct calls *calls, struct session *s)
{
	const size_t funcs = func_count(s->funcs);

	calls->funcs = s->funcs;
	calls->by_address = map_new();
	calls->count = mem_alloc((funcs + 1) * sizeof(*calls->count));
	calls->is_listed = mem_alloc((funcs + 1) * sizeof(bool));
	calls->is_recorded =
		mem_alloc((func_elf_count(s->funcs) + 1) * sizeof(bool));
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const node = cct_get(s->cct, id);

		if (node->func <= funcs)
			calls->count[node->func] += node->calls;
	}
	for (func_id id = 1; id <= funcs; id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->kind != FUNC_NATIVE)
			continue;
		*map_put(calls->by_address, f->module, f->offset) = id;
		calls->is_recorded[f->module] = true;
	}
}

/* Calls of the function at an address, which its file names. Where nothing was
 * recorded, the map gives element 0. */
static uint64_t calls_at(struct calls *calls, elf_id module, uint64_t entry)
{
	const func_id id = map_find(calls->by_address, module, entry);

	calls->is_listed[id] = true;
	return calls->count[id];
}

/* The tracer may record a function at an odd address under the even one before
 * it, where no other function can begin. */
static uint64_t calls_of(struct calls *calls, elf_id module,
			 const struct module_function *f)
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

/* ---- rows ---- */

/* The order of the table: reason, module, file, line, address, name. */
static int by_reason(const void *a, const void *b)
{
	const struct coverage_row *const x = a, *const y = b;
	const struct module_function *const f = x->function;
	const struct module_function *const g = y->function;

	return ORDER(coverage_why(x), coverage_why(y)) ?: UP(module) ?:
	       strcmp(f->file, g->file) ?: ORDER(f->line, g->line) ?:
	       ORDER(f->offset, g->offset) ?: strcmp(f->name, g->name);
}

/* 0 for two descriptions of one function in the source. */
static int compare_source(const struct coverage_row *x,
			  const struct coverage_row *y)
{
	return UP(module) ?: strcmp(x->function->file, y->function->file) ?:
	       UP(function->line) ?:
	       strcmp(x->function->name, y->function->name);
}

/* Of one function, descriptions with code come first, as drop_repeated
 * needs. */
ORDER_BY(by_source, struct coverage_row, compare_source(x, y) ?:
	 ORDER(x->function->entry_count == 0, y->function->entry_count == 0))

/* Drop descriptions without code of functions that have a row. Every source
 * file that includes a header describes the header's inline functions; their
 * code, if there is any, is in one of them. */
static void drop_repeated(struct coverage *c)
{
	size_t kept = 0;

	if (c->count == 0)
		return;
	qsort(c->rows, c->count, sizeof(*c->rows), by_source);
	for (size_t i = 0; i < c->count; i++)
		if (kept == 0 || c->rows[i].function->entry_count > 0 ||
		    compare_source(&c->rows[i], &c->rows[kept - 1]) != 0)
			c->rows[kept++] = c->rows[i];
	c->count = kept;
	qsort(c->rows, c->count, sizeof(*c->rows), by_reason);
}

/* Add a row for each function of a module. */
static void add_module(struct coverage *c, elf_id module, size_t *room,
		       struct calls *calls)
{
	const struct coverage_module *const m = &c->modules[module];

	for (size_t i = 0; i < m->count; i++)
		*vec_add(&c->rows, room, &c->count) = (struct coverage_row){
			module, &m->functions[i],
			calls_of(calls, module, &m->functions[i]) };
}

/* Add the functions that were called and that no file names: their file is
 * gone, stripped or another build. No report is to lose a call. */
static void add_unlisted(struct coverage *c, size_t *room,
			 const struct calls *calls)
{
	for (func_id id = 1; id <= func_count(calls->funcs); id++) {
		const struct func *const f = func_get(calls->funcs, id);
		struct module_function *made;

		if (f->kind != FUNC_NATIVE || calls->is_listed[id] ||
		    calls->count[id] == 0)
			continue;
		made = arena_alloc(c->arena, sizeof(*made));
		*made = (struct module_function){
			.name = f->name, .file = f->file, .line = f->file_line,
			.offset = f->offset, .entry_count = 1 };
		*vec_add(&c->rows, room, &c->count) = (struct coverage_row){
			f->module, made, calls->count[id] };
	}
}

/* Count rows by module and reason, after the repeated ones were dropped. */
static void count_rows(struct coverage *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct coverage_row *const row = &c->rows[i];

		if (row->module <= c->module_count)
			c->counts[row->module][coverage_why(row)]++;
	}
}

/* ---- the whole ---- */

/* Steps: the calls by address; the modules one after another, with what time is
 * left; what no module listed; then the rows are cleaned and sorted. */
struct coverage *coverage_new(struct session *s,
			      const struct sym_options *options)
{
	const time_t end = time(NULL) + (time_t)options->seconds * ALL_MODULES;
	struct sym_options each = *options;
	struct coverage *const c = mem_alloc(sizeof(*c));
	struct calls calls;
	size_t room = 0;

	c->arena = arena_new();
	c->module_count = func_elf_count(s->funcs);
	c->modules = mem_alloc((c->module_count + 1) * sizeof(*c->modules));
	c->counts = mem_alloc((c->module_count + 1) * sizeof(*c->counts));
	calls_init(&calls, s);
	for (elf_id m = 1; m <= c->module_count; m++) {
		const time_t left = end - time(NULL);

		if (!calls.is_recorded[m])
			continue;
		if (left < (time_t)each.seconds)
			each.seconds = left < 0 ? 0 : (unsigned)left;
		coverage_module_read(func_elf(s->funcs, m), c->arena, &each,
				     &c->modules[m]);
		c->modules[m].is_recorded = true;
		add_module(c, m, &room, &calls);
	}
	add_unlisted(c, &room, &calls);
	map_free(calls.by_address);
	mem_free_all(calls.count, calls.is_listed, calls.is_recorded);
	drop_repeated(c);
	count_rows(c);
	return c;
}

void coverage_free(struct coverage *c)
{
	if (!c)
		return;
	for (elf_id m = 1; m <= c->module_count; m++)
		mem_free(c->modules[m].functions);
	mem_free_all(c->modules, c->counts, c->rows);
	arena_free(c->arena);
	mem_free(c);
}
