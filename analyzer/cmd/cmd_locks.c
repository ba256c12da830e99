/* cmd_locks.c - "weft locks": what threads waited for, and whose calls they
 * waited for. The waits are collected by watch/waits in another replay, and
 * given to holders by watch/waits/locks.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/waits/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_TOP = 30 };

/* --object; NULL: not given. */
static const char *arg_object;

/* ---- objects ------------------------------------------------------------ */

struct lock_row {
	struct locks_object o;
	uint32_t pid;
	const char *kind, *symbol; /* what lies in no module has no symbol */
	char *address, *first;   /* whole; mem_free frees them */
};

#define AT(field) METRIC_AT(struct lock_row, field)

static const struct metric lock_metrics[] = {
	{ "waiting", METRIC_TIME, METRIC_SORTS, AT(o.waiting),
	  .help = "of all calls that waited, together" },
	{ "held", METRIC_TIME, METRIC_SORTS, AT(o.held), .drop = 1,
	  .help = "in which at least one waited for a holder" },
	{ "waits", METRIC_COUNT, METRIC_SORTS, AT(o.waits),
	  .help = "calls that waited" },
	{ "longest", METRIC_TIME, METRIC_SORTS, AT(o.longest),
	  .help = "the longest wait" },
	{ "most", METRIC_COUNT, METRIC_SORTS, AT(o.most), .drop = 2,
	  .help = "how many waited at a time" },
	{ "open", METRIC_COUNT, METRIC_SORTS | METRIC_DASH | METRIC_DROP_EMPTY,
	  AT(o.open), .help = "waits that had not ended with the recording" },
	{ "kind", METRIC_TEXT, AT(kind),
	  .help = "mutex, rwlock, semaphore, condition, barrier, join" },
	{ "object", METRIC_TEXT, AT(address),
	  .help = "its address, for --object" },
	{ "symbol", METRIC_TEXT, METRIC_DROP_EMPTY, AT(symbol),
	  .help = "the variable that it is, or is in" },
	{ "pid", METRIC_NUMBER, AT(pid), .drop = 3, .help = "its process" },
	{ "name", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END, "first waited in",
	  "first_waited_in", AT(first), .shrink = 24,
	  .help = "the stack that waited for it first" },
	{ .name = NULL }
};

static const struct metric_view lock_view = {
	lock_metrics,
	"waiting,held,waits,longest,most,open,kind,object,"
	"symbol,name",
	"pid,object,kind,waits,waiting,longest,most,held,open,symbol,name",
};

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "object", .arg = "OBJECT",
	  .to = &arg_object, .help = "the stacks that waited for this object "
	  "(its address, or its symbol), and those whose calls they waited "
	  "for" },
	TABLE_TOP("rows to show", 30),
	TABLE_OPTS(lock_view),
	{ .type = OPT_END }
};

/* The stack that called the one that waited. */
static char *caller_text(const struct waits *w, struct session *s,
			 stack_id stack)
{
	const stack_id below = stack ? stack_table_get(w->stacks, stack)->below
			     : 0;

	return below ? cells_stack(w->stacks, s->funcs, below,
				   table_args.csv) :
	       mem_copy("[thread]");
}

/* A thread that waits for another's end mostly does so on purpose: that comes
 * after what none means to wait for, unless --sort is given. */
static int compare_rows(const void *a, const void *b, void *metric)
{
	const struct lock_row *const x = a, *const y = b;
	const int joins = (x->o.of.kind == WAIT_JOIN) -
			  (y->o.of.kind == WAIT_JOIN);

	return (table_args.sort ? 0 : joins) ?:
	       metric_compare(metric, NULL, a, b) ?:
	       waits_compare(&x->o.of, &y->o.of);
}

/* Of all time in which threads were blocked, what these objects explain. */
static void print_sums(const struct session *s, const struct waits *w)
{
	char all[OUT_NUMBER], of[OUT_NUMBER], calls[OUT_NUMBER];
	char other[OUT_NUMBER];
	ticks sums[WAITS_KINDS] = { 0 }, sum = 0;

	for (size_t i = 0; i < w->time_count; i++)
		for (int k = 0; k < WAITS_KINDS; k++) {
			sums[k] += w->times[i].blocked[k];
			sum += w->times[i].blocked[k];
		}
	if (w->span_count == 0 || sum == 0)
		return;
	table_note("threads were blocked%s for %s: %s for these objects, %s "
		   "in other calls that wait, %s in no recorded call that "
		   "waits",
		   cct_knows_switches(s->cct, NULL, NULL) ?
		   ", without run-wait," : "",
		   out_number_time(all, (double)session_ns(s, sum)),
		   out_number_time(of, (double)session_ns(s, sum -
			sums[WAITS_CALL] - sums[WAITS_OTHER])),
		   out_number_time(calls, (double)session_ns(s,
			sums[WAITS_CALL])),
		   out_number_time(other, (double)session_ns(s,
			sums[WAITS_OTHER])));
}

static enum cmd_exit print_objects(struct reading *r, const struct waits *w,
				   const struct locks_object *list,
				   size_t count)
{
	struct session *const s = r->load.session;
	const struct metric *const by = table_args.sort ? table_args.sort :
					metric_first(&lock_view);
	struct lock_row *const rows = mem_alloc((count + 1) * sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct lock_row){ list[i],
			cells_pid(s, list[i].of.process),
			waits_kind_name(list[i].of.kind),
			waits_symbol(s, &list[i].of),
			mem_print("0x%" PRIx64, list[i].of.address),
			caller_text(w, s, list[i].first) };
	if (count > 1)
		qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)by);
	r->table.source.session = s;
	table_print(&r->table, rows, count, sizeof(*rows), USUAL_TOP,
		    "objects");
	print_sums(s, w);
	if (count == 0)
		table_note("no call waited for an object%s",
			   session_note(s, "waits") ? "" : ": weft record "
			   "--waits records who waits for whom");
	for (size_t i = 0; i < count; i++)
		mem_free_all(rows[i].address, rows[i].first);
	mem_free(rows);
	return CMD_OK;
}

