/* cmd_info.c - "weft info": what is in a trace, who ran, what is missing, and
 * what it takes to name its functions. Computes nothing: all that it prints is
 * in the session or in what the reader left in the load.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "tracepoints/noun.h"

#include <inttypes.h>
#include <string.h>

/* Gaps that are listed, the longest first; weft check lists more. KEY_WIDTH:
 * columns of the first word of a line. */
enum { GAPS_SHOWN = 5, KEY_WIDTH = 11 };

/* Lines of each list; 0: all. */
static size_t arg_top = 20;

static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "how many processes, threads, Lua states "
	  "and modules are listed, 0 for all" },
	{ .type = OPT_END }
};

/* Modules, notes and losses are those of the whole trace. */
static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "weft info describes the whole trace; weft report and "
	  "weft tree show parts of it" },
	{ 0, NULL }
};

/* The heading of a list. */
static void print_total(const char *what, uint64_t count)
{
	printf("%-*s %" PRIu64 "\n", KEY_WIDTH, what, count);
}

/* Is line i of count to be shown? Says once how many are not. */
static bool is_shown(size_t i, size_t count, const char *what)
{
	if (arg_top == 0 || i < arg_top)
		return true;
	char text[OUT_NUMBER];

	if (i == arg_top)
		printf("  ... and %zu more %s (--top 0 lists all)\n", count - i,
		       noun_print(text, sizeof(text), count - i, what));
	return false;
}

/* ---- the recording ------------------------------------------------------ */

/* A line with a key and a value, which may be untrusted. */
static void print_line(const char *key, const char *value)
{
	out_print(stdout, "%-*s %s\n", KEY_WIDTH, key, value);
}

/* A completeness_fn: its context is the key. */
static void print_sentence(void *key, const char *sentence)
{
	print_line(key, sentence);
}

/* Is the recorder's note of this key printed elsewhere, in other words? "label"
 * comes once more, taken apart, as "label.KEY". */
static bool is_told(const char *key)
{
	static const char *const told[] = {
		"complete", "trouble", "end", "start", "threads", "processes",
		"vms", "coroutines", "records", "chunks", "chunks.distinct",
		"clock", "label"
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (strcmp(key, told[i]) == 0)
			return true;
	return strncmp(key, "lost.", strlen("lost.")) == 0;
}

/* What the recorder noted: the command, the machine, labels. Keys are not known
 * in advance, so they are untrusted and may be longer than KEY_WIDTH. */
static void print_notes(const struct session *s)
{
	for (size_t i = 0; i < s->note_count; i++) {
		if (!is_told(s->notes[i].key))
			print_line(s->notes[i].key, s->notes[i].value);
	}
}

/* What was lost, the longest gaps, and the notes, in that order. The keys are
 * arrays because a context is not const. */
static void print_missing(const struct load *load)
{
	char lost[] = "lost", missing[] = "missing in", note[] = "note";
	const struct session *const s = load->session;

	if (completeness_each(load, print_sentence, lost) == 0)
		print_line(lost, "nothing was lost");
	for (size_t i = 0; i < s->gap_count && i < GAPS_SHOWN; i++)
		completeness_gap(s, &s->gaps[i], print_sentence, missing);
	completeness_notes(load, print_sentence, note);
}

/* How much was recorded, and how many bytes a call took on disk. A profile
 * knows nothing of the trace's files: then the bytes are left out. */
static void print_size(const struct load *load)
{
	const struct session *const s = load->session;
	const uint64_t bytes = load->in.ctf_bytes + load->in.spill_bytes;
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];

	printf("%-*s %s in %s, %s", KEY_WIDTH, "data",
	       out_number_many(a, s->records, "records"),
	       out_number_many(b, s->chunks, "chunks"),
	       out_number_many(c, s->calls, "calls"));
	if (bytes > 0)
		printf(" (CTF %s, spill file %s",
		       out_number_bytes(a, load->in.ctf_bytes),
		       out_number_bytes(b, load->in.spill_bytes));
	if (bytes > 0 && s->calls > 0)
		printf("; %.1f bytes a call", (double)bytes / (double)s->calls);
	puts(bytes > 0 ? ")" : "");
}

