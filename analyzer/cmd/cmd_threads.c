/* cmd_threads.c - "weft threads": each thread, who made it, what it waited for
 * and what became of it; or those that one stack made, together. The waits are
 * collected by watch/waits in another replay, the rows made there by threads.c.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/waits/threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_TOP = 30 };

static bool arg_group;

/* A thread, or all that were made by one stack. Texts are whole. */
struct row {
	struct threads_row is;
	uint32_t pid, tid;
	ticks start;
	const char *name, *begins, *fate;
	char *at_end, *made_by;
};

#define AT(field) METRIC_AT(struct row, field)
#define TIME(name, field, about, ...) \
	{ name, METRIC_TIME, METRIC_SORTS, AT(field), .help = about, \
	  __VA_ARGS__ }
/* What of blocked it waited for. */
#define PART(name, kind, about) \
	{ name, METRIC_TIME, METRIC_SORTS | METRIC_DROP_EMPTY, \
	  AT(is.times.blocked[WAITS_##kind]), .help = about, .drop = 1 }
#define TIMES \
	TIME("life", is.life, "from its beginning to its end"), \
	TIME("cpu", is.cpu, "the time in which it ran"), \
	TIME("run-wait", is.times.ready, \
	     "the time in which it had no core", .drop = 2), \
	TIME("blocked", is.blocked, "the time in which it slept"), \
	PART("locks", LOCK, "of blocked: for mutexes, read-write locks and " \
	     "semaphores"), \
	PART("conditions", CONDITION, "of blocked: for condition variables " \
	     "and barriers"), \
	PART("joins", JOIN, "of blocked: for the ends of other threads"), \
	PART("calls", CALL, "of blocked: in other calls that wait, as read"), \
	PART("other", OTHER, "of blocked: in none of these")
#define MADE_BY \
	{ "made-by", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END, "made by", \
	  "made_by", AT(made_by), .shrink = 24, \
	  .help = "the stack that made it" }

static const struct metric metrics[] = {
	{ "start", METRIC_TIME, METRIC_SORTS | METRIC_RISES, AT(start),
	  .help = "when it began", .drop = 3 },
	TIMES,
	{ "pid", METRIC_NUMBER, AT(pid), .help = "its process", .drop = 3 },
	{ "tid", METRIC_NUMBER, METRIC_DASH, AT(tid), .help = "its number; "
	  "0: it recorded nothing" },
	{ "name", METRIC_TEXT, AT(name), .help = "its name" },
	{ "begins-in", METRIC_TEXT, METRIC_DROP_EMPTY, "begins in",
	  "begins_in", AT(begins), .shrink = 16, .help = "the function with "
	  "which it began, if it has no name of its own" },
	{ "fate", METRIC_TEXT, AT(fate), .help = "live at the end, ended, "
	  "joined, detached or unknown" },
	{ "owed", METRIC_NUMBER, METRIC_DROP_EMPTY, AT(is.owed),
	  .help = "1: it should have been joined, and was not" },
	{ "at-end", METRIC_TEXT, METRIC_DROP_EMPTY, "at the end", "at_end",
	  AT(at_end), .help = "in which call it waited at the end, and for "
	  "what", .shrink = 24 },
	MADE_BY,
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "start,life,cpu,run-wait,blocked,locks,conditions,joins,"
	"calls,other,tid,name,begins-in,fate,at-end,made-by",
	"pid,tid,name,start,life,cpu,run-wait,blocked,locks,conditions,joins,"
	"calls,other,fate,owed,at-end,made-by,begins-in"
};

static const struct metric group_metrics[] = {
	{ "threads", METRIC_COUNT, AT(is.threads) },
	{ "live", METRIC_COUNT, METRIC_DASH, AT(is.live) },
	{ "owed", METRIC_COUNT, METRIC_DASH, "never joined", "never_joined",
	  AT(is.owed) },
	TIMES,
	MADE_BY,
	{ .name = NULL }
};

#define GROUP_COLUMNS "threads,live,owed,life,cpu,run-wait,blocked,locks," \
	"conditions,joins,calls,other,made-by"
static const struct metric_view group_view = {
	group_metrics, GROUP_COLUMNS, GROUP_COLUMNS
};

/* ---- rows --------------------------------------------------------------- */

/* For what it waited when the records ended. */
static char *end_text(struct session *s, const struct threads_row *r)
{
	const char *const call = r->times.open ?
				 func_get(s->funcs, r->times.open)->name : "";
	char room[24];

	if (r->fate != THREADS_LIVE || !r->open)
		return mem_copy(r->fate == THREADS_LIVE ? call : "");
	return mem_print("%s %s, %s", call, waits_name(s, &r->open->of, room),
			 waits_kind_name(r->open->of.kind));
}

static char *maker_text(const struct waits *w, struct session *s,
			const struct threads_row *r)
{
	return r->made_by ? cells_stack(w->stacks, s->funcs, r->made_by,
					  table_args.csv) :
	       mem_copy(cells_tid(s, r->thread) == cells_pid(s, r->process) ?
			"[main thread]" : "[not known]");
}

static struct row make_row(struct session *s, const struct waits *w,
			   const struct threads_row *r)
{
	static const char *const fates[] = {
		[THREADS_LIVE] = "live", [THREADS_ENDED] = "ended",
		[THREADS_JOINED] = "joined", [THREADS_DETACHED] = "detached",
		[THREADS_UNKNOWN] = "unknown" };
	const bool is_known = r->thread < s->thread_count;

	return (struct row){ .is = *r, .pid = cells_pid(s, r->process),
		.tid = cells_tid(s, r->thread),
		.start = cells_since_start(s, r->from),
		.name = is_known ? s->threads[r->thread].name : "",
		.begins = is_known ? group_start(s, r->thread) : "",
		.fate = fates[r->fate], .at_end = end_text(s, r),
		.made_by = maker_text(w, s, r) };
}

/* All figures of groups have 64 bits. */
static void add_to(struct row *sum, const struct row *r)
{
	for (const struct metric *m = group_metrics; m->name; m++)
		if (m->unit != METRIC_TEXT)
			*(uint64_t *)((char *)sum + m->at) +=
				*(const uint64_t *)((const char *)r + m->at);
}

ORDER_BY(by_maker, struct row, UP(is.made_by) ?: UP(is.process) ?:
	 UP(is.from) ?: UP(is.thread))
ORDER_BY(by_threads, struct row, DOWN(is.threads) ?: UP(is.made_by))

/* By the stacks that made them. The caller frees the array with mem_free; its
 * texts are those of the rows. */
static struct row *group(const struct row *rows, size_t count, size_t *groups)
{
	struct row *const list = mem_alloc((count + 1) * sizeof(*list));
	size_t n = 0;

	memcpy(list, rows, count * sizeof(*list));
	order_sort(list, count, by_maker);
	for (size_t i = 0; i < count; i++)
		if (n > 0 && list[n - 1].is.made_by == list[i].is.made_by)
			add_to(&list[n - 1], &list[i]);
		else
			list[n++] = list[i];
	order_sort(list, n, by_threads);
	*groups = n;
	return list;
}

/* ---- the command -------------------------------------------------------- */

static int compare_rows(const void *a, const void *b, void *metric)
{
	const struct row *const x = a, *const y = b;

	return metric_compare(metric, NULL, a, b) ?: UP(start) ?: UP(tid);
}

/* Who makes threads that nobody joins. */
static void print_owed(struct session *s, const struct waits *w,
		       const struct row *groups, size_t count)
{
	char text[OUT_NUMBER];

	for (size_t i = 0; i < count; i++) {
		const struct threads_row *const g = &groups[i].is;

		if (g->owed > 1 && g->made_by)
			table_note("%s of %s were never joined",
				   out_number_many(text, g->owed, "threads"),
				   func_get(s->funcs, stack_table_get(
					w->stacks, g->made_by)->func)->name);
	}
}

/* Where the kernel's switches are missing, the parts are less than the life. */
static void print_unknown(const struct session *s,
			  const struct threads_row *list, size_t count)
{
	char text[OUT_NUMBER];
	ticks life = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		life += list[i].life;
		known += list[i].cpu + list[i].times.ready + list[i].blocked;
	}
	if (known < life - life / 50)
		table_note("for %s of the threads' lives it is not known "
			   "whether they ran or waited",
			   out_number_time(text, (double)session_ns(s, life -
								    known)));
}

static void print_alive(const struct session *s,
			const struct threads_row *list, size_t count)
{
	char text[OUT_NUMBER];
	uint64_t live = 0;
	ticks at;
	const uint64_t most = threads_most(list, count, &at);

	for (size_t i = 0; i < count; i++)
		live += list[i].fate == THREADS_LIVE;
	table_note("threads that lived at a time: %" PRIu64 " at most, from %s "
		   "on; %" PRIu64 " at the end", most, out_number_time(text,
		   (double)session_ns(s, cells_since_start(s, at))), live);
}

static void print_rows(struct reading *r, const struct waits *w)
{
	struct session *const s = r->load.session;
	const struct metric *const by = table_args.sort ? table_args.sort :
					metric_first(&view);
	size_t count, n;
	struct threads_row *const list = threads_list(s, w, &count);
	struct row *const rows = mem_alloc((count + 1) * sizeof(*rows));
	struct row *groups;

	for (size_t i = 0; i < count; i++)
		rows[i] = make_row(s, w, &list[i]);
	groups = group(rows, count, &n);
	if (count > 1)
		qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)by);
	reading_print_header(&r->load);
	r->table.source.session = s;
	if (arg_group)
		table_print(&r->table, groups, n, sizeof(*groups), USUAL_TOP,
			    "stacks");
	else
		table_print(&r->table, rows, count, sizeof(*rows), USUAL_TOP,
			    "threads");
	print_alive(s, list, count);
	print_unknown(s, list, count);
	print_owed(s, w, groups, n);
	if (!session_note(s, "waits"))
		table_note("weft record --waits also records who makes and "
			   "joins threads, and what they wait for");
	for (size_t i = 0; i < count; i++)
		mem_free_all(rows[i].at_end, rows[i].made_by);
	mem_free_all(rows, groups, list);
}

