/* sym.c - names for the functions of a session. Each ELF module is read in a
 * child process with limits, which sends back what it finds. Whatever happens
 * to the child, the names that came are kept, and the other functions are
 * called after their addresses. Knows Lua's names for sources; must not know
 * where files are, nor libelf.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lua functions ---- */

/* A source that is program text is shown whole if it is one line of fewer
 * characters, or else up to so many: as Lua 5.2 to 5.5 do. 5.1 cuts it at 43,
 * LuaJIT at 45 if it has more than 48. */
enum { TEXT_SHOWN = 45 };

/* Lua's rules for chunk names: "@file" is a file, "=name" is any name, all else
 * is the program text itself, of which the first line is shown. */
static const char *source_name(const char *source, struct arena *arena)
{
	const size_t line = strcspn(source, "\r\n");
	const size_t kept = line < TEXT_SHOWN ? line : TEXT_SHOWN;

	if (source[0] == '@' || source[0] == '=')
		return source[1] != '\0' ? source + 1 : "?";
	if (source[0] == '\0')
		return "?";
	const bool is_cut = kept == TEXT_SHOWN || source[kept] != '\0';

	return arena_print(arena, "[string \"%.*s%s\"]", (int)kept, source,
			   is_cut ? "..." : "");
}

/* The file as it is shown within a name: without its folders, unless it is
 * "[string ...]", which may hold any character. */
static const char *short_name(const char *file)
{
	return file[0] == '[' ? file : text_base_name(file);
}

/* Lua says "?" if the key of a call is no constant. */
static bool is_name(const char *hint)
{
	return hint[0] != '\0' && strcmp(hint, "?") != 0;
}

/* The name in "=[builtin:NAME]", or NULL. */
static const char *name_inside(const char *source, struct arena *arena)
{
	static const char begin[] = "=[builtin:";
	const size_t n = sizeof(begin) - 1;
	const char *const name = source + n, *end;

	if (strncmp(source, begin, n) != 0)
		return NULL;
	end = strchr(name, ']');
	return !end || end == name || end[1] != '\0' ? NULL :
	       arena_copy(arena, name, (size_t)(end - name));
}

static bool is_word(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] ==
	       '\0';
}

/* Name one of LuaJIT's own functions, which have no lines. Those in C have a
 * source that the tracer makes for them. Those in Lua have their names as
 * sources (lj_lib.c); no function of a program lacks its last line, too. */
static bool is_builtin(struct func *f, struct arena *arena)
{
	const bool has_none = f->line == UINT32_MAX &&
			      f->last_line == UINT32_MAX;
	const char *const name = !has_none ? NULL :
				 is_word(f->source) ? f->source :
				 name_inside(f->source, arena);

	if (!name)
		return false;
	f->name = name;
	f->file = "[LuaJIT]";
	f->file_line = 0;
	return true;
}

/* "#2" for the second function on the same lines; "" for the first. */
static const char *which(const struct func *f, char to[16])
{
	to[0] = '\0';
	if (f->ordinal > 0)
		snprintf(to, 16, "#%u", f->ordinal + 1);
	return to;
}

void sym_lua_name(struct func *f, struct arena *arena)
{
	const bool has_lines = f->line != UINT32_MAX;
	char number[16];

	f->file = source_name(f->source, arena);
	f->file_line = has_lines ? f->line : 0;
	if (is_builtin(f, arena))
		return;
	f->name = f->line == 0 ?
		arena_print(arena, "main chunk <%s>", short_name(f->file)) :
		arena_print(arena, has_lines ? "%s <%s:%u%s>" : "%s <%s>",
			    is_name(f->hint) ? f->hint : "function",
			    short_name(f->file), f->line, which(f, number));
}

/* Puts four digits of the source's hash into the name. For a source that has no
 * file, the hash covers what the function does. */
static void add_hash(struct func *f, struct arena *arena)
{
	const size_t length = strlen(f->name);

	if (length > 0 && f->name[length - 1] == '>')
		f->name = arena_print(arena, "%.*s~%04x>", (int)length - 1,
				      f->name,
				      (unsigned)(f->source_hash & 0xffff));
}

/* Functions of sources that have one name are given names of their own. */
static void tell_apart(struct func_table *funcs, struct arena *arena)
{
	struct map *const first = map_new();

	for (func_id id = 1; id <= func_count(funcs); id++) {
		struct func *const f = func_get(funcs, id);
		uint32_t *other;

		if (f->kind != FUNC_LUA)
			continue;
		other = map_put(first, text_hash(1, f->name),
				text_hash(f->ordinal, f->source) ^
				f->last_line);
		if (*other == 0) {
			*other = id;
			continue;
		}
		if (*other != UINT32_MAX)
			add_hash(func_get(funcs, *other), arena);
		*other = UINT32_MAX;
		add_hash(f, arena);
	}
	map_free(first);
}

/* ---- native functions ---- */

enum {
	ALL_MODULES = 4,     /* all modules together may take this many times
	                      * what one may */
	SERVER_SECONDS = 10, /* spent on servers, all modules together */
	BYTES_LEAST = 1 << 20, /* that a child may send */
};