/* How the chunks lie in the files, by way. */
static void print_packing(const struct load *load)
{
	static const char *const ways[UNPACK_WAYS] = {
		[UNPACK_WORDS] = "as words (format 1)",
		[UNPACK_PLAIN] = "not compressed",
		[UNPACK_LZ4] = "with LZ4", [UNPACK_ZSTD] = "with zstd",
	};
	const struct unpack_found *const f = &load->in.found;
	const char *between = "";
	char a[OUT_NUMBER], b[OUT_NUMBER];

	for (int i = 0; i < UNPACK_WAYS; i++) {
		if (f->chunks[i] == 0)
			continue;
		if (!*between)
			printf("%-*s ", KEY_WIDTH, "packing");
		printf("%s%s %s, %s", between,
		       out_number_many(a, f->chunks[i], "chunks"), ways[i],
		       out_number_bytes(b, f->bytes[i]));
		between = "; ";
	}
	if (*between)
		putchar('\n');
}

/* ---- who ran ------------------------------------------------------------ */

/* The processes, each with its serial and pid. A parent is named by its serial,
 * since a pid may be used again. */
static void print_processes(const struct session *s)
{
	char text[OUT_NUMBER];

	print_total("processes", s->process_count);
	for (size_t i = 0; i < s->process_count; i++) {
		const struct process *const p = &s->processes[i];

		if (!is_shown(i, s->process_count, "processes"))
			break;
		/* In merged sessions one stands for many, without a number. */
		if (p->pid)
			printf("  %" PRIu32 " pid %" PRIu32 ", ", p->serial,
			       p->pid);
		else
			fputs("  ", stdout);
		if (p->parent)
			printf("child of %" PRIu32 ", ", p->parent);
		out_print(stdout, "since %s: %s\n",
			  out_number_date(text, p->start),
			  p->path[0] ? p->path : "?");
	}
}

/* Whose thread or Lua state it is: the pid; or the program, in merged sessions
 * of several programs. */
static void print_owner(const struct session *s, uint32_t process)
{
	if (s->processes[process].pid)
		printf(" of pid %" PRIu32, s->processes[process].pid);
	else if (s->process_count > 1)
		out_print(stdout, " of %s",
			  load_file_name(s->processes[process].path));
}

/* Shown only where switches were recorded. */
static void print_offcpu(const struct session *s, const struct thread *t)
{
	char text[OUT_NUMBER];

	printf(", off CPU %s",
	       out_number_time(text, (double)session_ns(s, t->offcpu)));
	/* A few microseconds at the thread's ends are never known. */
	if (t->known < t->traced - t->traced / 100)
		printf(" of the %s known",
		       out_number_time(text, (double)session_ns(s, t->known)));
}

/* One thread: how long it was recorded, its calls, its CPU time from the
 * kernel's counter, and its time off the CPU from context switches. */
static void print_thread(const struct session *s, const struct thread *t)
{
	char a[OUT_NUMBER], b[OUT_NUMBER];

	fputs("  ", stdout);
	if (t->tid)
		printf("tid %" PRIu32 " ", t->tid);
	out_print(stdout, "%s", t->tid || t->name[0] ? t->name : "[unnamed]");
	print_owner(s, t->process);
	printf(": %s, %s",
	       out_number_time(a, (double)session_ns(s, t->traced)),
	       out_number_many(b, t->calls, "calls"));
	if (t->cpu_ns > 0)
		printf(", CPU %s", out_number_time(a, (double)t->cpu_ns));
	if (t->cpu_ns > 0 && t->cpu_unknown > 0)
		printf(", not known for %s", out_number_time(b,
			(double)session_ns(s, t->cpu_unknown)));
	if (t->known > 0)
		print_offcpu(s, t);
	putchar('\n');
}

/* Threads in the order of the session. */
static void print_threads(const struct session *s)
{
	const uint64_t lost = session_lost_threads(s);

	printf("%-*s %zu", KEY_WIDTH, "threads", s->thread_count);
	if (lost > 0)
		printf(" of %" PRIu64, s->thread_count + lost);
	putchar('\n');
	for (size_t i = 0; i < s->thread_count &&
			   is_shown(i, s->thread_count, "threads"); i++)
		print_thread(s, &s->threads[i]);
}

/* The Lua of a VM, as it says itself. */
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
	case VM_LUA55:
		return "Lua 5.5";
	case VM_LUAJIT:
		return "LuaJIT";
	default:
		return "unknown Lua";
	}
}

/* The Lua states, with all that limits what is known of them, and how many
 * coroutines there were. */
