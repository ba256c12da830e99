/* group_name.c - names of what is not a function.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/group_name.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/model/label.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(char *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(char *to, const char *format, ...)
{
	const size_t used = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + used, GROUP_NAME - used, format, args);
	va_end(args);
}

/* What merged sessions hold has no numbers: one stands for many. */
static void say_process(const struct session *s, char *to, uint32_t process)
{
	const struct process *const p = &s->processes[process];

	if (p->pid)
		say(to, "%" PRIu32 "%s", p->pid, p->path[0] ? " " : "");
	say(to, "%s", p->pid || p->path[0] ? text_base_name(p->path) :
	    "[unnamed]");
}

/* Of which process, if that is not clear. */
static void say_whose(const struct session *s, char *to, uint32_t process)
{
	const struct process *const p = &s->processes[process];

	if (s->process_count <= 1)
		return;
	if (p->pid)
		say(to, " of process %" PRIu32, p->pid);
	else
		say(to, " of %s", text_base_name(p->path));
}

const char *group_name_process(const struct session *s, uint32_t process,
			       char *to)
{
	to[0] = '\0';
	say_process(s, to, process);
	return to;
}

const char *group_name_thread(const struct session *s, uint32_t thread,
			      char *to)
{
	const struct thread *const t = &s->threads[thread];

	to[0] = '\0';
	if (t->tid)
		say(to, "%" PRIu32 "%s", t->tid, t->name[0] ? " " : "");
	say(to, "%s", t->tid || t->name[0] ? t->name : "[unnamed]");
	say_whose(s, to, t->process);
	return to;
}

const char *group_name_vm(const struct session *s, uint32_t vm, char *to)
{
	const struct vm *const v = &s->vms[vm];

	to[0] = '\0';
	if (v->abi == VM_LUAJIT)
		say(to, "LuaJIT");
	else
		say(to, "Lua %" PRIu32 ".%" PRIu32, v->abi / 10, v->abi % 10);
	say(to, " state %" PRIu64, v->serial);
	say_whose(s, to, v->process);
	return to;
}

const char *group_name_labels(const struct session *s, uint32_t process,
			      char *to)
{
	size_t n;
	const struct label **const list = label_list(s, process, &n);

	to[0] = '\0';
	for (size_t i = 0; i < n; i++)
		say(to, "%s%s=%s", i > 0 ? " " : "", list[i]->key,
		    list[i]->value);
	mem_free(list);
	if (!to[0])
		say(to, "[no label]");
	return to;
}
