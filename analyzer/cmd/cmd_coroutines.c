/* cmd_coroutines.c - "weft coroutines": each coroutine and how it spent its
 * life, coroutines by body, or the history of one. The figures are made by
 * tables/coroutines, and the history by watch/coroutine_history, in another
 * replay.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/coroutines.h"
#include "analyzer/tables/filter.h"
#include "analyzer/tables/tree.h"
#include "analyzer/watch/coroutine_history.h"
#include "analyzer/watch/heap.h"

#include <inttypes.h>

/* Rows of a list, and functions below a history. FUNCTIONS_SHOWN does not
 * follow --top, which counts the steps there. */
enum { USUAL_TOP = 30, FUNCTIONS_SHOWN = 10 };

/* Values of --by. */
enum { BY_COROUTINE, BY_BODY };
static int arg_by;
static const char *const kinds[] = {
	[BY_COROUTINE] = "coroutine", [BY_BODY] = "body", NULL
};

/* --history; NULL: not given. */
static const char *arg_history;
static uint32_t history_pid;
static uint64_t history_serial;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "history", .arg = "ID",
	  .to = &arg_history, .help = "the steps in the life of this "
	  "coroutine; PID:ID if several processes have one with this number" },
	{ .type = OPT_CHOICE, .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = kinds, .help = "also a row for each "
	  "coroutine, or only for each body" },
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

/* ---- the history of one ------------------------------------------------- */

/* A step of a coroutine's life, as its row shows it. slept and active: the span
 * that ended with this step, of which only one is not 0. by: the other
 * coroutine, 0: the thread. */
struct history_row {
	ticks time, slept, active;
	uint32_t tid;
	bool inferred;
	uint64_t by;
	const char *what, *by_function, *stack;
};

/* Fixed columns: no --columns, so no help. */
static const struct metric history_metrics[] = {
	{ "time", METRIC_TIME, METRIC_AT(struct history_row, time) },
	{ "what", METRIC_TEXT, METRIC_AT(struct history_row, what) },
	{ "tid", METRIC_NUMBER, 0, "thread", "tid",
	  METRIC_AT(struct history_row, tid), .drop = 3 },
	{ "by", METRIC_NUMBER, METRIC_DASH | METRIC_DROP_EMPTY,
	  METRIC_AT(struct history_row, by), .drop = 2 },
	{ "by_function", METRIC_TEXT, METRIC_DROP_EMPTY, "by function",
	  METRIC_AT(struct history_row, by_function), .drop = 1,
	  .shrink = 16 },
	{ "slept", METRIC_TIME, METRIC_AT(struct history_row, slept) },
	{ "active", METRIC_TIME, METRIC_AT(struct history_row, active) },
	{ "inferred", METRIC_NUMBER, METRIC_DASH | METRIC_DROP_EMPTY,
	  METRIC_AT(struct history_row, inferred), .drop = 4 },
	{ "stack", METRIC_TEXT, METRIC_NAME,
	  METRIC_AT(struct history_row, stack), .shrink = 24 },
	{ .name = NULL }
};

/* The columns of the history, in the table and in CSV. */
#define HISTORY_COLUMNS "time,what,tid,by,by_function,slept,active,inferred," \
	"stack"

/* The same columns in the table and in CSV. */
static const struct metric_view history_view = {
	history_metrics, HISTORY_COLUMNS, HISTORY_COLUMNS
};

/* The coroutine that --history names; without a PID it must be the only one
 * with its serial. NULL with the cause in the chain. Borrowed from the
 * session. */
static const struct coroutine *find(const struct load *load)
{
	const struct session *const s = load->session;
	const uint64_t serial = history_serial;
	const uint32_t pid = history_pid;
	const struct coroutine *found = NULL;

	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];

		if (c->serial != serial ||
		    (pid != 0 && s->processes[c->process].pid != pid))
			continue;
		if (found) {
			err_add("several processes have a coroutine %" PRIu64
				"; give PID:%" PRIu64, serial, serial);
			return NULL;
		}
		found = c;
	}
	if (!found)
		err_add("there is no coroutine %s; weft coroutines --top 0 "
			"lists them", arg_history);
	return found;
}

/* In the words of the CSV. A suspension is named after its reason. */
static const char *step_name(const struct history_step *step)
{
	return step->kind == HISTORY_CREATE ? "create" :
	       step->kind == HISTORY_RESUME ? "resume" :
	       step->reason == SUSPEND_RETURN ? "return" :
	       step->reason == SUSPEND_ERROR ? "error" :
	       step->reason == SUSPEND_CLOSED ? "close" : "yield";
}

/* stack is the coroutine's own one, without the frames below it. */
static void print_step(struct table *t, const struct coroutine_history *h,
		       const struct history_step *step)
{
	struct session *const s = t->source.session;
	char *const stack = stack_table_text(h->stacks, s->funcs, step->stack,
					t->csv ? ";" : " > ");

	table_row(t, &(struct history_row){
		.time = cells_since_start(s, step->tick),
		.slept = step->kind == HISTORY_RESUME ? step->span : 0,
		.active = step->kind == HISTORY_SUSPEND ? step->span : 0,
		.tid = cells_tid(s, step->thread),
		.inferred = step->is_inferred, .by = step->by,
		.what = step_name(step),
		.by_function = step->by_func == 0 ? "" :
			       func_get(s->funcs, step->by_func)->name,
		.stack = stack });
	mem_free(stack);
}

