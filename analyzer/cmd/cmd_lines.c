/* cmd_lines.c - "weft lines": the source of a function, with the samples of
 * each line. sym_lines finds the lines of instructions, tables/lines adds them
 * up.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/sym/sym.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/lines.h"

#include <limits.h>
#include <string.h>

/* The options. */
static size_t arg_context = SIZE_MAX;
static const char *arg_source;

enum { USUAL_TOP = 20 };

static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'C', .name = "context", .arg = "N",
	  .to = &arg_context, .help = "lines to show before and after one "
	  "with samples (default: 3); not for --csv" },
	{ .type = OPT_LIST, .name = "source", .arg = "DIR", .to = &arg_source,
	  .help = "a folder to look for source files in, before their own "
	  "place" },
	TABLE_TOP("functions below it to show", 20),
	TABLE_CSV("rows for scripts: only lines with samples"),
	{ .type = OPT_END }
};

/* What is printed of. All is borrowed. */
struct printer {
	struct session *session;
	ticks all, *of;          /* by func_id; as in weft report: of the CPU */
	bool is_cpu;             /* where switches tell that, else self */
	struct sym_options options;
	struct arena *arena;
	size_t printed;          /* functions */
};

/* A function's samples, and what is known of their places. */
struct subject {
	const struct func *func;
	const struct lines_place *places;
	size_t count;
	struct lines lines;
	struct text_file source;
	char path[PATH_MAX];     /* of the source; "": none was found */
	const char *why;         /* why lines may be missing, or NULL */
};

/* ---- lines of instructions ---------------------------------------------- */

/* A place with what is known of it. */
static void add(struct subject *s, const struct sym_line *l, bool is_probe,
		const char *module, const struct lines_place *at)
{
	struct lines_row row = { .name = l->name, .module = module,
				 .file = l->file, .line = l->line,
				 .own_line = l->own_line,
				 .samples = (uint64_t)(at->samples + 0.5) };

	if (row.samples == 0)
		return;
	if (is_probe || (!l->is_own && !at->is_own)) {
		row.kind = is_probe ? LINES_PROBE : LINES_BELOW;
		row.own_line = 0;
	} else if (!l->is_own || (l->name[0] == '\0' &&
		   (l->own_line == l->line || l->line == 0))) {
		row.kind = LINES_OWN;
		row.module = "";
		row.file = s->lines.file;
		row.line = l->own_line;
	} else {
		row.kind = LINES_INLINED;
		row.module = "";
	}
	lines_add(&s->lines, &row);
}

/* The line at an offset, of those that sym_lines has sorted by it. */
static const struct sym_line *line_at(const struct sym_line *lines,
				      size_t count, uint64_t offset)
{
	const size_t next = ORDER_FIRST(i, count, lines[i].offset <= offset);

	return &lines[next > 0 ? next - 1 : 0];
}

/* All places of one module; of module 0, those that are in none. */
static void add_module(struct printer *p, struct subject *s, elf_id module)
{
	const struct code_place *const places = p->session->places;
	const struct elf_module *const elf = func_elf(p->session->funcs,
						      module);
	const bool is_native = s->func->kind == FUNC_NATIVE;
	const bool is_own = is_native && s->func->module == module;
	struct sym_line *const lines = mem_alloc((s->count + 1) *
						 sizeof(*lines));
	const char *why = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct code_place *const at = &places[s->places[i].place];

		if (at->module == module)
			lines[n++] = (struct sym_line){
				.offset = at->offset, .file = "",
				.name = at->offset == 0 ? "[kernel]" :
					"[no module]" };
	}
	if (n > 0 && module != 0)
		why = sym_lines(lines, n, is_native ? s->func : NULL, is_own,
				elf, p->arena, &p->options);
	for (size_t i = 0; i < s->count; i++) {
		const struct code_place *const at = &places[s->places[i].place];

		if (at->module == module)
			add(s, line_at(lines, n, at->offset),
			    at->kind == PLACE_PROBE,
			    module ? elf->path : "", &s->places[i]);
	}
	if (is_own)
		s->why = why;
	mem_free(lines);
}

/* ---- lines that Lua noted ----------------------------------------------- */

