/* cmd_coroutines.c - "weft coroutines": each coroutine and how it spent its
 * life, or coroutines by body. The figures are made by tables/coroutines.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/tables/coroutines.h"
#include "analyzer/tables/filter.h"
#include "analyzer/watch/coroutine_times.h"
#include "analyzer/watch/heap.h"

/* Rows of a list. */
enum { USUAL_TOP = 30 };

/* Values of --by. */
enum { BY_COROUTINE, BY_BODY };
static int arg_by;
static const char *const kinds[] = {
	[BY_COROUTINE] = "coroutine", [BY_BODY] = "body", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = kinds, .help = "a row for each body, and "
	  "one for each coroutine (coroutine) or no others (body)" },
	TABLE_TOP("rows to show", 30),
	TABLE_OPTS(coroutine_view),
	{ .type = OPT_END }
};

/* ---- by body ------------------------------------------------------------ */

/* One row in CSV; in the table three, one for each figure, because the
 * distributions of all three would not fit into a line. */
static void print_group(struct table *t, const struct coroutine_group *g)
{
	const struct coroutine_line lines[] = {
		{ g->body, g, &g->active, "active" },
		{ g->body, g, &g->suspended, "suspended" },
		{ g->body, g, &g->resumes, "resumes" },
	};

	if (t->csv)
		table_row(t, g);
	for (size_t i = 0; i < 3 && !t->csv; i++)
		table_row(t, &lines[i]);
}

/* The bodies with their coroutines' distributions. --columns and --sort are for
 * the list of single ones, so these columns are fixed. */
static void print_groups(const struct load *load)
{
	struct table t = { .source.session = load->session,
			   .csv = table_args.csv };
	const size_t top = table_top(USUAL_TOP);
	size_t count;
	struct coroutine_group *const groups =
		coroutine_groups(load->session, &count);

	table_choose_fixed(&t, t.csv ? &coroutine_group_view :
			   &coroutine_line_view, NULL);
	table_begin(&t);
	for (size_t i = 0; i < count && i < top; i++)
		print_group(&t, &groups[i]);
	table_end(&t);
	if (count == 0 && !t.csv)
		puts("no coroutine was made or ran");
	table_print_rest(count > top ? count - top : 0, "bodies");
	mem_free(groups);
}

/* ---- single ones -------------------------------------------------------- */

/* The list of single coroutines. times: the own times of each, by index; all 0
 * if no column asks for them. */
static void print_rows(const struct load *load, struct table *t,
		       const struct coroutine_times *times,
		       const struct cct_heap *memory)
{
	struct session *const s = load->session;
	struct coroutine_row *const rows = coroutine_rows(s, times->own,
		memory, table_args.sort ? table_args.sort :
		metric_sorting(coroutine_view.metrics, 0));

	t->source.session = s;
	table_print(t, rows, s->coroutine_count, sizeof(*rows), USUAL_TOP,
		    "coroutines");
	mem_free(rows);
}

/* What each coroutine took; NULL: that cannot be read. */
static struct cct_heap *read_memory(struct load *load)
{
	struct session *const s = load->session;
	struct cct_heap *const memory = mem_alloc((s->coroutine_count + 1) *
						  sizeof(*memory));
	uint8_t *const threads = filter_args_threads(s);
	struct heap_table t = { .count = 0 };
	struct heap h;
	int status;

	heap_init(&h, s);
	h.by = HEAP_BY_COROUTINE;
	status = load_again(load, &heap_sink, &h);
	if (status == 0)
		heap_sum_up(&h, threads, 0, UINT64_MAX, &t);
	for (size_t i = 0; i < t.count; i++)
		if (t.rows[i].stack)
			memory[t.rows[i].stack - 1] = t.rows[i].is;
	heap_fini(&h);
	mem_free_all(t.rows, threads, status == 0 ? NULL : memory);
	return status == 0 ? memory : NULL;
}