/* All steps that the history kept, which are the first --top of them. */
static void print_steps(struct session *s, const struct coroutine_history *h)
{
	struct table t = { .source.session = s, .csv = table_args.csv };

	table_choose_fixed(&t, &history_view, NULL);
	table_begin(&t);
	for (size_t i = 0; i < h->count; i++)
		print_step(&t, h, &h->steps[i]);
	table_end(&t);
}

/* The functions that the coroutine ran itself, by falling self, and what is
 * left of its active time: what it resumed, or what no function was recorded
 * for. */
static void print_functions(struct session *s,
			    const struct coroutine_history *h,
			    const struct coroutine *c)
{
	static const struct tree_style flat = { 0 };
	struct table t = { .source = { s, &flat, false } };
	char text[OUT_NUMBER];
	ticks own = 0;

	puts("\nwhat it ran itself:");
	table_choose_fixed(&t, tree_views, "self,calls,name");
	table_begin(&t);
	for (size_t i = 0; i < h->func_count; i++) {
		const struct history_func *const f = &h->funcs[i];

		own += f->self;
		if (i < FUNCTIONS_SHOWN)
			table_row(&t, &(struct tree_row){ .kind = TREE_FUNC,
				.f = { .func = f->func, .self = f->self,
				       .calls = f->calls } });
	}
	table_end(&t);
	if (h->func_count > FUNCTIONS_SHOWN)
		printf("... and %s\n", out_number_many(text,
		       h->func_count - FUNCTIONS_SHOWN, "functions"));
	if (c->active > own)
		printf("%s in no known function, or in coroutines it "
		       "resumed\n", out_number_time(text,
		       (double)session_ns(s, c->active - own)));
	printf("weft tree --coroutine %" PRIu64 " shows its tree\n", c->serial);
}

/* Who it is, and the sums of its whole life. */
static void print_title(const struct session *s, const struct coroutine *c)
{
	char active[OUT_NUMBER], suspended[OUT_NUMBER], resumes[OUT_NUMBER];

	out_print(stdout, "coroutine %" PRIu64 " of process %" PRIu32 ": %s\n",
		  c->serial, s->processes[c->process].pid, c->body == 0 ?
		  "[never ran]" : func_get(s->funcs, c->body)->name);
	printf("active %s, suspended %s, %s\n\n",
	       out_number_time(active, (double)session_ns(s, c->active)),
	       out_number_time(suspended, (double)session_ns(s, c->suspended)),
	       out_number_many(resumes, c->resumes, "resumes"));
}

/* In CSV only the steps: the rest has other columns. */
static void print_history(const struct load *load, const struct coroutine *c,
			  const struct coroutine_history *h)
{
	const uint64_t steps = h->creates + h->resumes + h->suspends;

	reading_print_header(load);
	if (!table_args.csv)
		print_title(load->session, c);
	print_steps(load->session, h);
	if (table_args.csv)
		return;
	table_print_rest(steps - h->count, "steps");
	print_functions(load->session, h, c);
}

/* Reads the trace once more, for one coroutine; its steps come thread by thread
 * and are sorted afterwards. */
static enum cmd_exit history(struct load *load)
{
	const size_t top = table_top(USUAL_TOP);
	const struct coroutine *const c = find(load);
	struct coroutine_history h;
	enum cmd_exit status = CMD_OK;

	if (!c)
		return CMD_USAGE;
	coroutine_history_init(&h, load->session, c->process, c->serial,
			       top == SIZE_MAX ? 0 : top);
	if (load_again(load, &coroutine_history_sink, &h) != 0)
		status = CMD_UNREADABLE;
	coroutine_history_sort(&h);
	if (status == CMD_OK)
		print_history(load, c, &h);
	coroutine_history_fini(&h);
	return status;
}

/* ---- the command -------------------------------------------------------- */

/* Refuse options that contradict each other. */
static int coroutines_prepare(struct reading *r)
{
	const bool is_history = arg_history;

	if (is_history && filter_args_coroutine("history", arg_history,
						&history_pid,
						&history_serial) != 0)
		return -1;
	if (is_history && arg_by == BY_BODY)
		return err_add("--by body shows many coroutines, --history "
			       "shows a single one: leave one option out");
	if ((is_history || arg_by == BY_BODY) &&
	    (table_args.sort || table_args.columns))
		return err_add("--sort and --columns are for the list of "
			       "single coroutines, not for %s", is_history ?
			       "the history of one" : "--by body");
	return table_choose(&r->table, &coroutine_view);
}

/* Three reports of one command: the history of one, the list, the bodies. A
 * profile has none of them: it holds no single coroutines. */
static enum cmd_exit coroutines_print(struct reading *r)
{
	/* So --process holds for all three. */
	keep_processes(r->load.session);
	if (arg_history)
		return history(&r->load);
	if (arg_by == BY_COROUTINE)
		return list(&r->load, &r->table);
	reading_print_header(&r->load);
	print_groups(&r->load);
	return CMD_OK;
}

/* A coroutine's figures are sums that were made while the trace was replayed; a
 * part of them cannot be taken out afterwards. */
static const struct filter_refusal refused[] = {
	{ FILTER_SET(COROUTINE), "--history shows a single coroutine" },
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
	"--history ID shows each step in the life of that coroutine: the\n"
	"coroutine (by; 0: the thread) and the function that made it, resumed\n"
	"it, or got control back from it; how long it had been suspended or\n"
	"active; and its own stack at that time. A step is inferred if it was\n"
	"only seen at the next event.\n"
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