/* A name may come twice, from the symbol table and the debug information. */
static const uint64_t bytes_each = 2 * (sizeof(struct sym_answer) +
					2 * SYM_NAME_BYTES);

/* The naming of one module: the parent makes it, and the child has a copy from
 * fork. */
struct task {
	struct func_table *funcs;
	struct arena *arena;
	elf_id elf;
	struct naming *module;
	struct sym_query *queries;         /* by rising id; the child sorts its
	                                    * own copy by offset */
	size_t count;
	struct sym_wish wish;
	unsigned *server_seconds;          /* left for servers */
};

static int by_id(const void *key, const void *query)
{
	return ORDER(*(const uint32_t *)key,
		     ((const struct sym_query *)query)->id);
}

/* Is this one of the functions that were asked for? No other function's name is
 * changed, whatever the child sends. */
static bool is_asked(const struct task *task, uint32_t id)
{
	return bsearch(&id, task->queries, task->count, sizeof(*task->queries),
		       by_id) != NULL;
}

/* Note what became of the module: flags says that only other builds were found,
 * and count is the seconds that servers took. The child is not trusted, so no
 * more is subtracted than is left. */
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

/* A sym_take_fn: note the name of a function, or, if the id is 0, what became
 * of the module. Never ends the child. */
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

/* ---- in the child ---- */

/* A sym_answer_fn: send it on to the parent. */
static void send_name(void *ctx, uint32_t id, const char *name,
		      const char *file, uint32_t line)
{
	sym_child_send(ctx, (struct sym_answer){ .id = id, .line = line },
		       name, file);
}

/* A sym_work_fn: find the file and send the names of the functions. What became
 * of the module is sent and flushed first, so that the parent knows the file
 * even if reading it crashes. */
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
	    sym_elf_name(found.fd, found.path, task->queries, task->count,
			 send_name, to, found.why, sizeof(found.why)) != 0)
		sym_child_send(to, (struct sym_answer){ .id = 0 }, "",
			       found.why);
}

/* ---- in the parent ---- */

/* Have a child name the functions of a module, for so many seconds at most. */
static void name_module(struct task *task, unsigned seconds)
{
	const struct sym_job job = {
		do_name, task, take_answer, task, seconds,
		BYTES_LEAST + task->count * bytes_each
	};
	char why[SYM_WHY];

	if (seconds == 0)
		task->module->why = "the modules before it took too long";
	else if (sym_child_run(&job, why) != 0)
		task->module->why = arena_copy(task->arena, why, strlen(why));
}

/* Name a function that has no name: as Lua calls it, or after its address. A
 * path is cut so that the address fits. */
static void name_by_address(struct func_table *funcs, struct func *f,
			    struct arena *arena)
{
	const unsigned long long offset = f->offset;

	if (is_name(f->hint))
		f->name = f->hint;
	else if (f->kind == FUNC_NATIVE)
		f->name = arena_print(arena, "%.1000s+0x%llx", text_base_name(
			func_elf(funcs, f->module)->path), offset);
	else
		f->name = arena_print(arena, "code at 0x%llx", offset);
}

/* Ask for the functions of the module that have no name yet. Ids rise, as by_id
 * needs. */
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

/* Count how many functions got a name. */
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

/* Name the functions of each module, as long as there is time. Children run one
 * after another. A module without functions to name is not read. */
static void name_modules(struct func_table *funcs, struct arena *arena,
			 const struct sym_options *options,
			 struct naming *modules)
{
	const int64_t end = child_now() +
			    (int64_t)options->seconds * ALL_MODULES * 1000;
	unsigned server_seconds = SERVER_SECONDS;

	for (elf_id elf = 1; elf <= func_elf_count(funcs); elf++) {
		const int64_t left = (end - child_now()) / 1000;
		struct task task = {
			.funcs = funcs, .arena = arena, .elf = elf,
			.module = &modules[elf - 1],
			.server_seconds = &server_seconds,
			.wish = { options, SYM_NAMES, server_seconds },
		};

		task.module->file = task.module->why = "";
		gather(&task);
		if (task.count > 0)
			name_module(&task, left <= 0 ? 0 :
				    left < (int64_t)options->seconds ?
				    (unsigned)left : options->seconds);
		count_named(&task);
		mem_free(task.queries);
	}
}

struct naming *sym_name(struct func_table *funcs, struct arena *arena,
			const struct sym_options *options)
{
	struct naming *const modules =
		mem_alloc((func_elf_count(funcs) + 1) * sizeof(*modules));

	name_modules(funcs, arena, options, modules);
	for (func_id id = 1; id <= func_count(funcs); id++) {
		struct func *const f = func_get(funcs, id);

		if (f->kind == FUNC_LUA)
			sym_lua_name(f, arena);
		else if (f->name[0] == '\0')
			name_by_address(funcs, f, arena);
	}
	tell_apart(funcs, arena);
	return modules;
}