static void add_noted(struct printer *p, struct subject *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct noted_line *const l =
			&p->session->lines[s->places[i].place];

		lines_add(&s->lines, &(struct lines_row){
			.kind = l->why ? LINES_BELOW : LINES_OWN,
			.name = l->why == NOTED_COLLECTOR ?
				"[garbage collector]" :
				l->why ? "[JIT compiler]" : "",
			.module = "", .file = s->lines.file,
			.line = l->why ? 0 : l->line,
			.own_line = l->why ? 0 : l->line,
			.samples = l->notes });
	}
}

/* ns that one note stands for. */
static double note_period(const struct session *s)
{
	uint64_t notes = 0;
	double ns = 0;

	for (size_t i = 0; i < s->line_count; i++) {
		notes += s->lines[i].notes;
		ns += (double)s->lines[i].ns;
	}
	return notes > 0 ? ns / (double)notes : 0;
}

/* ---- the source --------------------------------------------------------- */

/* Try the file below a folder: by its whole path, then by its last part. */
static bool read_below(struct subject *s, const char *folder, size_t length)
{
	const char *const parts[] = { s->func->file,
				      text_base_name(s->func->file) };

	for (size_t i = 0; i < 2; i++) {
		const int n = snprintf(s->path, sizeof(s->path), "%.*s/%s",
				       (int)length, folder, parts[i]);

		if (n > 0 && (size_t)n < sizeof(s->path) &&
		    text_file_read(&s->source, s->path) == 0)
			return true;
	}
	s->path[0] = '\0';
	return false;
}

/* The path comes from the debug information or from Lua. A relative one is
 * looked for where the recording began, not where weft happens to run. */
static void read_source(struct subject *s, const struct session *session)
{
	const char *const begun = session_note(session, "cwd");
	const char *folder = arg_source;
	const char *const path = s->func->file;

	while (folder && path[0] != '\0' && *folder != '\0') {
		const size_t length = strcspn(folder, ":");

		if (length > 0 && length < PATH_MAX &&
		    read_below(s, folder, length))
			return;
		folder += length + (folder[length] == ':');
	}
	if (path[0] == '/' && strlen(path) < sizeof(s->path) &&
	    text_file_read(&s->source, path) == 0)
		strcpy(s->path, path);
	if (path[0] != '\0' && path[0] != '/' && begun && begun[0] == '/')
		read_below(s, begun, strlen(begun));
}

/* ---- output ------------------------------------------------------------- */

/* Lines between two with samples, as many as --context says, and a mark where
 * others are left out. `from` is the first line not yet printed. */
static void print_context(struct table *t, const struct subject *s,
			  uint32_t from, uint32_t to)
{
	const size_t count = s->source.count;
	bool is_cut = false;

	for (uint32_t line = from; line < to && line <= count; line++) {
		struct lines_row row = { .kind = LINES_OWN, .name = "",
			.module = "", .file = "", .line = line,
			.text = s->source.lines[line - 1] };
		const bool is_near = to - line <= arg_context ||
				     line - from < arg_context;

		if (is_near)
			table_row(t, &row);
		else if (!is_cut)
			table_line(t, "...");
		is_cut = is_cut || !is_near;
	}
}

static void print_lines(struct printer *p, const struct subject *s)
{
	struct table t = { .source = { p->session, &s->lines, false } };
	uint32_t next = 0;

	if (s->lines.own == 0)
		return;
	table_choose_fixed(&t, &lines_view, NULL);
	table_begin(&t);
	for (size_t i = 0; i < s->lines.count; i++) {
		const struct lines_row *const r = &s->lines.rows[i];

		if (r->kind > LINES_INLINED)
			break;
		if (r->kind == LINES_OWN && r->line > 0) {
			if (next == 0) /* begin near it, not in line 1 */
				next = r->line > arg_context ? r->line -
				       (uint32_t)arg_context : 1;
			print_context(&t, s, next, r->line);
			next = r->line + 1;
		}
		table_row(&t, r);
	}
	if (next > 0)
		print_context(&t, s, next, next + (uint32_t)arg_context);
	table_end(&t);
}

