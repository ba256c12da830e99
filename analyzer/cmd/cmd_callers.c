/* cmd_callers.c - "weft callers": a function between those that call it and
 * those that it calls. Knows which rows are shown; the graph and its figures
 * are made by tables/callers.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/cmd/shared/ranking.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/callers.h"
#include "analyzer/tables/filter.h"

#include <stdlib.h>
#include <string.h>

/* What is shown unless --top and --lines are given: functions, and callers or
 * callees of each. */
enum { USUAL_TOP = 20, USUAL_LINES = 10 };

/* The options. SIZE_MAX: not given. */
static size_t arg_lines = SIZE_MAX;
static int arg_root;
static bool arg_all;

/* Values of --root: who is the caller of a coroutine's body. */
enum { ROOT_THREAD, ROOT_COROUTINE };
static const char *const roots[] = {
	[ROOT_THREAD] = "thread", [ROOT_COROUTINE] = "coroutine", NULL
};

/* --lines limits each side of a function, --top the functions; a pattern or
 * --all can mean many of them. */
static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'a', .name = "all", .to = &arg_all,
	  .help = "all functions, by self time, instead of FUNCTION" },
	TABLE_TOP("functions to show", 20),
	{ .type = OPT_NUMBER, .letter = 'l', .name = "lines", .arg = "N",
	  .to = &arg_lines, .help = "callers, and callees, to show for each "
	  "function, the rest in one line; 0 for all (default: 10; with "
	  "--csv, all)" },
	{ .type = OPT_CHOICE, .letter = 'r', .name = "root", .arg = "WHERE",
	  .to = &arg_root, .choices = roots, .help = "put a coroutine's frames "
	  "below what resumed it, or below a root of their own" },
	TABLE_OPTS(callers_views[METRIC_BY_TIME]),
	{ .type = OPT_END }
};

/* ---- which functions ---------------------------------------------------- */

/* The busiest functions first. Equal ones keep the order of their ids, so that
 * the output is the same each time. */
static int by_self(const void *a, const void *b, void *ctx)
{
	const func_id x = *(const func_id *)a, y = *(const func_id *)b;
	const struct callers *const c = ctx;

	return ORDER(c->of[y].self, c->of[x].self) ?: ORDER(x, y);
}

/* Is the function asked for? name NULL: every one is. A name is a pattern; but
 * a name that contains * or | also means itself. */
static bool is_meant(struct session *s, func_id f, const char *name)
{
	return !name || strcmp(func_get(s->funcs, f)->name, name) == 0 ||
	       filter_match_func(s, f, name);
}

/* Those of the functions asked for that ran, by self time; name NULL: all that
 * ran. Sets *count. The caller frees the array. */
static func_id *find_functions(struct session *s, const char *name,
			       struct callers *c, size_t *count)
{
	func_id *const f =
		mem_alloc((func_count(s->funcs) + 1) * sizeof(*f));

	*count = 0;
	/* Ids count from 1; a function of the table need not have run in the
	 * part that is shown. */
	for (func_id id = 1; id <= func_count(s->funcs); id++)
		if (callers_has(c, id) && is_meant(s, id, name))
			f[(*count)++] = id;
	qsort_r(f, *count, sizeof(*f), by_self, c);
	return f;
}

/* No function was found. Only those are guessed at that ran in what is
 * shown. */
static enum cmd_exit refuse(const struct load *load, struct callers *c,
			    const char *name)
{
	struct session *const s = load->session;
	bool *const ran = mem_alloc((func_count(s->funcs) + 1) * sizeof(*ran));

	for (func_id id = 1; id <= func_count(s->funcs); id++)
		ran[id] = callers_has(c, id);
	named_none(s, name, ran, load->is_part ?
		   " in the part that is shown" : "");
	mem_free(ran);
	return CMD_UNREADABLE;
}

/* ---- rows --------------------------------------------------------------- */

