/* cmd_coverage.c - "weft coverage": the functions that were never called, and
 * those whose calls cannot be seen, each with the reason. Knows the words of
 * the report; the reasons are found in the folder coverage.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/coverage/coverage.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows that are shown unless --top says otherwise. */
enum { USUAL_TOP = 100 };

/* ---- the columns -------------------------------------------------------- */

/* A row is a coverage_row, the table's source the coverage. */
static const struct module_function *function_of(const void *row)
{
	return ((const struct coverage_row *)row)->function;
}

static METRIC_GETTER(get_why)
{
	v->text = coverage_text(coverage_why(row));
}

/* An offset of 0 is a place, too: only a function without an entry (it was
 * inlined everywhere) has none. */
static METRIC_GETTER(get_offset)
{
	const struct module_function *const f = function_of(row);

	v->count = f->offset;
	v->is_blank = f->entry_count == 0;
	metric_show(v, "0x%" PRIx64, f->offset);
}

/* size, inlined or line. */
static METRIC_GETTER(get_number)
{
	const struct module_function *const f = function_of(row);

	v->count = m->name[0] == 's' ? f->size :
		   m->name[0] == 'i' ? f->inlined : f->line;
}

/* Where there is one module only, the table need not repeat it. */
static METRIC_GETTER(get_module)
{
	const struct coverage *const c = s->table;
	const struct coverage_row *const r = row;

	v->text = func_elf(s->session->funcs, r->module)->path;
	v->brief = load_file_name(v->text);
	v->is_blank = c->module_count <= 1;
}

/* "file.c:12", as other tables show that of a recorded one. */
static METRIC_GETTER(get_file)
{
	const struct module_function *const f = function_of(row);

	v->text = f->file;
	v->brief = metric_place(v->room, sizeof(v->room), &(struct func){
		.file = f->file, .file_line = f->line });
}

static METRIC_GETTER(get_name)
{
	v->text = function_of(row)->name;
}

static const struct metric metrics[] = {
	{ "why", METRIC_TEXT, METRIC_SORTS, .get = get_why, .shrink = 20,
	  .help = "why it has no call" },
	{ "calls", METRIC_COUNT, METRIC_SORTS, NULL, NULL,
	  "how often it was called", METRIC_AT(struct coverage_row, calls) },
	{ "offset", METRIC_NUMBER, METRIC_DROP_EMPTY, .get = get_offset,
	  .drop = 1, .help = "where its code begins in the module" },
	{ "size", METRIC_COUNT, METRIC_SORTS | METRIC_DASH | METRIC_DROP_EMPTY,
	  .get = get_number, .drop = 2, .help = "bytes of its code" },
	{ "inlined", METRIC_COUNT,
	  METRIC_SORTS | METRIC_DASH | METRIC_DROP_EMPTY, .get = get_number,
	  .drop = 3, .help = "at how many places it was inlined" },
	{ "module", METRIC_TEXT, METRIC_DROP_EMPTY, .get = get_module,
	  .drop = 4, .shrink = 8, .help = "the program or library it is in" },
	{ "file", METRIC_TEXT, METRIC_DROP_EMPTY | METRIC_KEEP_END,
	  "file:line", .get = get_file, .shrink = 12,
	  .help = "its source file" },
	{ "line", METRIC_NUMBER, .get = get_number,
	  .help = "the line it begins on" },
	{ "name", METRIC_TEXT, METRIC_SORTS | METRIC_NAME, "function",
	  "function", .get = get_name, .shrink = 24, .help = "the function" },
	{ .name = NULL }
};

/* What the table has with --all. */
#define TABLE_ALL "why,calls,offset,size,inlined,module,file,name"

static struct metric_view view = {
	metrics, "why,size,inlined,module,file,name",
	"name,module,file,line,offset,size,calls,inlined,why"
};

/* ---- the options -------------------------------------------------------- */

/* Without --sort, rows are sorted by reason, module, file, line. */
static bool arg_all;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'a', .name = "all", .to = &arg_all,
	  .help = "list every function, also those that ran, with offset, "
	  "size and calls" },
	TABLE_TOP("rows to show", 100),
	TABLE_OPTS(view),
	{ .type = OPT_END }
};

/* The other filters choose which calls count; this one would hide functions
 * that ran. */
static const struct filter_refusal refused[] = {
	{ FILTER_SET(SKIP), "functions that are skipped would seem never to "
	  "have been called; leave it out" },
	{ 0, NULL }
};

/* Is the function a row? A library without any hook would fill the table, so it
 * is left out unless --all is given. What could not be read is always shown. */
static bool is_shown(const struct coverage *c, const struct coverage_row *row)
{
	return arg_all || (coverage_why(row) != COVERAGE_RAN &&
			   (c->modules[row->module].has_hook ||
			    coverage_why(row) == COVERAGE_UNREAD));
}

/* ---- the table ---------------------------------------------------------- */

/* The coverage is in the order of reasons already; what is equal stays so. */
static int compare(const void *a, const void *b)
{
	const struct coverage_row *const x = *(const void *const *)a;
	const struct coverage_row *const y = *(const void *const *)b;
	const struct metric *const by = table_args.sort;
	const int order = !by || by == metrics ? 0 :
			  metric_compare(by, NULL, x, y);

	return order != 0 ? order : (x > y) - (x < y);
}

