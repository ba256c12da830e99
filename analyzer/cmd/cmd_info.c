/* cmd_info.c - "weft info": what is in a trace, who made it, and what it takes
 * to name its functions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/cmd/loss.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

enum { GAPS_SHOWN = 5 };

static size_t arg_top = 20;

static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top,
	  .help = "processes, threads and modules to list, 0 for all" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* Print untrusted text. */
static void put(const char *text)
{
	char *const safe = out_escape_terminal(text);

	fputs(safe, stdout);
	mem_free(safe);
}

static void line(const char *key, const char *value)
{
	printf("%-11s ", key);
	put(value);
	putchar('\n');
}

static void lost_line(void *ctx, const char *sentence)
{
	(void)ctx;
	line("lost", sentence);
}

static void note_line(void *ctx, const char *sentence)
{
	(void)ctx;
	line("note", sentence);
}

static void missing_line(void *ctx, const char *sentence)
{
	(void)ctx;
	line("missing in", sentence);
}

static int is_shown(size_t i, size_t count, const char *what)
{
	if (arg_top == 0 || i < arg_top)
		return 1;
	if (i == arg_top)
		printf("  ... and %zu more %s (--top 0 lists all)\n", count - i,
		       what);
	return 0;
}

/* Those of the recorder's notes that are said elsewhere are left out. */
static void print_notes(const struct session *s)
{
	static const char *const known[] = {
		"lost.", "complete", "trouble", "end", "start", "threads",
		"processes", "vms", "coroutines", "records", "chunks",
		"clock"
	};

	for (size_t i = 0; i < s->note_count; i++) {
		const char *const key = s->notes[i].key;
		/* "label" is said again, in two, as "label.KEY". */
		int is_known = strcmp(key, "label") == 0;

		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			is_known |= strncmp(key, known[k],
					    strlen(known[k])) == 0;
		if (is_known)
			continue;
		put(key);
		printf("%*s ", (int)(strlen(key) < 11 ? 11 - strlen(key) : 0),
		       "");
		put(s->notes[i].value);
		putchar('\n');
	}
}

static void print_size(const struct load *load)
{
	const struct session *const s = load->session;
	const uint64_t bytes = load->in.ctf_bytes + load->in.spill_bytes;
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];

	printf("%-11s %s in %s", "data", out_number_many(a, s->records,
							 "records"),
	       out_number_many(b, s->chunks, "chunks"));
	printf(", %s (CTF %s, spill file ", out_number_many(c, s->calls,
							    "calls"),
	       out_number_bytes(a, load->in.ctf_bytes));
	printf("%s", out_number_bytes(a, load->in.spill_bytes));
	if (s->calls > 0)
		printf("; %.1f bytes a call", (double)bytes / (double)s->calls);
	puts(")");
}

static void print_processes(const struct session *s)
{
	char text[OUT_NUMBER];

	printf("%-11s %zu\n", "processes", s->process_count);
	for (size_t i = 0; i < s->process_count; i++) {
		const struct process *const p = &s->processes[i];

		if (!is_shown(i, s->process_count, "processes"))
			break;
		printf("  %" PRIu32 " pid %" PRIu32, p->serial, p->pid);
		if (p->parent != 0)
			printf(", child of %" PRIu32, p->parent);
		printf(", since %s: ", out_number_date(text, p->start));
		put(p->path[0] != '\0' ? p->path : "?");
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

static void print_threads(const struct session *s)
{
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];

	printf("%-11s %zu\n", "threads", s->thread_count);
	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (!is_shown(i, s->thread_count, "threads"))
			break;
		printf("  tid %" PRIu32 " ", t->tid);
		put(t->name);
		printf(" of pid %" PRIu32 ": %s, %s",
		       s->processes[t->process].pid,
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

static void print_vms(const struct session *s)
{
	printf("%-11s %zu\n", "Lua states", s->vm_count);
	for (size_t i = 0; i < s->vm_count; i++) {
		const struct vm *const vm = &s->vms[i];

		if (!is_shown(i, s->vm_count, "states"))
			break;
		printf("  %" PRIu64 " %s of pid %" PRIu32 ", frames read by "
		       "%s%s%s\n", vm->serial, abi_name(vm->abi),
		       s->processes[vm->process].pid,
		       vm->flags & VM_PEEK ? "a checked peek" : "the API",
		       vm->flags & VM_JIT_OFF ? ", its JIT was off" : "",
		       vm->flags & VM_INFERRED ? ", resumes found at the next "
		       "event" : "");
	}
	printf("%-11s %" PRIu64 "\n", "coroutines",
	       s->coroutine_count + s->beyond.coroutines);
}

static void print_naming(const struct elf_module *elf,
			 const struct sym_module *m)
{
	printf("    %zu of %zu functions named", m->named, m->asked);
	if (m->file[0] != '\0') {
		fputs(" from ", stdout);
		put(strcmp(m->file, elf->path) == 0 ? "it" : m->file);
	}
	if (m->hinted > 0)
		printf(", %zu more as Lua calls them", m->hinted);
	if (m->why[0] != '\0') {
		fputs(": ", stdout);
		put(m->why);
	}
	putchar('\n');
}

static void print_modules(const struct load *load)
{
	struct func_table *const funcs = load->session->funcs;
	const size_t count = func_elf_count(funcs);

	printf("%-11s %zu\n", "modules", count);
	for (elf_id i = 1; i <= count; i++) {
		const struct elf_module *const elf = func_elf(funcs, i);
		const struct sym_module *const m = &load->modules[i];

		if (!is_shown(i - 1, count, "modules"))
			break;
		fputs("  ", stdout);
		put(elf->path);
		fputs("\n    build-id ", stdout);
		for (size_t k = 0; k < elf->build_id_size; k++)
			printf("%02x", elf->build_id[k]);
		puts(elf->build_id_size == 0 ? "none" : "");
		print_naming(elf, m);
	}
}

static void print_info(const struct load *load)
{
	const struct session *const s = load->session;
	char text[OUT_NUMBER];

	line("trace", load->path);
	line("read by", load->in.reader);
	line("recorded", s->thread_count == 0 ? "nothing" :
	     out_number_date(text, session_real(s, head_first_tick(s))));
	line("duration", out_number_time(text, (double)head_duration(s)));
	print_notes(s);
	if (loss_each(load, lost_line, NULL) == 0)
		line("lost", "nothing was lost");
	for (size_t i = 0; i < s->gap_count && i < GAPS_SHOWN; i++)
		loss_gap(s, &s->gaps[i], missing_line, NULL);
	loss_notes(load, note_line, NULL);
	print_size(load);
	printf("%-11s %" PRIu64 " ticks a second, known to %" PRIu64
	       " parts in 10^9\n", "clock", s->tick_hz, s->hz_error);
	print_processes(s);
	print_threads(s);
	print_vms(s);
	print_modules(load);
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	const enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK)
		print_info(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_info = {
	"info", "TRACE...", "tell what is in a trace and how it was made",
	"Reads traces or profiles (several are merged) and tells what was\n"
	"recorded, when and where, by which reader it was read, what is\n"
	"missing, its processes, threads, Lua states, and its ELF modules with their\n"
	"build-ids: whether their functions can be named, from which file,\n"
	"and if not, why not.",
	opts, run
};