/* The bodies and then the single coroutines. The own times of coroutines take
 * reading the trace once more, which is done only if a column shows them and
 * there is a coroutine. */
static enum cmd_exit list(struct load *load, struct table *t)
{
	struct session *const s = load->session;
	struct coroutine_times times;
	struct cct_heap *memory = NULL;
	enum cmd_exit status = CMD_OK;

	coroutine_times_init(&times, s);
	if (metric_has(&t->columns, METRIC_REREAD) && s->coroutine_count > 0 &&
	    load_again(load, &coroutine_times_sink, &times) != 0)
		status = CMD_UNREADABLE;
	if (status == CMD_OK && cct_has_heap(s->cct)) {
		memory = read_memory(load);
		status = memory ? CMD_OK : CMD_UNREADABLE;
	}
	if (status == CMD_OK) {
		reading_print_header(load);
		if (!t->csv)
			print_groups(load);
		if (!t->csv && s->coroutine_count > 0)
			putchar('\n');
		print_rows(load, t, &times, memory);
	}
	coroutine_times_fini(&times);
	mem_free(memory);
	return status;
}

/* Keep only coroutines of the processes that --process names. The filters of a
 * load cut the tree, but not the list of coroutines. */
static void keep_processes(struct session *s)
{
	const char *const pattern = filter_args_text(FILTER_PROCESS);
	size_t kept = 0;

	for (size_t i = 0; pattern && i < s->coroutine_count; i++)
		if (filter_match_process(s, s->coroutines[i].process, pattern))
			s->coroutines[kept++] = s->coroutines[i];
	if (pattern)
		s->coroutine_count = kept;
}

/* ---- the command -------------------------------------------------------- */

/* Refuse options that contradict each other. */
static int coroutines_prepare(struct reading *r)
{
	if (arg_by == BY_BODY && (table_args.sort || table_args.columns))
		return err_add("--sort and --columns are for the list of "
			       "single coroutines, not for --by body");
	return table_choose(&r->table, &coroutine_view);
}

/* Both, or the bodies alone. A profile has none of them: it holds no single
 * coroutines. */
static enum cmd_exit coroutines_print(struct reading *r)
{
	/* So --process holds for both. */
	keep_processes(r->load.session);
	if (arg_by == BY_COROUTINE)
		return list(&r->load, &r->table);
	reading_print_header(&r->load);
	print_groups(&r->load);
	return CMD_OK;
}

/* A coroutine's figures are sums that were made while the trace was replayed; a
 * part of them cannot be taken out afterwards. */
static const struct filter_refusal refused[] = {
	{ FILTER_SET(COROUTINE), "weft path --id shows a single coroutine" },
	{ FILTER_FUNCTIONS | FILTER_RANGE | FILTER_SET(THREAD),
	  "the figures are those of a coroutine's whole life; weft report --by "
	  "body shows a part of it" },
	{ 0, NULL }
};

const struct cmd cmd_coroutines = {
	.name = "coroutines",
	.args = "DIR",
	.summary = "list coroutines: resumes, active, suspended",
	.about =
	"Reads the trace in the folder DIR. Shows how many coroutines each\n"
	"body had and the exact distribution of their figures, then one row\n"
	"for each coroutine. A body is a coroutine's outermost function.\n"
	"\n"
	"active is the time from each resume to the next suspension, also\n"
	"that of coroutines resumed in between; suspended is the time from a\n"
	"suspension to the next resume. \"in Lua\" and native are the parts\n"
	"of active in which the coroutine itself ran; in the rest, coroutines\n"
	"that it resumed ran. How long it was ready to run before it was\n"
	"resumed is not known: resume and yield do not say.\n"
	"\n"
	"With 1,000,000 coroutines, it needs 630 MB of memory (with --csv,\n"
	"320 MB).",
	.opts = opts,
	.refused = refused,
	.has_net = true,
	.prepare = coroutines_prepare,
	.print = coroutines_print,
	.needs = "single coroutines",
};
