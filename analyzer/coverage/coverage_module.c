/* coverage_module.c - has a child process list the functions of a module: the
 * file is untrusted, and so is what the child sends. Knows the answers between
 * the two; must not know what a function's state means.
 * SPDX-License-Identifier: MIT */
#include "analyzer/coverage/coverage_module.h"

#include "analyzer/base/vec.h"
#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_find.h"

#include <string.h>

/* Kinds of answers, in the answer's id. The last one is about the function that
 * came last. */
enum { SEND_MODULE, SEND_CODE, SEND_FUNCTION, SEND_ENTRY };

/* FUNCTIONS_MAX, BYTES_MAX: what a child may send. SERVER_SECONDS: for servers,
 * all modules together. */
enum { FUNCTIONS_MAX = 1 << 20, BYTES_MAX = 1 << 30, SERVER_SECONDS = 10 };

/* The reading of one module, known to the parent and to the child. */
struct task {
	const struct elf_module *module;
	const struct sym_options *options;
	struct arena *arena;
	struct coverage_module *out;
	size_t room;
	unsigned *server_seconds;    /* left for debuginfod's servers */
};

/* ---- in the child ---- */

/* A module_function_fn: send a function, then its entries. */
static void send_function(void *ctx, const struct module_function *f)
{
	sym_child_send(ctx, (struct sym_answer){
		.id = SEND_FUNCTION, .line = f->line, .offset = f->offset,
		.size = f->size, .flags = (uint32_t)f->state,
		.count = f->inlined > UINT32_MAX ? UINT32_MAX :
			 (uint32_t)f->inlined }, f->name, f->file);
	for (size_t i = 0; i < f->entry_count; i++)
		sym_child_send(ctx, (struct sym_answer){
			.id = SEND_ENTRY, .offset = f->entries[i] }, "", "");
}

/* Find a file with the module's machine code, and say what came of it. It is
 * often another file than the one with the names. NULL if there is none;
 * otherwise freed with hook_code_free. */
static struct hook_code *find_code(const struct task *task, FILE *to,
				   unsigned server_seconds)
{
	const struct sym_wish wish = { task->options, SYM_CODE,
				       server_seconds };
	struct hook_code *code = NULL;
	struct sym_found found;

	sym_find_file(task->module, &wish, &found);
	if (found.fd >= 0)
		code = hook_code_new(found.fd);
	sym_child_send(to, (struct sym_answer){
		.id = SEND_CODE, .count = found.server_seconds,
		.flags = code && hook_code_has_hook(code) },
		code ? found.path : "",
		code ? "" : found.fd >= 0 ?
		"its machine code is of another kind, or has no sections" :
		found.why);
	return code;
}

/* A sym_work_fn: send the module, its code and its functions. The module is
 * flushed first, so that the parent knows the file even if reading it
 * crashes. */
static void list_all(const void *ctx, FILE *to)
{
	const struct task *const task = ctx;
	const unsigned seconds = *task->server_seconds;
	const struct sym_wish wish = { task->options, SYM_NAMES, seconds };
	struct sym_found found;
	struct hook_code *code;

	sym_find_file(task->module, &wish, &found);
	sym_child_send(to, (struct sym_answer){
		.id = SEND_MODULE, .flags = found.worth >= WORTH_NAMES,
		.count = found.server_seconds },
		found.fd < 0 ? "" : found.path, found.why);
	fflush(to);
	code = find_code(task, to, found.server_seconds < seconds ?
			 seconds - found.server_seconds : 0);
	if (found.fd >= 0 &&
	    module_functions_list(found.fd, code, send_function, to) != 0)
		sym_child_send(to, (struct sym_answer){ .id = SEND_MODULE },
			       "", "cannot read it");
	hook_code_free(code);
}

/* ---- in the parent ---- */

/* The child is not trusted: the state becomes an index, so it is checked. */
static int take_function(struct task *task, const struct sym_answer *a,
			 const char *name, const char *file)
{
	struct coverage_module *const out = task->out;

	if (out->count >= FUNCTIONS_MAX || a->flags >= FUNCTION_STATES)
		return -1;
	*vec_add(&out->functions, &task->room, &out->count) =
		(struct module_function){
			.name = name, .file = file, .line = a->line,
			.state = (enum function_state)a->flags,
			.offset = a->offset, .size = a->size,
			.inlined = a->count };
	return 0;
}

/* The array is made with its full size, when the first entry comes. -1 if the
 * child sends more. */
static int take_entry(struct task *task, struct module_function *f,
		      uint64_t offset)
{
	uint64_t *entries = (uint64_t *)(uintptr_t)f->entries;

	if (f->entry_count >= FUNCTION_ENTRIES)
		return -1;
	if (!entries)
		f->entries = entries = arena_alloc(task->arena,
			FUNCTION_ENTRIES * sizeof(*entries));
	entries[f->entry_count++] = offset;
	return 0;
}

/* The child used some of the time for servers. */
static void take_seconds(const struct task *task, unsigned used)
{
	*task->server_seconds -= used < *task->server_seconds ? used :
				 *task->server_seconds;
}

/* A sym_take_fn: take an answer of the child. -1, which ends the child, for an
 * answer that makes no sense. */
static int take(void *ctx, const struct sym_answer *a, const char *text)
{
	struct task *const task = ctx;
	struct coverage_module *const out = task->out;
	struct module_function *const last = out->count == 0 ? NULL :
					     &out->functions[out->count - 1];
	const char *const name = arena_copy(task->arena, text, a->name_size);
	const char *const file = arena_copy(task->arena, text + a->name_size,
					    a->file_size);

	switch (a->id) {
	case SEND_MODULE:
		take_seconds(task, a->count);
		out->file = name;
		out->why = file;
		out->knows_all = a->flags != 0;
		return 0;
	case SEND_CODE:
		take_seconds(task, a->count);
		out->code = name;
		out->has_hook = a->flags != 0;
		if (out->why[0] == '\0')
			out->why = file;
		return 0;
	case SEND_FUNCTION:
		return take_function(task, a, name, file);
	case SEND_ENTRY:
		return last ? take_entry(task, last, a->offset) : -1;
	default:
		return last ? 0 : -1;
	}
}

void coverage_module_read(const struct elf_module *module, struct arena *arena,
			  const struct sym_options *options,
			  struct coverage_module *out)
{
	static unsigned server_seconds = SERVER_SECONDS;
	struct task task = { module, options, arena, out, 0, &server_seconds };
	const struct sym_job job = { list_all, &task, take, &task,
				     options->seconds, BYTES_MAX };
	char why[SYM_WHY];

	*out = (struct coverage_module){ .file = "", .code = "", .why = "" };
	if (options->seconds == 0) {
		out->why = "the modules before it took too long";
	} else if (sym_child_run(&job, why) != 0) {
		out->why = arena_copy(arena, why, strlen(why));
		out->knows_all = false;
	}
}