/* ---- the stacks of one -------------------------------------------------- */

struct stack_row {
	const char *role;
	char *stack;
	struct locks_stack is;
};

#undef AT
#define AT(field) METRIC_AT(struct stack_row, field)

/* Fixed columns: no --columns, so no help. */
static const struct metric stack_metrics[] = {
	{ "role", METRIC_TEXT, AT(role) },
	{ "waiting", METRIC_TIME, AT(is.waiting) },
	{ "held", METRIC_TIME, AT(is.held) },
	{ "longest", METRIC_TIME, AT(is.longest) },
	{ "count", METRIC_COUNT, AT(is.count) },
	{ "stack", METRIC_TEXT, METRIC_NAME | METRIC_KEEP_END, AT(stack),
	  .shrink = 24 },
	{ .name = NULL }
};

#define STACK_COLUMNS "role,waiting,held,longest,count,stack"
static const struct metric_view stack_view = {
	stack_metrics, STACK_COLUMNS, STACK_COLUMNS
};

/* What stands for calls that nobody recorded. */
static char *unseen_text(const struct locks_stack *k)
{
	return k->role == LOCKS_FREE ?
	       mem_copy("[let go on, and not yet going on]") :
	       k->owner == 0 ? mem_copy("[not recorded]") :
	       mem_print("[thread %" PRIu32 ", in calls that are not recorded]",
			 k->owner);
}

static void print_stacks(struct reading *r, const struct waits *w,
			 const struct locks_object *o)
{
	struct session *const s = r->load.session;
	size_t count;
	struct locks_stack *const list = locks_stacks(w, o, &count);
	struct stack_row *const rows = mem_alloc((count + 1) * sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct stack_row){ locks_role_name(list[i].role),
			list[i].stack == 0 ? unseen_text(&list[i]) :
			cells_stack(w->stacks, s->funcs, list[i].stack,
				    table_args.csv), list[i] };
	r->table.source.session = s;
	table_print(&r->table, rows, count, sizeof(*rows), USUAL_TOP,
		    "stacks");
	for (size_t i = 0; i < count; i++)
		mem_free(rows[i].stack);
	mem_free_all(rows, list);
}

/* Is it named by its address, or by the variable that it is? */
static bool is_named(const struct session *s, const struct locks_object *o)
{
	char *end;
	const uint64_t address = strtoull(arg_object, &end, 16);

	return (end != arg_object && !*end && o->of.address == address) ||
	       strcmp(waits_symbol(s, &o->of), arg_object) == 0;
}

/* Of several, that for which was waited most. */
static enum cmd_exit print_object(struct reading *r, const struct waits *w,
				  const struct locks_object *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_named(r->load.session, &list[i]))
			continue;
		print_stacks(r, w, &list[i]);
		return CMD_OK;
	}
	err_add("no call waited for an object \"%s\"; weft locks lists those "
		"that calls waited for", arg_object);
	return CMD_USAGE;
}

/* ---- the command -------------------------------------------------------- */

static int locks_prepare(struct reading *r)
{
	if (arg_object && (table_args.sort || table_args.columns))
		return err_add("--sort and --columns are for the list of "
			       "objects, not for the stacks of one");
	if (!arg_object)
		return table_choose(&r->table, &lock_view);
	table_choose_fixed(&r->table, &stack_view, NULL);
	return 0;
}

static enum cmd_exit locks_print(struct reading *r)
{
	enum cmd_exit status = CMD_UNREADABLE;
	struct locks_object *list = NULL;
	struct waits w;
	size_t count;

	waits_init(&w, r->load.session);
	w.from = r->load.want.from;
	w.to = r->load.want.to;
	if (load_again(&r->load, &waits_times_sink, &w) == 0) {
		waits_sort(&w);
		list = locks_list(&w, &count);
		reading_print_header(&r->load);
		status = arg_object ? print_object(r, &w, list, count) :
			 print_objects(r, &w, list, count);
	}
	mem_free(list);
	waits_fini(&w);
	return status;
}

static const struct filter_refusal refused[] = {
	{ FILTER_ALL & ~FILTER_RANGE,
	  "who waits for whom is known of all threads together" },
	{ 0, NULL }
};

const struct cmd cmd_locks = {
	.name = "locks",
	.args = "DIR",
	.summary = "list what threads waited for, and because of whom",
	.about =
	"Reads the trace in the folder DIR, recorded with weft record\n"
	"--waits. Shows a row for each object that calls waited for: a lock,\n"
	"semaphore, condition variable or barrier, or the end of a thread.\n"
	"\n"
	"waiting is the time that all calls waited, together; held is the\n"
	"time in which at least one call waited for another one that then\n"
	"let it go on. A lock that is held while nobody waits does not count.\n"
	"If 100 threads wait 10 ms for a lock, waiting is 1 s and held 10 ms.\n"
	"\n"
	"--object shows the stacks that waited, and those of the calls that\n"
	"let others go on (holders), with the waiting that they caused. The\n"
	"time of each waiter is divided among the holders in turn. If no such\n"
	"call was recorded, it goes to the thread that held the object when\n"
	"the wait began. The time from one of these calls until whoever was\n"
	"next had the object is shown as that of nobody.\n"
	"\n"
	"With --from and --to, times are those between: a wait counts where\n"
	"it begins.",
	.opts = opts,
	.refused = refused,
	.prepare = locks_prepare,
	.print = locks_print,
	.needs = "single waits",
};