/* Code below the function that is not recorded. */
static void print_below(struct printer *p, const struct subject *s)
{
	struct table t = { .source = { p->session, &s->lines, false } };
	const size_t top = table_top(USUAL_TOP);
	size_t below = 0;

	table_choose_fixed(&t, &lines_view, "samples,share,error,source");
	metric_rename(&t.columns, "source", "code that is not recorded, below "
		      "it", NULL);
	table_begin(&t);
	for (size_t i = 0; i < s->lines.count; i++)
		if (s->lines.rows[i].kind == LINES_BELOW && below++ < top)
			table_row(&t, &s->lines.rows[i]);
	if (s->lines.own > 0 && below > 0)
		putchar('\n');
	table_end(&t);
	table_print_rest(below > top ? below - top : 0, "functions");
}

/* What lines cannot say. */
static void print_notes(const struct printer *p, const struct subject *s)
{
	const struct func *const f = s->func;

	if (f->kind == FUNC_LUA && !s->places->is_noted) {
		puts("this is a Lua function: samples say which code of Lua "
		     "ran, not which line of the\nfunction. weft record "
		     "--lua-lines notes lines");
		return;
	}
	if (s->why)
		out_print(stdout, "note: %s%s\n", s->why, s->lines.own == 0 ?
			  "; so whose code it is, is not known" : "");
	if (s->lines.own == 0)
		return;
	if (s->path[0] == '\0' && f->file[0] != '\0')
		out_print(stdout, f->file[0] == '/' ?
			  "note: there is no %s here: --source DIR says where "
			  "its source is\n" :
			  "note: there is no %s where the recording began: "
			  "--source DIR says where it is (--source .: here)\n",
			  f->file);
	else if (s->path[0] != '\0' && p->session->process_count > 0 &&
		 (uint64_t)s->source.changed >
		 p->session->processes[0].start / 1000000000)
		out_print(stdout, "note: %s was changed after the recording: "
			  "lines may be others\n", s->path);
}

/* A function's part of all time on the CPU: samples have those of the
 * recording's own code beside them, and notes only Lua's. */
static void find_shares(struct printer *p)
{
	struct flat *const t = flat_new(p->session, NULL);

	p->is_cpu = t->has_switches;
	p->all = p->is_cpu ? t->cpu : t->self;
	p->of = mem_alloc((func_count(p->session->funcs) + 1) * sizeof(*p->of));
	for (size_t i = 0; i < t->count; i++) {
		const struct figures *const f = &t->rows[i].f;

		p->of[f->func] += p->is_cpu ? f->cpu : f->self;
	}
	flat_free(t);
}

static void print_head(const struct printer *p, const struct subject *s)
{
	char place[256], a[OUT_NUMBER];
	/* What Lua notes below a function has rows of its own: the share is
	 * without it. */
	const uint64_t samples = s->lines.own +
		(s->places->is_noted ? 0 : s->lines.below);
	const double period = s->places->is_noted ? note_period(p->session) :
			      lines_period(p->session);

	if (p->printed > 0)
		putchar('\n');
	metric_place(place, sizeof(place), s->func);
	out_print(stdout, "%s (%s%s%s): %s", s->func->name,
		  func_language(s->func), place[0] ? ", " : "", place,
		  out_number_many(a, samples, "samples"));
	if (p->all > 0)
		printf(", %s of all %s", out_number_share(a,
			p->of[s->places->func], p->all),
		       p->is_cpu ? "CPU time" : "time");
	printf("; one is %s of CPU time\n",
	       out_number_time(a, period));
	if (s->lines.probe > 0)
		printf("%s more in the recording's own code are in no line\n",
		       out_number_count(a, s->lines.probe));
}

static void print_subject(struct printer *p, const struct subject *s)
{
	if (table_args.csv) {
		struct table t = { .csv = true,
				   .source = { p->session, &s->lines, false } };

		table_choose_fixed(&t, &lines_view, NULL);
		if (p->printed == 0)
			table_begin(&t);
		t.rows = (struct out_csv){ stdout, 0 };
		for (size_t i = 0; i < s->lines.count; i++)
			table_row(&t, &s->lines.rows[i]);
		return;
	}
	print_head(p, s);
	print_notes(p, s);
	if (s->lines.own + s->lines.below > 0)
		putchar('\n');
	print_lines(p, s);
	print_below(p, s);
}

/* ---- the command -------------------------------------------------------- */

