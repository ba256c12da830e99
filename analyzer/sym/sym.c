/* sym.c - names for the functions of a session. Each ELF module is read in a
 * child process with limits, which sends back what it finds; whatever happens
 * to the child, the names that came are kept and the rest get stand-ins.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"

#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_dwarf.h"
#include "analyzer/sym/sym_find.h"
#include "analyzer/sym/sym_lua.h"
#include "analyzer/base/vec.h"
#include "analyzer/base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	ALL_MODULES = 4,     /* modules together may take so many times what
	                      * one may */
	SERVER_SECONDS = 10, /* to be spent on servers, all modules together */
	ENOUGH = 1 << 20,    /* bytes, whatever was asked */
};

/* A name may come twice, from the symbol table and the debug information. */
static const uint64_t bytes_each = 2 * (sizeof(struct sym_answer) +
					2 * SYM_NAME_BYTES);

/* One module's naming, seen from the parent. */
struct task {
	struct func_table *funcs;
	struct arena *arena;
	elf_id elf;
	struct sym_module *module;
	struct sym_query *queries;         /* by rising id, here */
	size_t count;
	struct sym_wish wish;
	unsigned *server_seconds;          /* that are left */
};

/* Is this one of the functions that were asked for? Nobody else's name is
 * changed, whatever the child sends. */
static int is_asked(const struct task *task, uint32_t id)
{
	size_t low = 0, high = task->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (task->queries[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < task->count && task->queries[low].id == id;
}

static void take_module(const struct task *task,
			const struct sym_answer *answer, const char *name,
			const char *why)
{
	task->module->file = name;
	task->module->why = why;
	task->module->is_refused = answer->flags != 0;
	*task->server_seconds -= answer->count < *task->server_seconds ?
				 answer->count : *task->server_seconds;
}

static int take_answer(void *ctx, const struct sym_answer *answer,
		       const char *text)
{
	const struct task *const task = ctx;
	const char *const name = arena_copy(task->arena, text,
					    answer->name_size);
	const char *const file = arena_copy(task->arena,
					    text + answer->name_size,
					    answer->file_size);

	if (answer->id == 0) {
		take_module(task, answer, name, file);
	} else if (is_asked(task, answer->id)) {
		struct func *const f = func_get(task->funcs, answer->id);

		if (name[0] != '\0')
			f->name = name;
		f->file = file;
		f->file_line = answer->line;
	}
	return 0;
}

/* --- in the child ------------------------------------------------------ */

static void send_name(void *ctx, uint32_t id, const char *name,
		      const char *file, uint32_t line)
{
	sym_child_send(ctx, (struct sym_answer){ .id = id, .line = line },
		       name, file);
}

static void do_name(const void *ctx, FILE *to)
{
	const struct task *const task = ctx;
	struct sym_found found;
	struct sym_answer answer = { .id = 0 };

	sym_find_file(func_elf(task->funcs, task->elf), &task->wish, &found);
	answer.flags = (uint32_t)found.is_refused;
	answer.count = found.server_seconds;
	sym_child_send(to, answer, found.fd < 0 ? "" : found.path, found.why);
	fflush(to);
	if (found.fd >= 0 &&
	    sym_dwarf_name(found.fd, found.path, task->queries, task->count,
			   send_name, to, found.why, sizeof(found.why)) != 0)
		sym_child_send(to, (struct sym_answer){ .id = 0 }, "",
			       found.why);
}

/* --- in the parent ----------------------------------------------------- */

static void name_module(struct task *task, unsigned seconds)
{
	const struct sym_job job = {
		do_name, task, take_answer, task, seconds,
		ENOUGH + task->count * bytes_each
	};
	char why[SYM_WHY];

	if (seconds == 0)
		task->module->why = "the modules before it took too long";
	else if (sym_child_run(&job, why) != 0)
		task->module->why = arena_copy(task->arena, why, strlen(why));
}

/* A name for what has none: what Lua calls it, or where it lies. */
static void stand_in(struct func_table *funcs, struct func *f,
		     struct arena *arena)
{
	char text[SYM_NAME_BYTES];
	int size;

	if (f->hint[0] != '\0' && strcmp(f->hint, "?") != 0) {
		f->name = f->hint;
		return;
	}
	if (f->kind == FUNC_NATIVE)
		size = snprintf(text, sizeof(text), "%.1000s+0x%llx",
				text_base_name(func_elf(funcs,
							f->module)->path),
				(unsigned long long)f->offset);
	else
		size = snprintf(text, sizeof(text), "code at 0x%llx",
				(unsigned long long)f->offset);
	f->name = arena_copy(arena, text, (size_t)size);
}

static void gather(struct task *task)
{
	size_t room = 0;

	for (func_id id = 1; id <= func_count(task->funcs); id++) {
		const struct func *const f = func_get(task->funcs, id);

		if (f->kind != FUNC_NATIVE || f->module != task->elf ||
		    f->name[0] != '\0')
			continue;
		*vec_add(&task->queries, &room, &task->count) =
			(struct sym_query){ f->offset, id };
	}
}

static void count_named(const struct task *task)
{
	task->module->asked = task->count;
	for (size_t i = 0; i < task->count; i++) {
		const struct func *const f = func_get(task->funcs,
						      task->queries[i].id);

		if (f->name[0] != '\0')
			task->module->named++;
		else if (f->hint[0] != '\0')
			task->module->hinted++;
	}
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void name_modules(struct func_table *funcs, struct arena *arena,
			 const struct sym_options *options,
			 struct sym_module *modules)
{
	const time_t end = now() + (time_t)options->seconds * ALL_MODULES;
	unsigned server_seconds = SERVER_SECONDS;

	for (elf_id elf = 1; elf <= func_elf_count(funcs); elf++) {
		const time_t left = end - now();
		struct task task = {
			.funcs = funcs, .arena = arena, .elf = elf,
			.module = &modules[elf],
			.server_seconds = &server_seconds,
			.wish = { options, SYM_NAMES, server_seconds },
		};

		modules[elf].file = modules[elf].why = "";
		gather(&task);
		if (task.count > 0)
			name_module(&task, left <= 0 ? 0 :
				    left < (time_t)options->seconds ?
				    (unsigned)left : options->seconds);
		count_named(&task);
		mem_free(task.queries);
	}
}

struct sym_module *sym_name(struct func_table *funcs, struct arena *arena,
			    const struct sym_options *options)
{
	struct sym_module *const modules =
		mem_alloc((func_elf_count(funcs) + 1) * sizeof(*modules));

	name_modules(funcs, arena, options, modules);
	for (func_id id = 1; id <= func_count(funcs); id++) {
		struct func *const f = func_get(funcs, id);

		if (f->kind == FUNC_LUA)
			sym_lua_name(f, arena);
		else if (f->name[0] == '\0')
			stand_in(funcs, f, arena);
	}
	return modules;
}
