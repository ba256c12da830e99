/* cmd_info.c - "weft info": what is in a trace, who made it, and what it takes
 * to name its functions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/completeness.h"
#include "analyzer/cmd/identities_print.h"
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
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "weft info tells about the whole trace; \"weft report\" "
	  "and others show parts of it" },
	{ 0, NULL }
};

static void line(const char *key, const char *value)
{
	printf("%-11s ", key);
	cells_print_text(value);
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
		cells_print_text(key);
		printf("%*s ", (int)(strlen(key) < 11 ? 11 - strlen(key) : 0),
		       "");
		cells_print_text(s->notes[i].value);
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
	printf(", %s", out_number_many(c, s->calls, "calls"));
	if (bytes > 0)
		printf(" (CTF %s, spill file %s",
		       out_number_bytes(a, load->in.ctf_bytes),
		       out_number_bytes(b, load->in.spill_bytes));
	if (bytes > 0 && s->calls > 0)
		printf("; %.1f bytes a call", (double)bytes / (double)s->calls);
	puts(bytes > 0 ? ")" : "");
}

static void print_naming(const struct elf_module *elf,
			 const struct sym_module *m)
{
	printf("    %zu of %zu functions named", m->named, m->asked);
	if (m->file[0] != '\0') {
		fputs(" from ", stdout);
		cells_print_text(strcmp(m->file, elf->path) == 0 ? "it" :
			       m->file);
	}
	if (m->hinted > 0)
		printf(", %zu more as Lua calls them", m->hinted);
	if (m->why[0] != '\0') {
		fputs(": ", stdout);
		cells_print_text(m->why);
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

		if (!identities_print_is_shown(i - 1, count, arg_top, "modules"))
			break;
		fputs("  ", stdout);
		cells_print_text(elf->path);
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
	     out_number_date(text, session_real(s, session_first_tick(s))));
	line("duration", out_number_time(text, (double)session_duration(s)));
	print_notes(s);
	if (completeness_each(load, lost_line, NULL) == 0)
		line("lost", "nothing was lost");
	for (size_t i = 0; i < s->gap_count && i < GAPS_SHOWN; i++)
		completeness_gap(s, &s->gaps[i], missing_line, NULL);
	completeness_notes(load, note_line, NULL);
	print_size(load);
	printf("%-11s %" PRIu64 " ticks a second, known to %" PRIu64
	       " parts in 10^9\n", "clock", s->tick_hz, s->hz_error);
	identities_print(s, arg_top);
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
	.name = "info",
	.args = "TRACE...",
	.summary = "tell what is in a trace and how it was made",
	.about =
	"Reads traces or profiles (several are merged) and tells what was\n"
	"recorded, when and where, by which reader it was read, what is\n"
	"missing, its processes, threads, Lua states, and its ELF modules\n"
	"with their build-ids: whether their functions can be named, from\n"
	"which file, and if not, why not.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