/* One function; its places are all of its samples. */
static void show_function(struct printer *p, const struct lines_place *places,
			  size_t count)
{
	const size_t modules = func_elf_count(p->session->funcs);
	struct subject s = {
		.func = func_get(p->session->funcs, places->func),
		.places = places, .count = count };

	s.lines.of = s.func->name;
	s.lines.file = s.func->file;
	if (places->is_noted)
		add_noted(p, &s);
	for (elf_id m = 0; m <= modules && !places->is_noted; m++)
		add_module(p, &s, m);
	if (s.func->kind == FUNC_NATIVE || places->is_noted)
		read_source(&s, p->session);
	lines_finish(&s.lines, &s.source);
	print_subject(p, &s);
	p->printed++;
	text_file_fini(&s.source);
	lines_fini(&s.lines);
}

static void show_all(struct load *load, const struct lines_place *places,
		     size_t count)
{
	struct printer p = { .session = load->session,
			     .options = load_sym_options(load),
			     .arena = arena_new() };

	find_shares(&p);
	reading_print_header(load);
	for (size_t i = 0, next; i < count; i = next) {
		next = i + 1;
		while (next < count && places[next].func == places[i].func)
			next++;
		show_function(&p, &places[i], next - i);
	}
	mem_free(p.of);
	arena_free(p.arena);
}

/* Why there is nothing to show, in the chain. */
static enum cmd_exit explain_none(const struct session *s, uint64_t samples,
				  const char *pattern)
{
	char text[OUT_NUMBER];

	if (s->net.period == 0)
		err_add("the trace has no samples, which tell lines: weft "
			"info says why not");
	else
		err_add("of %s, none is in \"%s\": it took too little time",
			out_number_many(text, samples, "samples"), pattern);
	return CMD_UNREADABLE;
}

static enum cmd_exit lines_print(struct reading *r)
{
	struct session *const s = r->load.session;
	uint8_t *const wanted = named_functions(s, r->function);
	struct lines_place *places = NULL;
	enum cmd_exit status = CMD_OK;
	uint64_t samples;
	size_t count = 0;

	if (!wanted)
		return CMD_USAGE;
	places = lines_places(s, wanted, &count, &samples);
	if (count == 0)
		status = explain_none(s, samples, r->function);
	else
		show_all(&r->load, places, count);
	mem_free_all(places, wanted);
	return status;
}

/* The first operand is the function, the other one the trace. */
static int lines_prepare(struct reading *r)
{
	if (arg_context == SIZE_MAX)
		arg_context = 3;
	else if (r->table.csv)
		return err_add("--csv has only lines with samples; leave out "
			       "--context");
	return reading_take_function(r, "");
}

const struct cmd cmd_lines = {
	.name = "lines",
	.args = "FUNCTION DIR",
	.summary = "show a function's source with the time of each line",
	.about =
	"Reads the trace in the folder DIR and prints the source of a\n"
	"function, with the samples of each line. While it records, weft has\n"
	"the kernel note at regular intervals of CPU time where each thread\n"
	"is. So the figures are estimates, and +- is one standard error. The\n"
	"processor may report the instruction after the one that took the\n"
	"time, so a sample may belong to the line before. FUNCTION is a\n"
	"name, without its parameters if you like, or a pattern such as\n"
	"'str*' or 'a|b'.\n"
	"\n"
	"A line has all samples of what the compiler inlined there; lines\n"
	"with > are those of inlined code. Below are functions that are not\n"
	"recorded, such as those of libc, that ran while the function was the\n"
	"innermost recorded one. Samples in the recording's own code are\n"
	"counted apart.\n"
	"\n"
	"Where times are of a reference (see weft record --reference), the\n"
	"lines are by its samples.\n"
	"\n"
	"The program must be built with -g. Where its source is not at the\n"
	"place where it was built, --source says where it is; without it,\n"
	"line numbers alone are shown. Lines of a Lua function are known from\n"
	"a recording with --lua-lines or --lua sampled; else only which code\n"
	"of the interpreter ran.\n"
	"\n"
	"In CSV, of is the function, and kind is line, inlined, below or\n"
	"recording; a line includes the inlined rows after it, which have its\n"
	"number as own_line.",
	.opts = opts,
	.prepare = lines_prepare,
	.print = lines_print,
	.needs = "single samples",
	.has_net = true,
};