static void print_vms(const struct session *s)
{
	static const struct { uint32_t flag; const char *words; } flags[] = {
		{ VM_JIT_OFF, ", its JIT was off" },
		{ VM_SAMPLED, ", sampled" },
		{ VM_INFERRED, ", resumes found at the next event" },
		{ VM_EXCLUDED, ", native calls of its own left out" },
	};

	print_total("Lua states", s->vm_count);
	for (size_t i = 0; i < s->vm_count; i++) {
		const struct vm *const vm = &s->vms[i];

		if (!is_shown(i, s->vm_count, "states"))
			break;
		printf("  %" PRIu64 " %s", vm->serial, abi_name(vm->abi));
		print_owner(s, vm->process);
		printf(", frames read by %s", vm->flags & VM_PEEK ?
		       "a checked peek" : "the API");
		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
			if (vm->flags & flags[k].flag)
				fputs(flags[k].words, stdout);
		putchar('\n');
	}
	print_total("coroutines", s->coroutine_count + s->beyond.coroutines);
}

/* ---- modules ------------------------------------------------------------ */

/* How many of the functions that ran got a name, from which file, and what
 * stood in the way. "it" is the module itself, in contrast to a debug file. */
static void print_naming(const struct elf_module *elf, const struct naming *m)
{
	char text[OUT_NUMBER];

	if (m->asked == 0) {
		puts("    only samples: no function of it was recorded");
		return;
	}
	printf("    %" PRIu64 " of %s named", m->named,
	       out_number_many(text, m->asked, "functions"));
	if (m->file[0])
		out_print(stdout, " from %s",
			  strcmp(m->file, elf->path) == 0 ? "it" : m->file);
	if (m->hinted > 0)
		printf(", %" PRIu64 " more as Lua calls them", m->hinted);
	out_print(stdout, "%s%s\n", m->why[0] ? ": " : "", m->why);
}

/* The modules with their build-ids, by which debug files are found. */
static void print_modules(const struct session *s)
{
	static const struct naming none = { .file = "", .why = "" };
	const size_t count = func_elf_count(s->funcs);

	print_total("modules", count);
	for (elf_id i = 1; i <= count && is_shown(i - 1, count, "modules");
	     i++) {
		const struct elf_module *const elf = func_elf(s->funcs, i);

		out_print(stdout, "  %s\n", elf->path);
		fputs("    build-id ", stdout);
		for (size_t k = 0; k < elf->build_id_size; k++)
			printf("%02x", elf->build_id[k]);
		puts(elf->build_id_size == 0 ? "none" : "");
		print_naming(elf, i <= s->naming_count ? &s->namings[i - 1] :
			     &none);
	}
}

/* ---- counted functions -------------------------------------------------- */

static void print_counted(const struct session *s)
{
	size_t count = 0, i = 0;

	for (func_id id = 1; id <= func_count(s->funcs); id++)
		count += func_get(s->funcs, id)->counted != 0;
	if (count > 0)
		print_total("counted", count);
	for (func_id id = 1; id <= func_count(s->funcs); id++)
		if (func_get(s->funcs, id)->counted &&
		    is_shown(i++, count, "functions"))
			out_print(stdout, "  %s\n",
				  func_get(s->funcs, id)->name);
}

/* ---- the command -------------------------------------------------------- */

/* From the whole to the details: the recording, what is missing, who ran, and
 * what is needed for names. A trace without calls is shown, too: this report
 * helps to find out why it has none. */
static enum cmd_exit info_print(struct reading *r)
{
	const struct load *const load = &r->load;
	const struct session *const s = load->session;
	char text[OUT_NUMBER];

	print_line("trace", load->path);
	print_line("read by", load->in.reader);
	print_line("recorded", s->thread_count == 0 ? "nothing" :
		   out_number_date(text,
				   session_real(s, session_first_tick(s))));
	print_line("duration",
		   out_number_time(text, (double)session_duration(s)));
	print_notes(s);
	print_missing(load);
	print_size(load);
	print_packing(load);
	printf("%-*s %" PRIu64 " ticks a second, known to %" PRIu64
	       " parts in 10^9\n", KEY_WIDTH, "clock", s->tick_hz, s->hz_error);
	print_processes(s);
	print_threads(s);
	print_vms(s);
	print_counted(s);
	print_modules(s);
	return CMD_OK;
}

const struct cmd cmd_info = {
	.name = "info",
	.args = "TRACE...",
	.summary = "show what is in a trace and how it was made",
	.about =
	"Reads traces or profiles (several are merged) and prints what was\n"
	"recorded, when and where, which reader read it, what is missing, its\n"
	"processes, threads and Lua states, and its ELF modules with their\n"
	"build-ids: whether their functions can be named, from which file, or\n"
	"why not.",
	.opts = opts,
	.refused = refused,
	.print = info_print,
};