/* --top cuts the list as a whole, so its last reasons may not show at all; the
 * counts of the modules have them. */
static void print_rows(struct table *t, const struct coverage *c)
{
	const size_t top = table_top(USUAL_TOP);
	const struct coverage_row **const rows =
		mem_alloc((c->count + 1) * sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		if (is_shown(c, &c->rows[i]))
			rows[count++] = &c->rows[i];
	qsort(rows, count, sizeof(*rows), compare);
	t->source.table = c;
	table_begin(t);
	for (size_t i = 0; i < count && i < top; i++)
		table_row(t, rows[i]);
	table_end(t);
	table_print_rest(count > top ? count - top : 0, "functions");
	mem_free(rows);
}

/* ---- what is known of each module --------------------------------------- */

/* Why "never called" cannot be said of what is not listed; "" if all functions
 * of the module are known. */
static const char *cannot_know(const struct coverage_module *m)
{
	if (m->knows_all)
		return "";
	return m->count > 0 ? "only exported functions are known, cannot know "
			      "the others" : "cannot know";
}

/* How many functions there are of each reason. What ran comes first, then the
 * reasons, the last one of the table first. */
static void print_counts(const size_t *counts)
{
	const char *separator = " ";

	for (int i = COVERAGE_WHYS; i-- > 0; ) {
		char text[OUT_NUMBER];

		if (counts[i] == 0)
			continue;
		printf("%s%s %s", separator, out_number_count(text, counts[i]),
		       coverage_text((enum coverage_why)i));
		separator = "; ";
	}
}

/* What is not known of a module, in a line, if anything is not. */
static void print_unknown(FILE *to, const char *mark,
			  const struct coverage_module *m)
{
	const char *const unknown = cannot_know(m);

	if (unknown[0] || m->why[0])
		out_print(to, "%s%s%s%s\n", mark, unknown,
			  unknown[0] && m->why[0] ? ": " : "", m->why);
}

/* One module in one or two lines: its counts, and what could not be known of it
 * and why. A module in which no function calls the hook gets a remark, since
 * its functions are not in the table. */
static void print_module(struct session *s, const struct coverage *c, elf_id m)
{
	const struct coverage_module *const its = &c->modules[m];
	const char *const path = func_elf(s->funcs, m)->path;

	out_print(stdout, "%s:", path[0] ? path : "[unnamed]");
	print_counts(c->counts[m]);
	if (its->count > 0 && !its->has_hook && its->code[0])
		printf("%s", " (no function of it calls the hook; --all lists "
		       "them)");
	putchar('\n');
	print_unknown(stdout, "  ", its);
}

/* The modules come before the functions: a reader of "never called" must know
 * first which modules it can be said of. */
static void print_modules(struct session *s, const struct coverage *c)
{
	bool is_any = false;

	for (elf_id m = 1; m <= c->module_count; m++) {
		if (!c->modules[m].is_recorded)
			continue;
		print_module(s, c, m);
		is_any = true;
	}
	if (!is_any)
		puts("no native function was recorded: no module is known");
	putchar('\n');
}

/* In CSV, on stderr. Without it, a module whose functions are not listed would
 * look covered. */
static void csv_unknown(struct session *s, const struct coverage *c)
{
	for (elf_id m = 1; m <= c->module_count; m++) {
		char mark[PATH_MAX];

		snprintf(mark, sizeof(mark), "# %s: ",
			 func_elf(s->funcs, m)->path);
		if (c->modules[m].is_recorded)
			print_unknown(stderr, mark, &c->modules[m]);
	}
}

/* ---- the command -------------------------------------------------------- */

static int coverage_prepare(struct reading *r)
{
	if (arg_all)
		view.table = TABLE_ALL;
	return table_choose(&r->table, &view);
}

/* The ELF files are read here, after the filters were applied: only calls in
 * the selected part make a function one that ran. A trace without any call is
 * no failure; all its functions were never called then. */
static enum cmd_exit coverage_print(struct reading *r)
{
	struct session *const s = r->load.session;
	const struct sym_options options = load_sym_options(&r->load);
	struct coverage *const c = coverage_new(s, &options);

	r->table.source.session = s;
	reading_print_header(&r->load);
	if (r->table.csv)
		csv_unknown(s, c);
	else
		print_modules(s, c);
	print_rows(&r->table, c);
	coverage_free(c);
	return CMD_OK;
}

const struct cmd cmd_coverage = {
	.name = "coverage",
	.args = "DIR",
	.summary = "list functions without a recorded call, and why",
	.about =
	"Reads the trace in the folder DIR and the ELF files of its modules,\n"
	"and lists the native functions without a recorded call, each with\n"
	"the reason: it was not called while weft recorded; its source file\n"
	"was built without -finstrument-functions, so its machine code does\n"
	"not call the hook; it alone is excluded (other functions of its\n"
	"source file are not); or it was inlined everywhere without the hook,\n"
	"so its time counts as its callers'. Calls of an inlined function\n"
	"that was built with the flag are recorded as its own.\n"
	"\n"
	"With a filter, only calls in the selected part count.\n"
	"\n"
	"In a stripped module, only exported functions are known; in a\n"
	"library without any recorded call, none are. Only machine code of\n"
	"x86-64 and aarch64 is read.",
	.opts = opts,
	.refused = refused,
	.prepare = coverage_prepare,
	.print = coverage_print,
	.needs = "ELF modules",
};
