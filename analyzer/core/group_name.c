/* group_name.c - names of what is not a function.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/group_name.h"

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

static const char *last_part(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *group_name_process(const struct session *s, uint32_t process,
			       char *to)
{
	const struct process *const p = &s->processes[process];

	to[0] = '\0';
	say(to, "%" PRIu32 "%s%s", p->pid, p->path[0] ? " " : "",
	    last_part(p->path));
	return to;
}

const char *group_name_thread(const struct session *s, uint32_t thread,
			      char *to)
{
	const struct thread *const t = &s->threads[thread];

	to[0] = '\0';
	say(to, "%" PRIu32 "%s%s", t->tid, t->name[0] ? " " : "", t->name);
	if (s->process_count > 1)
		say(to, " of process %" PRIu32,
		    s->processes[t->process].pid);
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
	if (s->process_count > 1)
		say(to, " of process %" PRIu32,
		    s->processes[v->process].pid);
	return to;
}

/* Is it a label of the process, and no later one of the same key? */
static int holds(const struct session *s, size_t i, uint32_t process)
{
	const struct label *const l = &s->labels[i];
	const struct process *const p = &s->processes[process];

	if (l->recording != p->recording ||
	    (l->process && l->process != process + 1))
		return 0;
	for (size_t k = 0; k < s->label_count; k++) {
		const struct label *const o = &s->labels[k];

		if (k == i || o->recording != p->recording ||
		    strcmp(o->key, l->key) != 0)
			continue;
		/* A process's own label wins over its recording's. */
		if (o->process == process + 1 ? !l->process || k > i :
		    !o->process && !l->process && k > i)
			return 0;
	}
	return 1;
}

const char *group_name_labels(const struct session *s, uint32_t process,
			      char *to)
{
	const char *last = "";

	to[0] = '\0';
	for (;;) {
		const struct label *next = NULL;

		for (size_t i = 0; i < s->label_count; i++) {
			const struct label *const l = &s->labels[i];

			if (strcmp(l->key, last) > 0 &&
			    (!next || strcmp(l->key, next->key) < 0) &&
			    holds(s, i, process))
				next = l;
		}
		if (!next)
			break;
		say(to, "%s%s=%s", to[0] ? " " : "", next->key, next->value);
		last = next->key;
	}
	if (!to[0])
		say(to, "[no label]");
	return to;
}