/* What is printed, and how; passed down to the rows. ranking.sort: the metric
 * by which the rows of each side are sorted, never NULL. */
struct printer {
	struct table table;
	const struct callers *callers;
	struct ranking ranking;
};

/* A function's calls of itself are among its callers' rows; the table need not
 * repeat them among its callees'. */
static bool is_repeated(const struct callers_row *row)
{
	return row->f.func == row->of && strcmp(row->relation, "callee") == 0;
}

/* Add a row to that of the rest. The wholes that shares are parts of are the
 * same in all rows of a side, except for the calls of a callee: these are parts
 * of that callee's own calls, so the rest of several callees has no share of
 * calls. */
static void add_to(struct callers_row *rest, const struct callers_row *row,
		   bool of_callees)
{
	figures_add(&rest->f, &row->f);
	rest->all_total = row->all_total;
	rest->all_cpu = row->all_cpu;
	rest->all_calls = of_callees ? 0 : row->all_calls;
}

/* The rows of the function's callers, or of its callees, by the sort key. Those
 * beyond --lines become one row, so that the sums in the table still hold:
 * callers' rows add up to the function's own, callees' totals and its self to
 * its total. */
static void print_side(struct printer *p, func_id f, bool of_callees)
{
	const size_t lines = table_limit(arg_lines, USUAL_LINES);
	struct callers_row rest = {
		.of = f, .relation = of_callees ? "callees" : "callers" };
	size_t count, shown = 0, left = 0;
	struct callers_row *const rows = callers_rows(p->callers, f, of_callees,
						      p->ranking.sort, &count);
	char text[OUT_NUMBER];

	for (size_t i = 0; i < count; i++) {
		if (!p->table.csv && is_repeated(&rows[i]))
			continue;
		if (shown < lines) {
			shown++;
			table_row(&p->table, &rows[i]);
		} else {
			left++;
			add_to(&rest, &rows[i], of_callees);
		}
	}
	/* The row borrows the text. */
	snprintf(text, sizeof(text), "... %zu more", left);
	rest.text = text;
	if (left > 0)
		table_row(&p->table, &rest);
	mem_free(rows);
}

/* Callers above, callees below, the function between them. In CSV the
 * function's own row has no other function. */
static void print_function(struct printer *p, func_id f)
{
	struct callers_row own = callers_own(p->callers, f);

	if (p->table.csv)
		own.f.func = 0;
	print_side(p, f, false);
	table_row(&p->table, &own);
	print_side(p, f, true);
}

/* Name, language and place: they tell functions of the same name apart. */
static void print_title(const struct session *s, func_id f)
{
	const struct func *const func = func_get(s->funcs, f);
	const char *const language = func_language(func);
	char place[512];

	metric_place(place, sizeof(place), func);
	if (language[0] != '\0' || place[0] != '\0')
		out_print(stdout, "%s (%s%s%s)\n", func->name, language,
			  language[0] != '\0' && place[0] != '\0' ? ", " : "",
			  place);
	else
		out_print(stdout, "%s\n", func->name);
}

/* A table for each function, because the columns of each fit its own rows. */
static void print_tables(struct printer *p, const func_id *f, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			putchar('\n');
		print_title(p->table.source.session, f[i]);
		table_begin(&p->table);
		print_function(p, f[i]);
		table_end(&p->table);
	}
}

/* CSV is one table for all functions: each of its rows says whose it is. */
static void print_functions(const struct load *load, struct printer *p,
			    const func_id *f, size_t count)
{
	const size_t top = table_top(USUAL_TOP);
	const size_t shown = count < top ? count : top;

	reading_begin_header(load);
	ranking_note(&p->ranking, load->session);
	if (!p->table.csv) {
		putchar('\n');
		if (!p->ranking.has_switches)
			metric_remove(&p->table.columns, METRIC_SWITCHES);
		print_tables(p, f, shown);
		if (shown < count)
			putchar('\n');
		table_print_rest(count - shown, "functions");
		return;
	}
	table_begin(&p->table);
	for (size_t i = 0; i < shown; i++)
		print_function(p, f[i]);
	table_end(&p->table);
}

