/* callers_print.c - the lines about one function: above its own those of its
 * callers, below it those of its callees.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/callers_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/base/mem.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <string.h>

static const struct out_column columns[] = {
	{ .title = "", .align = OUT_LEFT },
	{ .title = "calls", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "recursive", .align = OUT_RIGHT, .drop = 4,
	  .drop_empty = 1 },
	{ .title = "total", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "self", .align = OUT_RIGHT },
	{ .title = "suspended", .align = OUT_RIGHT, .drop = 2,
	  .drop_empty = 1 },
	{ .title = "lang", .align = OUT_LEFT, .drop = 2 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 24,
	  .is_name = 1 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* A line: its figures, and what its shares are parts of. */
struct line {
	const char *relation;
	struct callers_figures f;
	uint64_t all_calls;
	ticks all_total;
	func_id func;            /* 0: [outside], or text */
	const char *text;
};

static struct line line_of(const struct callers_print *p,
			   const struct callers_arc *arc, int is_callee)
{
	const struct callers_figures *const whole =
		&p->callers->of[is_callee ? arc->from : arc->to];
	struct line line = {
		.relation = is_callee ? arc->resumes ? "resumed" : "callee" :
			    arc->resumes ? "resumer" :
			    arc->from == arc->to ? "itself" : "caller",
		.f = arc->of, .all_calls = p->callers->of[arc->to].calls,
		.all_total = whole->total,
		.func = is_callee ? arc->to : arc->from
	};

	if (is_callee) {
		line.f.total = arc->total_of;
		line.f.suspended = arc->suspended_of;
	}
	return line;
}

static void add_line(struct out_table *table, const struct callers_print *p,
		     const struct line *line, int indent)
{
	const struct callers_figures *const f = &line->f;
	char text[OUT_NUMBER], name[2048];

	out_table_cell(table, line->relation);
	out_table_cell(table, out_number_count(text, f->calls));
	out_table_cell(table, line->all_calls == 0 ? "" :
		       out_number_share(text, f->calls, line->all_calls));
	out_table_cell(table, f->recursive == 0 ? "-" :
		       out_number_count(text, f->recursive));
	cells_time(table, p->session, f->total);
	out_table_cell(table, line->all_total == 0 ? "" :
		       out_number_share(text, f->total, line->all_total));
	cells_time(table, p->session, f->self);
	cells_time(table, p->session, f->suspended);
	out_table_cell(table, line->func == 0 ? "" : func_language(
		       func_get(p->session->funcs, line->func)));
	snprintf(name, sizeof(name), "%*s%s", indent, "",
		 line->text != NULL ? line->text : line->func == 0 ?
		 "[outside]" : func_get(p->session->funcs, line->func)->name);
	out_table_cell(table, name);
}

/* A function's calls of itself stand among its callers; as callees they would
 * say it once more. */
static int is_shown(const struct callers_arc *arc, int is_callee)
{
	return !is_callee || arc->from != arc->to || arc->resumes;
}

static void add_lines(struct out_table *table, const struct callers_print *p,
		      const struct callers_arc **arcs, size_t count,
		      int is_callee)
{
	struct line rest = { .relation = is_callee ? "callees" : "callers" };
	size_t shown = 0, left = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < count; i++) {
		const struct line line = line_of(p, arcs[i], is_callee);

		if (!is_shown(arcs[i], is_callee))
			continue;
		if (p->lines == 0 || shown < p->lines) {
			shown++;
			add_line(table, p, &line, 4);
			continue;
		}
		left++;
		rest.f.calls += line.f.calls;
		rest.f.recursive += line.f.recursive;
		rest.f.total += line.f.total;
		rest.f.self += line.f.self;
		rest.f.suspended += line.f.suspended;
		rest.all_total = line.all_total;
		rest.all_calls = is_callee ? 0 : line.all_calls;
	}
	snprintf(text, sizeof(text), "... %zu more", left);
	rest.text = text;
	if (left > 0)
		add_line(table, p, &rest, 4);
}

/* Which of several namesakes it is. */
static void print_title(const struct callers_print *p, func_id f)
{
	const struct func *const func = func_get(p->session->funcs, f);
	char place[512];
	char *const name = out_escape_terminal(func->name);
	char *const at = out_escape_terminal(cells_place(place, sizeof(place),
							func));
	const char *const language = func_language(func);

	printf("%s", name);
	if (language[0] != '\0' || at[0] != '\0')
		printf(" (%s%s%s)", language,
		       language[0] != '\0' && at[0] != '\0' ? ", " : "", at);
	putchar('\n');
	mem_free(name);
	mem_free(at);
}

void callers_print_table(const struct callers_print *p, func_id f)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const struct callers_figures *const own = &p->callers->of[f];
	const struct line line = {
		.relation = "function", .f = *own, .all_calls = p->calls,
		.all_total = p->time, .func = f };
	size_t into, out;
	const struct callers_arc **const callers =
		callers_into(p->callers, f, p->key, &into);
	const struct callers_arc **const callees =
		callers_out_of(p->callers, f, p->key, &out);

	add_lines(table, p, callers, into, 0);
	add_line(table, p, &line, 0);
	add_lines(table, p, callees, out, 1);
	print_title(p, f);
	out_table_print(table, stdout, out_table_terminal(stdout));
	out_table_free(table);
	mem_free(callers);
	mem_free(callees);
}

/* --- CSV -------------------------------------------------------------- */

static void csv_line(struct out_csv *csv, const struct callers_print *p,
		     func_id f, const struct line *line, const char *relation)
{
	struct session *const s = p->session;

	out_csv_text(csv, relation);
	cells_csv_func(csv, s, f);
	cells_csv_func_or(csv, s, line->func, line->text);
	out_csv_number(csv, line->f.calls);
	out_csv_number(csv, line->f.recursive);
	out_csv_number(csv, session_ns(s, line->f.self));
	out_csv_number(csv, session_ns(s, line->f.total));
	out_csv_number(csv, session_ns(s, line->f.suspended));
	out_csv_end(csv);
}

static void csv_lines(struct out_csv *csv, const struct callers_print *p,
		      func_id f, int is_callee)
{
	size_t count;
	const struct callers_arc **const arcs = is_callee ?
		callers_out_of(p->callers, f, p->key, &count) :
		callers_into(p->callers, f, p->key, &count);

	for (size_t i = 0; i < count; i++) {
		struct line line = line_of(p, arcs[i], is_callee);

		line.text = "[outside]";
		csv_line(csv, p, f, &line, is_callee || arcs[i]->resumes ?
			 line.relation : "caller");
	}
	mem_free(arcs);
}

void callers_print_csv(const struct callers_print *p, const func_id *f,
		       size_t count)
{
	struct out_csv csv = { stdout, 0 };

	puts("relation," CELLS_FUNC_COLUMNS ",other,other_language,"
	     "other_module,other_file,other_line,calls,recursive,self_ns,"
	     "total_ns,suspended_ns");
	for (size_t i = 0; i < count; i++) {
		const struct line own = { .f = p->callers->of[f[i]],
					  .text = "" };

		csv_lines(&csv, p, f[i], 0);
		csv_line(&csv, p, f[i], &own, "function");
		csv_lines(&csv, p, f[i], 1);
	}
}