static int threads_prepare(struct reading *r)
{
	if (arg_group && (table_args.sort || table_args.columns))
		return err_add("--sort and --columns are for the list of "
			       "single threads, not for --group");
	if (!arg_group)
		return table_choose(&r->table, &view);
	table_choose_fixed(&r->table, &group_view, NULL);
	return 0;
}

static enum cmd_exit threads_print(struct reading *r)
{
	enum cmd_exit status = CMD_OK;
	struct waits w;

	waits_init(&w, r->load.session);
	if (load_again(&r->load, &waits_times_sink, &w) != 0)
		status = CMD_UNREADABLE;
	waits_sort(&w);
	if (status == CMD_OK)
		print_rows(r, &w);
	waits_fini(&w);
	return status;
}

static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "the figures are those of a thread's whole life; weft "
	  "report --by thread shows a part of it" },
	{ 0, NULL }
};

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "group", .to = &arg_group,
	  .help = "a row for all threads that one stack made" },
	TABLE_TOP("rows to show", 30),
	TABLE_OPTS(view),
	{ .type = OPT_END }
};

const struct cmd cmd_threads = {
	.name = "threads",
	.args = "DIR",
	.summary = "list threads: who made them, what they waited for, their "
		   "end",
	.about =
	"Reads the trace in the folder DIR. Shows a row for each thread: when\n"
	"it began and how long it lived; the time in which it ran (cpu), had\n"
	"no core (run-wait) and slept (blocked), and what of the latter it\n"
	"waited for; what became of it; and the stack that made it. Below the\n"
	"table it says how many threads lived at a time, and which functions\n"
	"made threads that nobody joined or detached.\n"
	"\n"
	"Who made, joined and detached threads, and what they waited for, is\n"
	"recorded by weft record --waits. Without it, all of blocked is\n"
	"other, and what became of a thread is not known.\n"
	"\n"
	"fate is live if the thread had not ended with the recording, joined,\n"
	"detached, ended (it was made joinable, and nobody joined it), or\n"
	"unknown. A thread without records of its own has no tid, and no\n"
	"times.",
	.opts = opts,
	.refused = refused,
	.prepare = threads_prepare,
	.print = threads_print,
	.needs = "single threads",
};