/* ---- the command -------------------------------------------------------- */

/* Which columns are usual, and the order, depend on what is known of the time
 * on the CPU. */
static enum cmd_exit choose(struct printer *p, struct session *s)
{
	const struct metric_choice choice = {
		.names = table_args.columns, .sort = table_args.sort,
		.csv = p->table.csv };
	struct ranking *const r = &p->ranking;

	if (ranking_choose(r, s, callers_views, table_args.sort) != 0)
		return CMD_USAGE;
	/* What is elapsed time has its shares of that. */
	if (table_args.sort && strcmp(table_args.sort->name, "total") == 0)
		r->by = METRIC_BY_TIME;
	if (metric_choose(&p->table.columns, &callers_views[r->by],
			  &choice) != 0)
		return CMD_USAGE;
	if (!table_args.sort)
		r->sort = metric_find(callers_views, r->has_switches ?
				      "total-cpu" : "total");
	p->table.source = (struct metric_source){ s, NULL, r->has_switches };
	return ranking_check(r) == 0 ? CMD_OK : CMD_UNREADABLE;
}

/* The graph is made of the tree of all threads. A trace without calls is
 * printed, too: its header says what was lost. Only a name that no function has
 * is refused before anything is printed. */
static enum cmd_exit callers_print(struct reading *r)
{
	struct session *const s = r->load.session;
	struct printer p = { .table = r->table };
	enum cmd_exit status = choose(&p, s);
	struct callers *c;
	struct cct *tree;
	size_t count = 0;
	func_id *f;

	if (status != CMD_OK)
		return status;
	tree = cct_reroot(s->cct, &(struct cct_reroot){
		.by_coroutine = arg_root == ROOT_COROUTINE,
		.thread = CCT_ALL_THREADS });
	c = callers_new(tree, func_count(s->funcs));
	f = find_functions(s, r->function, c, &count);
	p.callers = c;
	status = header_need_calls(&r->load);
	if (status == CMD_OK && count == 0 && r->function)
		status = refuse(&r->load, c, r->function);
	else
		print_functions(&r->load, &p, f, count);
	mem_free(f);
	callers_free(c);
	cct_free(tree);
	return status;
}

/* With --all, no operand is a function's name. */
static int callers_prepare(struct reading *r)
{
	if (!arg_all && reading_take_function(r, ", or --all") != 0)
		return -1;
	return table_choose(&r->table, &callers_views[METRIC_BY_TIME]);
}

const struct cmd cmd_callers = {
	.name = "callers",
	.args = "FUNCTION TRACE...",
	.summary = "show what calls a function, and what it calls",
	.about =
	"Reads traces or profiles (several are merged) and prints a function\n"
	"between its callers and its callees. FUNCTION is a name, without its\n"
	"parameters or source if you like, or a pattern such as 'str*'.\n"
	"\n"
	"A caller's row shows what the function did when called from there;\n"
	"these rows add up to the function's row. A callee's row shows the\n"
	"function's time in that callee, until the function is entered again;\n"
	"these totals and the function's self time add up to its total.\n"
	"Times are those on the CPU where the trace tells these; --sort total\n"
	"ranks by elapsed time, --sort total-blocked by waiting. Shares are\n"
	"of the function's calls and time, with two exceptions:\n"
	"in the function's own row they are of the whole recording, and a\n"
	"callee's calls are a share of all calls of that callee. The time of\n"
	"recursive calls is in the total of the outermost call. A coroutine's\n"
	"body has a resumer instead of a caller; [outside] is where stacks\n"
	"begin.",
	.opts = opts,
	.has_net = true,
	.prepare = callers_prepare,
	.print = callers_print,
};
