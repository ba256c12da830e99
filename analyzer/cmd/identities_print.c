/* identities_print.c - processes, threads and Lua states, a line each.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/identities_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>

int identities_print_is_shown(size_t i, size_t count, size_t top,
			      const char *what)
{
	if (top == 0 || i < top)
		return 1;
	if (i == top)
		printf("  ... and %zu more %s (--top 0 lists all)\n", count - i,
		       what);
	return 0;
}

static void print_processes(const struct session *s, size_t top)
{
	char text[OUT_NUMBER];

	printf("%-11s %zu\n", "processes", s->process_count);
	for (size_t i = 0; i < s->process_count; i++) {
		const struct process *const p = &s->processes[i];

		if (!identities_print_is_shown(i, s->process_count, top, "processes"))
			break;
		/* Merged sessions have one for many: without numbers. */
		if (p->pid != 0)
			printf("  %" PRIu32 " pid %" PRIu32 ", ", p->serial,
			       p->pid);
		else
			fputs("  ", stdout);
		if (p->parent != 0)
			printf("child of %" PRIu32 ", ", p->parent);
		printf("since %s: ", out_number_date(text, p->start));
		cells_print_text(p->path[0] != '\0' ? p->path : "?");
		putchar('\n');
	}
}

static void print_offcpu(const struct session *s, const struct thread *t)
{
	char text[OUT_NUMBER];

	printf(", off CPU %s", out_number_time(text,
				(double)session_ns(s, t->offcpu)));
	/* Some microseconds at the thread's ends are never known. */
	if (t->known < t->traced - t->traced / 100)
		printf(" of the %s known", out_number_time(text,
				(double)session_ns(s, t->known)));
}

/* Whose thread or Lua state it is. */
static void print_whose(const struct session *s, uint32_t process)
{
	if (s->processes[process].pid != 0)
		printf(" of pid %" PRIu32, s->processes[process].pid);
	else if (s->process_count > 1) {
		fputs(" of ", stdout);
		cells_print_text(load_file_name(s->processes[process].path));
	}
}

static void print_thread(const struct session *s, const struct thread *t)
{
	if (t->tid != 0)
		printf("  tid %" PRIu32 " ", t->tid);
	else
		fputs("  ", stdout);
	cells_print_text(t->tid != 0 || t->name[0] != '\0' ? t->name :
		       "[unnamed]");
	print_whose(s, t->process);
}

static void print_threads(const struct session *s, size_t top)
{
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];

	printf("%-11s %zu\n", "threads", s->thread_count);
	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (!identities_print_is_shown(i, s->thread_count, top, "threads"))
			break;
		print_thread(s, t);
		printf(": %s, %s",
		       out_number_time(a, (double)session_ns(s, t->traced)),
		       out_number_many(b, t->calls, "calls"));
		if (t->cpu_ns > 0)
			printf(", CPU %s", out_number_time(c,
							   (double)t->cpu_ns));
		if (t->known > 0)
			print_offcpu(s, t);
		putchar('\n');
	}
}

static const char *abi_name(uint32_t abi)
{
	switch (abi) {
	case VM_LUA51:
		return "Lua 5.1";
	case VM_LUA52:
		return "Lua 5.2";
	case VM_LUA53:
		return "Lua 5.3";
	case VM_LUA54:
		return "Lua 5.4";
	case VM_LUAJIT:
		return "LuaJIT";
	default:
		return "unknown Lua";
	}
}

static void print_vms(const struct session *s, size_t top)
{
	printf("%-11s %zu\n", "Lua states", s->vm_count);
	for (size_t i = 0; i < s->vm_count; i++) {
		const struct vm *const vm = &s->vms[i];

		if (!identities_print_is_shown(i, s->vm_count, top, "states"))
			break;
		printf("  %" PRIu64 " %s", vm->serial, abi_name(vm->abi));
		print_whose(s, vm->process);
		printf(", frames read by %s%s%s%s\n",
		       vm->flags & VM_PEEK ? "a checked peek" : "the API",
		       vm->flags & VM_JIT_OFF ? ", its JIT was off" : "",
		       vm->flags & VM_INFERRED ? ", resumes found at the next "
		       "event" : "",
		       vm->flags & VM_QUIET ? ", native calls of its own left "
		       "out" : "");
	}
	printf("%-11s %" PRIu64 "\n", "coroutines",
	       s->coroutine_count + s->beyond.coroutines);
}

void identities_print(const struct session *s, size_t top)
{
	print_processes(s, top);
	print_threads(s, top);
	print_vms(s, top);
}
