/* sym.c - names for the functions of a session. Each ELF module is read in a
 * child process with limits, which sends back what it finds; whatever happens
 * to the child, the names that came are kept and the rest get stand-ins.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym.h"

#include "analyzer/sym/sym_child.h"
#include "analyzer/sym/sym_lua.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { INBOX = 1 << 16 };

/* One module's naming, seen from the parent. */
struct task {
	struct func_table *funcs;
	struct arena *arena;
	elf_id elf;
	struct sym_module *module;
	struct sym_query *queries;         /* by rising id, here */
	size_t count;
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

static void take_answer(const struct task *task,
			const struct sym_answer *answer, const char *text)
{
	const char *const name = arena_copy(task->arena, text,
					    answer->name_size);
	const char *const file = arena_copy(task->arena,
					    text + answer->name_size,
					    answer->file_size);

	if (answer->id == 0) {
		task->module->file = name;
		task->module->why = file;
	} else if (is_asked(task, answer->id)) {
		struct func *const f = func_get(task->funcs, answer->id);

		if (name[0] != '\0')
			f->name = name;
		f->file = file;
		f->file_line = answer->line;
	}
}

/* Take what is complete in the inbox; returns the bytes used, or -1 if it is
 * nonsense. */
static ssize_t take_answers(const struct task *task, const char *inbox,
			    size_t size)
{
	size_t at = 0;
	struct sym_answer answer;

	while (size - at >= sizeof(answer)) {
		memcpy(&answer, inbox + at, sizeof(answer));
		if (answer.name_size > SYM_NAME_BYTES ||
		    answer.file_size > SYM_NAME_BYTES)
			return -1;
		if (size - at - sizeof(answer) <
		    answer.name_size + answer.file_size)
			break;
		take_answer(task, &answer, inbox + at + sizeof(answer));
		at += sizeof(answer) + answer.name_size + answer.file_size;
	}
	return (ssize_t)at;
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Until the child closes its end: 0; at the deadline, or if it sends nonsense:
 * -1. */
static int receive(const struct task *task, int pipe, unsigned seconds)
{
	const int64_t deadline = now_ms() + (int64_t)seconds * 1000;
	char *const inbox = mem_alloc(INBOX);
	size_t held = 0;
	int status = -1;

	for (;;) {
		struct pollfd poller = { .fd = pipe, .events = POLLIN };
		const int64_t left = deadline - now_ms();
		ssize_t size;

		if (left <= 0 ||
		    (poll(&poller, 1, (int)left) < 0 && errno != EINTR))
			break;
		if (poller.revents == 0)
			continue;
		size = read(pipe, inbox + held, INBOX - held);
		if (size <= 0) {
			status = size == 0 ? 0 : -1;
			break;
		}
		held += (size_t)size;
		size = take_answers(task, inbox, held);
		if (size < 0)
			break;
		held -= (size_t)size;
		memmove(inbox, inbox + size, held);
	}
	mem_free(inbox);
	return status;
}

static void end_child(const struct task *task, pid_t child, int is_late)
{
	char text[64] = "";
	int status = 0;

	if (is_late)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (is_late)
		snprintf(text, sizeof(text), "naming took too long");
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "naming crashed (signal %d)",
			 WTERMSIG(status));
	else if (status != 0)
		snprintf(text, sizeof(text), "naming failed");
	if (text[0] != '\0')
		task->module->why = arena_copy(task->arena, text, strlen(text));
}

static void name_module(const struct task *task,
			const struct sym_options *options)
{
	int ends[2];
	pid_t child;

	fflush(NULL);
	if (pipe(ends) != 0) {
		task->module->why = "no pipe to be had for naming";
		return;
	}
	child = fork();
	if (child == 0) {
		close(ends[0]);
		sym_child_run(func_elf(task->funcs, task->elf), task->queries,
			      task->count, options, ends[1]);
	}
	close(ends[1]);
	if (child < 0)
		task->module->why = "no process to be had for naming";
	else
		end_child(task, child, receive(task, ends[0],
					       options->seconds) != 0);
	close(ends[0]);
}

static const char *base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
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
				base_name(func_elf(funcs, f->module)->path),
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
		mem_need((void **)&task->queries, &room, task->count + 1,
			 sizeof(*task->queries));
		task->queries[task->count++] =
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

struct sym_module *sym_name(struct func_table *funcs, struct arena *arena,
			    const struct sym_options *options)
{
	const size_t elves = func_elf_count(funcs);
	struct sym_module *const modules =
		mem_alloc((elves + 1) * sizeof(*modules));

	for (elf_id elf = 1; elf <= elves; elf++) {
		struct task task = { .funcs = funcs, .arena = arena,
				     .elf = elf, .module = &modules[elf] };

		modules[elf].file = modules[elf].why = "";
		gather(&task);
		if (task.count > 0)
			name_module(&task, options);
		count_named(&task);
		mem_free(task.queries);
	}
	for (func_id id = 1; id <= func_count(funcs); id++) {
		struct func *const f = func_get(funcs, id);

		if (f->kind == FUNC_LUA)
			sym_lua_name(f, arena);
		else if (f->name[0] == '\0')
			stand_in(funcs, f, arena);
	}
	return modules;
}
