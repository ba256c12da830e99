/* cmd_coverage.c - "weft coverage": the functions that were never called, and
 * those whose calls cannot be seen, each with the reason. Knows the words of
 * the report; the reasons are found in the folder coverage.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/tables/metric.h"
#include "analyzer/coverage/coverage.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <string.h>

/* The options. arg_inlines adds lines below a function, or a field in CSV. */
static size_t arg_top = 100;
static bool arg_all, arg_csv, arg_inlines;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'a', .name = "all", .to = &arg_all,
	  .help = "list every function, also those that ran, with offset, "
	  "size and calls" },
	{ .type = OPT_FLAG, .name = "inlines", .to = &arg_inlines,
	  .help = "below each function, where it was inlined" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names and paths" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* The other filters choose which calls count; this one would hide functions
 * that ran. */
static const struct filter_refusal refused[] = {
	{ FILTER_SET(SKIP), "functions that are skipped would seem never to "
	  "have been called; leave it out" },
	{ 0, NULL }
};

/* The table's columns. Without --all, calls and offset are empty, so their
 * columns go. */
static const struct out_column columns[] = {
	{ .title = "why", .align = OUT_LEFT, .shrink = 20 },
	{ .title = "calls", .align = OUT_RIGHT, .drop_empty = 1 },
	{ .title = "offset", .align = OUT_RIGHT, .drop = 1, .drop_empty = 1 },
	{ .title = "size", .align = OUT_RIGHT, .drop = 2, .drop_empty = 1 },
	{ .title = "inlined", .align = OUT_RIGHT, .drop = 3, .drop_empty = 1 },
	{ .title = "module", .align = OUT_LEFT, .drop = 4, .shrink = 8,
	  .drop_empty = 1 },
	{ .title = "file:line", .align = OUT_LEFT, .shrink = 12,
	  .keep_end = 1, .drop_empty = 1 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 24 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* Is the function a row? A library without any hook would fill the table, so it
 * is left out unless --all is given. What could not be read is always shown. */
static bool is_shown(const struct coverage *c, const struct coverage_row *row)
{
	return arg_all || (coverage_why(row) != COVERAGE_RAN &&
			   (c->modules[row->module].has_hook ||
			    coverage_why(row) == COVERAGE_UNREAD));
}

/* "file.c:12" of a function of a module, as other tables show that of a
 * recorded one. Returns `to`. */
static const char *place(char *to, size_t size,
			 const struct module_function *f)
{
	const struct func func = { .file = f->file, .file_line = f->line };

	return metric_place(to, size, &func);
}

/* Begin a row of which only the last cell is not empty. */
static void skip_cells(struct out_table *table)
{
	for (int k = 0; k < COLUMNS - 1; k++)
		out_table_cell(table, "");
}

/* For --inlines: where the function was inlined, below its own row. The debug
 * information may name more places than were kept; these are counted. */
static void place_rows(struct out_table *table,
		       const struct module_function *f)
{
	for (size_t i = 0; i < f->place_count; i++) {
		skip_cells(table);
		out_table_cellf(table, "  inlined at %s", f->places[i]);
	}
	if (f->inlined > f->place_count) {
		skip_cells(table);
		out_table_cellf(table, "  ... and in %zu more places",
				f->inlined - f->place_count);
	}
}

/* One function. An offset of 0 is a place, too: only a function without an
 * entry (it was inlined everywhere) has none. many: is there more than one
 * module, so that a row must say which it is of? */
static void add_row(struct out_table *table, struct session *s,
		    const struct coverage_row *row, int many)
{
	const struct module_function *const f = row->function;
	char text[OUT_NUMBER], where[512];

	out_table_cell(table, coverage_text(coverage_why(row)));
	out_table_cell(table, arg_all ? out_number_count(text, row->calls) :
		       "");
	if (arg_all && f->entry_count > 0)
		out_table_cellf(table, "0x%" PRIx64, f->offset);
	else
		out_table_cell(table, "");
	out_table_cell(table, f->size == 0 ? "-" :
		       out_number_count(text, f->size));
	out_table_cell(table, f->inlined == 0 ? "-" :
		       out_number_count(text, f->inlined));
	out_table_cell(table, many ? load_file_name(func_elf(s->funcs,
						row->module)->path) : "");
	out_table_cell(table, place(where, sizeof(where), f));
	out_table_cell(table, f->name);
	if (arg_inlines)
		place_rows(table, f);
}

/* Rows in the order of the coverage: by reason, module, file, line. --top cuts
 * the list as a whole, so its last reasons may not show at all; the counts of
 * the modules have them. */
static void print_rows(struct session *s, const struct coverage *c)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!is_shown(c, &c->rows[i]))
			continue;
		if (arg_top == 0 || all++ < arg_top) {
			add_row(table, s, &c->rows[i],
				c->module_count > 1);
			shown++;
		}
	}
	if (shown > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	out_table_free(table);
	if (arg_top > 0 && shown < all)
		printf("... and %zu more (--top 0 shows all)\n", all - shown);
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

/* One module in one or two lines: its counts, and what could not be known of it
 * and why. A module in which no function calls the hook gets a remark, since
 * its functions are not in the table. */
static void print_module(struct session *s, const struct coverage *c, elf_id m)
{
	const struct coverage_module *const its = &c->modules[m];
	char *const path = out_escape_terminal(func_elf(s->funcs, m)->path);
	char *const why = out_escape_terminal(its->why);
	const char *const unknown = cannot_know(its);

	printf("%s:", path[0] ? path : "[unnamed]");
	print_counts(c->counts[m]);
	if (its->count > 0 && !its->has_hook && its->code[0])
		printf("%s", " (no function of it calls the hook; --all lists "
		       "them)");
	putchar('\n');
	if (unknown[0] || why[0])
		printf("  %s%s%s\n", unknown, unknown[0] &&
		       why[0] ? ": " : "", why);
	mem_free(path);
	mem_free(why);
}

/* The modules come before the functions: a reader of "never called" must know
 * first which modules it can be said of. */
static void print_modules(struct session *s, const struct coverage *c)
{
	for (elf_id m = 1; m <= c->module_count; m++)
		print_module(s, c, m);
	if (c->module_count == 0)
		puts("no native function was recorded: no module is known");
	putchar('\n');
}

/* ---- CSV ---------------------------------------------------------------- */

/* A row is of one function. Its inlined places are one field, because rows must
 * all have the same fields; what does not fit into 4 KiB is cut off. */
static void csv_row(struct out_csv *csv, struct session *s,
		    const struct coverage_row *row)
{
	const struct module_function *const f = row->function;
	char text[4096];
	size_t used = 0;

	out_csv_text(csv, f->name);
	out_csv_text(csv, func_elf(s->funcs, row->module)->path);
	out_csv_text(csv, f->file);
	out_csv_number(csv, f->line);
	out_csv_number(csv, f->offset);
	out_csv_number(csv, f->size);
	out_csv_number(csv, row->calls);
	out_csv_number(csv, f->inlined);
	out_csv_text(csv, coverage_text(coverage_why(row)));
	text[0] = '\0';
	/* snprintf returns what it would have written: used may pass the end
	 * once. */
	for (size_t i = 0; i < f->place_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%s", i > 0 ? "; " : "",
					 f->places[i]);
	if (arg_inlines)
		out_csv_text(csv, text);
	out_csv_end(csv);
}

/* What is not known of a module, as a line "# ..." on stderr. Without it, a
 * module whose functions are not listed would look covered. */
static void csv_unknown(struct session *s, const struct coverage *c)
{
	for (elf_id m = 1; m <= c->module_count; m++) {
		const struct coverage_module *const its = &c->modules[m];
		char *const path = out_escape_terminal(
			func_elf(s->funcs, m)->path);
		char *const why = out_escape_terminal(its->why);

		if (its->why[0] || !its->knows_all)
			fprintf(stderr, "# %s: %s%s%s\n", path,
				cannot_know(its), cannot_know(its)[0]
				&& why[0] ? ": " : "", why);
		mem_free(path);
		mem_free(why);
	}
}

/* The head is written by hand: columns do not depend on options, except for the
 * last one. */
static void print_csv(const struct load *load, const struct coverage *c)
{
	struct out_csv csv = { stdout, 0 };

	header_print_losses(load);
	csv_unknown(load->session, c);
	printf("function,module,file,line,offset,size,calls,inlined,why%s\n",
	       arg_inlines ? ",inlined_at" : "");
	for (size_t i = 0; i < c->count; i++)
		if (is_shown(c, &c->rows[i]))
			csv_row(&csv, load->session, &c->rows[i]);
}

/* The ELF files are read here, after the filters were applied: only calls in
 * the selected part make a function one that ran. A trace without any call is
 * no failure; all its functions were never called then. */
static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	struct coverage *c = NULL;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK)
		status = load_need_trace(&load, "ELF modules");
	if (status == CMD_OK) {
		const struct sym_options options = load_sym_options(&load);

		c = coverage_new(load.session, &options);
		if (arg_csv) {
			print_csv(&load, c);
		} else {
			header_print(stdout, &load);
			print_modules(load.session, c);
			print_rows(load.session, c);
		}
	}
	coverage_free(c);
	load_close(&load);
	return status;
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
	"library without any recorded call, none are. Only x86-64 machine\n"
	"code is read.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
