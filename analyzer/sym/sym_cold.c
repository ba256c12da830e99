/* sym_cold.c - all functions of a module, listed by a child process: the file
 * is untrusted, and so is what the child sends.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_cold.h"

#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_find.h"
#include "analyzer/sym/sym_list.h"
#include "analyzer/base/vec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Kinds of answers. The later ones are about the function told of last. */
enum { TELL_MODULE, TELL_CODE, TELL_FUNCTION, TELL_ENTRY, TELL_PLACE };

enum { FUNCTIONS_MAX = 1 << 20, BYTES_MAX = 1 << 30, SERVER_SECONDS = 10 };

struct task {
	const struct elf_module *module;
	const struct sym_options *options;
	struct arena *arena;
	struct sym_cold *cold;
	size_t room;
	unsigned *server_seconds;    /* that are left */
};

/* --- in the child ------------------------------------------------------ */

static void send_function(void *ctx, const struct sym_listed *f)
{
	sym_child_send(ctx, (struct sym_answer){
		.id = TELL_FUNCTION, .line = f->line, .offset = f->offset,
		.size = f->size, .flags = (uint32_t)f->state,
		.count = f->inlined > UINT32_MAX ? UINT32_MAX :
			 (uint32_t)f->inlined }, f->name, f->file);
	for (size_t i = 0; i < f->entry_count; i++)
		sym_child_send(ctx, (struct sym_answer){
			.id = TELL_ENTRY, .offset = f->entries[i] }, "", "");
	for (size_t i = 0; i < f->place_count; i++)
		sym_child_send(ctx, (struct sym_answer){ .id = TELL_PLACE },
			       f->places[i], "");
}

static struct sym_code *find_code(const struct task *task, FILE *to,
				  unsigned server_seconds)
{
	const struct sym_wish wish = { task->options, SYM_CODE,
				       server_seconds };
	struct sym_code *code = NULL;
	struct sym_found found;

	sym_find_file(task->module, &wish, &found);
	if (found.fd >= 0)
		code = sym_code_new(found.fd);
	sym_child_send(to, (struct sym_answer){
		.id = TELL_CODE, .count = found.server_seconds,
		.flags = code && sym_code_has_hook(code) },
		code != NULL ? found.path : "",
		code != NULL ? "" : found.fd >= 0 ?
		"its machine code is not x86-64's or has no sections" :
		found.why);
	return code;
}

static void list_all(const void *ctx, FILE *to)
{
	const struct task *const task = ctx;
	const struct sym_wish wish = { task->options, SYM_NAMES,
				       *task->server_seconds };
	struct sym_found found;
	struct sym_code *code;

	sym_find_file(task->module, &wish, &found);
	sym_child_send(to, (struct sym_answer){
		.id = TELL_MODULE, .flags = found.worth >= WORTH_NAMES,
		.count = found.server_seconds },
		found.fd < 0 ? "" : found.path, found.why);
	fflush(to);
	code = find_code(task, to,
			 found.server_seconds < *task->server_seconds ?
			 *task->server_seconds - found.server_seconds : 0);
	if (found.fd >= 0 &&
	    sym_list_all(found.fd, code, send_function, to) != 0)
		sym_child_send(to, (struct sym_answer){ .id = TELL_MODULE },
			       "", "cannot read it");
	sym_code_free(code);
}

/* --- in the parent ----------------------------------------------------- */

static int take_function(struct task *task, const struct sym_answer *a,
			 const char *name, const char *file)
{
	struct sym_cold *const cold = task->cold;

	if (cold->count >= FUNCTIONS_MAX || a->flags >= SYM_STATES)
		return -1;
	*vec_add(&cold->functions, &task->room, &cold->count) =
		(struct sym_function){
			.name = name, .file = file, .line = a->line,
			.state = (enum sym_state)a->flags, .offset = a->offset,
			.size = a->size, .inlined = a->count,
		};
	return 0;
}

static int take_entry(struct task *task, struct sym_function *f,
		      uint64_t offset)
{
	uint64_t *entries = (uint64_t *)(uintptr_t)f->entries;

	if (f->entry_count >= SYM_ENTRIES)
		return -1;
	if (!entries)
		f->entries = entries = arena_alloc(task->arena, SYM_ENTRIES *
						   sizeof(*entries));
	entries[f->entry_count++] = offset;
	return 0;
}

static int take_place(struct task *task, struct sym_function *f,
		      const char *text)
{
	const char **places = (const char **)(uintptr_t)f->places;

	if (f->place_count >= SYM_PLACES)
		return -1;
	if (!places)
		f->places = places = arena_alloc(task->arena, SYM_PLACES *
						 sizeof(*places));
	places[f->place_count++] = text;
	return 0;
}

static int take(void *ctx, const struct sym_answer *a, const char *text)
{
	struct task *const task = ctx;
	struct sym_cold *const cold = task->cold;
	const char *const name = arena_copy(task->arena, text, a->name_size);
	const char *const file = arena_copy(task->arena, text + a->name_size,
					    a->file_size);

	if (a->id == TELL_MODULE || a->id == TELL_CODE)
		*task->server_seconds -= a->count < *task->server_seconds ?
					 a->count : *task->server_seconds;
	if (a->id == TELL_MODULE) {
		cold->file = name;
		cold->why = file;
		cold->knows_all = a->flags != 0;
	} else if (a->id == TELL_CODE) {
		cold->code = name;
		cold->has_hook = a->flags != 0;
		if (cold->why[0] == '\0')
			cold->why = file;
	} else if (a->id == TELL_FUNCTION) {
		return take_function(task, a, name, file);
	} else if (cold->count == 0) {
		return -1;
	} else if (a->id == TELL_ENTRY) {
		return take_entry(task, &cold->functions[cold->count - 1],
				  a->offset);
	} else if (a->id == TELL_PLACE) {
		return take_place(task, &cold->functions[cold->count - 1],
				  name);
	}
	return 0;
}

void sym_cold_read(const struct elf_module *module, struct arena *arena,
		   const struct sym_options *options, struct sym_cold *cold)
{
	static unsigned server_seconds = SERVER_SECONDS;
	struct task task = { module, options, arena, cold, 0,
			     &server_seconds };
	const struct sym_job job = { list_all, &task, take, &task,
				     options->seconds, BYTES_MAX };
	char why[SYM_WHY];

	*cold = (struct sym_cold){ .file = "", .code = "", .why = "" };
	if (options->seconds == 0) {
		cold->why = "the modules before it took too long";
	} else if (sym_child_run(&job, why) != 0) {
		cold->why = arena_copy(arena, why, strlen(why));
		cold->knows_all = 0;
	}
}
