/* cmd_stacks.c - "weft stacks": what every thread and coroutine was doing at
 * given moments. Turns the options into moments and prints stacks;
 * watch/snapshots takes them during a replay.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/snapshots/snapshots.h"

#include <inttypes.h>
#include <string.h>

/* The most moments of --every, so that a typing error ("1us") does not fill the
 * memory. USUAL_TOP: stacks of a moment in the table. */
enum { MOMENTS_MAX = 1000000, USUAL_TOP = 50 };

/* The options. */
static const char *arg_at, *arg_every;
static bool arg_group;

/* --from and --to are among the filters; here they are the bounds of
 * --every. */
static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "at", .arg = "T", .to = &arg_at,
	  .help = "at this time since the start (" TIME_ARGUMENT_UNITS "), or "
	  "at this number of ns since 1970; several: T,T" },
	{ .type = OPT_TEXT, .name = "every", .arg = "STEP", .to = &arg_every,
	  .help = "at intervals of STEP, from the start (or --from) to the "
	  "end (or --to)" },
	{ .type = OPT_FLAG, .name = "group", .to = &arg_group,
	  .help = "show equal stacks only once, with their count" },
	TABLE_TOP("stacks to show at each moment", 50),
	TABLE_CSV("rows for scripts, one per frame: full names, times in ns"),
	{ .type = OPT_END }
};

/* ---- moments ------------------------------------------------------------ */

/* A moment as ns since the start, which is printed, and as the tick for which
 * the snapshots are taken. */
struct moment { uint64_t ns; ticks at; };
struct list { struct moment *moments; size_t count, room; };

/* By time. Equal ticks are in the order of their ns, so that the earliest of
 * them is kept. */
ORDER_BY(compare, struct moment, UP(at) ?: UP(ns))

/* Add a moment, in any order. */
static void add(struct list *l, uint64_t ns, ticks at)
{
	*vec_add(&l->moments, &l->room, &l->count) = (struct moment){ ns, at };
}

/* The moments of --at, which are separated by commas. 0, or -1 with the cause
 * in the chain. */
static int add_each(struct list *l, const struct session *s)
{
	/* strsep writes to its text, and the option's text belongs to argv. */
	char *const texts = mem_copy(arg_at);
	char *rest = texts, *text;
	int status = 0;
	uint64_t ns;
	ticks at;

	while (status == 0 && (text = strsep(&rest, ",")) != NULL) {
		status = time_argument_moment_tick(s, text, "at", &ns, &at);
		if (status == 0)
			add(l, ns, at);
	}
	mem_free(texts);
	return status;
}

/* --from or --to as ns since the start; *ns stays as it is without the
 * option. */
static int read_moment(const struct session *s, enum filter_arg arg,
		       const char *option, uint64_t *ns)
{
	const char *const text = filter_args_text(arg);

	return text ? time_argument_moment(s, text, option, ns) : 0;
}

/* The moments of --every, at most MOMENTS_MAX of them. The end counts, too. 0,
 * or -1 with the cause in the chain. */
static int add_every(struct list *l, const struct session *s)
{
	const uint64_t end = session_duration(s);
	uint64_t step, from = 0, to = end;

	if (time_argument_span(arg_every, "every", &step) != 0 ||
	    read_moment(s, FILTER_FROM, "from", &from) != 0 ||
	    read_moment(s, FILTER_TO, "to", &to) != 0)
		return -1;
	if (step == 0)
		return err_add("--every must be longer than 0");
	to = MIN(end, to);
	/* Counted before any moment is made. */
	if (from <= to && (to - from) / step >= MOMENTS_MAX)
		return err_add("--every %s makes more than %d moments; give a "
			       "longer step, or --from and --to", arg_every,
			       MOMENTS_MAX);
	for (uint64_t ns = from; ns <= to; ns += step)
		add(l, ns, time_argument_tick(s, ns));
	return 0;
}

/* All moments by time, as snapshots need them. Each tick is there once: several
 * ns may mean the same. 0, or -1 with the cause in the chain. */
static int list_moments(struct list *l, const struct session *s)
{
	size_t kept = 0;

	if ((arg_at && add_each(l, s) != 0) ||
	    (arg_every && add_every(l, s) != 0))
		return -1;
	order_sort(l->moments, l->count, compare);
	/* Sorted by tick: equal ones are neighbours. */
	for (size_t i = 0; i < l->count; i++)
		if (kept == 0 || l->moments[kept - 1].at != l->moments[i].at)
			l->moments[kept++] = l->moments[i];
	l->count = kept;
	return 0;
}

/* ---- text --------------------------------------------------------------- */

/* What is printed, and where in the list of moments it is. All pointers but
 * groups are borrowed. */
struct printer {
	struct session *session;
	const struct list *list;
	const uint8_t *threads;  /* by index: is it shown? */
	struct table table;      /* of CSV */
	struct snapshot_groups *groups;  /* NULL: each stack by itself */
	size_t moment;           /* whose heading was printed last, + 1 */
	size_t shown, left;      /* stacks of this moment */
	bool has_body, has_entry, has_old, has_sampled;
};

/* By enum snapshot_state: as CSV says it, and in a sentence. */
static const struct { const char *word, *sentence; } states[] = {
	[SNAPSHOT_RUNNING] = { "running", "running" },
	[SNAPSHOT_READY] = { "run-wait", "run-wait: without a core" },
	[SNAPSHOT_BLOCKED] = { "blocked", "blocked" },
	[SNAPSHOT_LAST] = { "last", "as its last record left it" },
	[SNAPSHOT_OFF] = { "off", "not recorded then" },
	[SNAPSHOT_UNKNOWN] = { "unknown", "not known, records are missing" },
	[SNAPSHOT_SUSPENDED] = { "suspended", "suspended" },
	[SNAPSHOT_MAYBE] = { "maybe",
			     "suspended, unless it ran in missing records" },
	[SNAPSHOT_NEW] = { "new", "made, did not run yet" },
};

/* A frame's function, or what stands for it: the same words as
 * stack_frame_name, for the frames of a snapshot, which keep the number of
 * omitted frames in a field of its own. Written to room, or borrowed. */
static const char *name_of(const struct printer *p,
			   const struct snapshot_frame *f, char room[48])
{
	if (f->func != 0)
		return func_get(p->session->funcs, f->func)->name;
	if (f->flags & STACK_SAMPLED)
		return "[sampled]";
	if (f->omitted == 0)
		return "[open before start]";
	snprintf(room, 48, "[%" PRIu32 " frame%s]", f->omitted,
		 f->omitted == 1 ? "" : "s");
	return room;
}

/* Frame i of the stack, the outermost one being 0. Remembers which marks were
 * used, for the legend. */
static void print_frame(struct printer *p, const struct snapshot_stack *s,
			size_t i)
{
	const struct snapshot_frame *const f = &s->frames[i];
	const bool is_body = f->flags & STACK_BODY;
	const bool enters = f->flags & SNAPSHOT_ENTERS_LUA;
	const bool old = (f->flags & STACK_BEFORE) && f->func != 0;
	char room[48];

	cells_print_frame(is_body ? "~" : enters ? ">" : " ",
			  name_of(p, f, room), old ? " (before)" : "",
			  f->func == 0 ? NULL :
			  func_get(p->session->funcs, f->func));
	if (is_body && !arg_group)
		printf("  [coroutine %" PRIu64 "]", f->coroutine);
	if (f->level > 0 && (i == 0 || s->frames[i - 1].level < f->level))
		fputs("  [signal handler]", stdout);
	putchar('\n');
	p->has_body |= is_body;
	p->has_entry |= enters;
	p->has_old |= old;
	p->has_sampled |= (f->flags & STACK_SAMPLED) != 0;
}

/* A thread that ran but has no frame was in no function; stacks that are not
 * known have no frames either, and their state says so. */
static const char *no_call(const struct snapshot_stack *s)
{
	return s->count == 0 && s->state <= SNAPSHOT_LAST ? ", no call open" :
	       "";
}

/* The heading of a suspended coroutine's stack, with the time since the start
 * at which it was suspended or made. */
static void print_coroutine(const struct printer *p,
			    const struct snapshot_stack *s)
{
	char time[OUT_NUMBER];

	printf("coroutine %" PRIu64 " of process %" PRIu32 ": %s",
	       s->coroutine, cells_pid(p->session, s->process),
	       states[s->state].sentence);
	if (s->state >= SNAPSHOT_SUSPENDED)
		printf(", since %s", out_number_time(time,
		       (double)session_ns(p->session,
				cells_since_start(p->session, s->since))));
	putchar('\n');
}

/* The heading of a thread's stack. The trace may have grown since its threads
 * were counted: then the name is not known. */
static void print_thread(const struct printer *p,
			 const struct snapshot_stack *s)
{
	const char *const name = s->thread < p->session->thread_count ?
				 p->session->threads[s->thread].name : "";

	out_print(stdout, "thread %" PRIu32 "%s%s of process %" PRIu32
		  ": %s%s\n", cells_tid(p->session, s->thread),
		  name[0] ? " " : "", name, cells_pid(p->session, s->process),
		  states[s->state].sentence, no_call(s));
}

/* Say how many stacks of the moment --top left out. */
static void end_moment(struct printer *p)
{
	table_print_rest(p->left, "stacks");
	p->shown = p->left = 0;
}

/* Begin a moment with its heading, unless it is the one at hand. A moment at
 * which no stack is shown has no heading. */
static void begin_moment(struct printer *p, size_t moment)
{
	char time[OUT_NUMBER];

	if (p->moment == moment + 1)
		return;
	end_moment(p);
	if (!table_args.csv)
		printf("%sat %s\n", p->moment > 0 ? "\n" : "",
		       out_number_time(time,
				       (double)p->list->moments[moment].ns));
	p->moment = moment + 1;
}

/* A heading and the frames, outermost first. count: of the equal stacks, with
 * --group; their threads and coroutines are not told apart then. */
static void print_stack(struct printer *p, const struct snapshot_stack *s,
			uint64_t count)
{
	char many[OUT_NUMBER];

	if (arg_group)
		printf("%s: %s%s\n", out_number_many(many, count,
		       s->is_thread ? "threads" : "coroutines"),
		       states[s->state].sentence, no_call(s));
	else if (s->is_thread)
		print_thread(p, s);
	else
		print_coroutine(p, s);
	for (size_t i = 0; i < s->count; i++)
		print_frame(p, s, i);
}

/* Explain the marks that were used, and say so if nothing was printed: empty
 * output could be taken for a failure. */
static void print_legend(const struct printer *p)
{
	if (p->moment == 0)
		puts("nothing ran at any of these moments");
	if (p->has_body || p->has_entry || p->has_old || p->has_sampled)
		putchar('\n');
	if (p->has_entry)
		puts("> is a native call that entered Lua");
	if (p->has_body)
		puts("~ is the body of a coroutine");
	if (p->has_old)
		puts("(before): open since before it was recorded");
	if (p->has_sampled)
		puts("[sampled]: a tick of sampled Lua saw what follows");
}

/* ---- CSV ---------------------------------------------------------------- */

/* A frame as a row of CSV; a stack is as many rows. Texts are empty for what
 * the row has not, since 0 would be a value. */
struct frame_row {
	func_id func;
	uint32_t pid, level;
	uint64_t time_ns, count, coroutine;
	bool is_body, enters_lua, is_old;
	const char *tid, *state, *depth, *name, *since_ns;
};

/* A column that is called as the field is. */
#define COLUMN(name, unit) { #name, unit, METRIC_AT(struct frame_row, name) }

/* No help and no titles: these columns are in CSV alone. */
static const struct metric metrics[] = {
	COLUMN(time_ns, METRIC_NUMBER),
	COLUMN(count, METRIC_NUMBER),
	COLUMN(pid, METRIC_NUMBER),
	COLUMN(tid, METRIC_TEXT),
	COLUMN(coroutine, METRIC_NUMBER),
	COLUMN(state, METRIC_TEXT),
	COLUMN(depth, METRIC_TEXT),
	{ "function", METRIC_TEXT, METRIC_AT(struct frame_row, name) },
	METRIC_PLACE(struct frame_row, func, "", ""),
	COLUMN(level, METRIC_NUMBER),
	COLUMN(is_body, METRIC_NUMBER),
	COLUMN(enters_lua, METRIC_NUMBER),
	COLUMN(is_old, METRIC_NUMBER),
	COLUMN(since_ns, METRIC_TEXT),
	{ .name = NULL }
};

/* The columns of a frame, which both views have. */
#define FRAME "depth,function,language,module,file,line,level,is_body," \
	"enters_lua,is_old"

/* With --group, equal stacks are of many threads: pid, tid, coroutine and
 * since_ns give way to count. */
static const struct metric_view view = {
	metrics, "", "time_ns,pid,tid,coroutine,state," FRAME ",since_ns"
}, group_view = {
	metrics, "", "time_ns,count,state," FRAME
};

/* One row. f: NULL if the stack has no frame. tid is that of a thread's stack,
 * since_ns that of a coroutine's. */
static void csv_frame(struct printer *p, const struct snapshot_stack *s,
		      const struct snapshot_frame *f, uint64_t count)
{
	static const struct snapshot_frame none;
	const struct snapshot_frame *const frame = f ? f : &none;
	char tid[16] = "", depth[24] = "", since[24] = "", room[48];

	if (s->is_thread)
		snprintf(tid, sizeof(tid), "%" PRIu32,
			 cells_tid(p->session, s->thread));
	else if (s->state != SNAPSHOT_UNKNOWN)
		snprintf(since, sizeof(since), "%" PRIu64,
			 session_ns(p->session, cells_since_start(p->session,
								  s->since)));
	if (f)
		snprintf(depth, sizeof(depth), "%zu", (size_t)(f - s->frames));
	table_row(&p->table, &(struct frame_row){
		.func = frame->func, .pid = cells_pid(p->session, s->process),
		.level = frame->level, .count = count,
		.time_ns = p->list->moments[s->moment].ns,
		.coroutine = f ? f->coroutine : s->coroutine,
		.is_body = frame->flags & STACK_BODY,
		.enters_lua = frame->flags & SNAPSHOT_ENTERS_LUA,
		.is_old = frame->flags & STACK_BEFORE,
		.tid = tid, .state = states[s->state].word, .depth = depth,
		.name = f ? name_of(p, f, room) : "", .since_ns = since });
}

/* ---- the command -------------------------------------------------------- */

/* Print a stack that is wanted, unless --top stacks of its moment were. With
 * --group it comes from the groups, count of them. */
static void take_group(void *ctx, const struct snapshot_stack *s,
		       uint64_t count)
{
	struct printer *const p = ctx;

	begin_moment(p, s->moment);
	if (p->shown >= table_top(USUAL_TOP)) {
		p->left++;
		return;
	}
	p->shown++;
	if (!table_args.csv) {
		print_stack(p, s, count);
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		csv_frame(p, s, &s->frames[i], count);
	if (s->count == 0)
		csv_frame(p, s, NULL, count);
}

/* Do --thread and --process include the stack? Suspended coroutines are on no
 * thread, but of a process. */
static bool is_wanted(const struct printer *p, const struct snapshot_stack *s)
{
	const char *const process = filter_args_text(FILTER_PROCESS);

	if (s->is_thread)
		return s->thread < p->session->thread_count &&
		       p->threads[s->thread];
	return !filter_args_text(FILTER_THREAD) &&
	       (!process || filter_match_process(p->session, s->process,
						 process));
}

/* Each stack of each moment, in the order of snapshots_each. */
static void take(void *ctx, const struct snapshot_stack *s)
{
	struct printer *const p = ctx;

	if (!is_wanted(p, s))
		return;
	if (p->groups)
		snapshot_groups_add(p->groups, s);
	else
		take_group(p, s, 1);
}

/* Groups are printed when their moment ends, single stacks as they come.
 * snapshot_groups_finish also frees the groups. */
static void print_all(const struct load *load, struct printer *p,
		      struct snapshots *snapshots)
{
	p->table = (struct table){ .source.session = p->session, .csv = true };
	reading_print_header(load);
	table_choose_fixed(&p->table, arg_group ? &group_view : &view, NULL);
	if (table_args.csv)
		table_begin(&p->table);
	if (arg_group)
		p->groups = snapshot_groups_new(take_group, p);
	snapshots_each(snapshots, p->session->funcs, take, p);
	if (p->groups)
		snapshot_groups_finish(p->groups);
	if (table_args.csv)
		return;
	end_moment(p);
	print_legend(p);
}

/* The moments need the session's clock, so they are read after the trace was;
 * the stacks take another replay. All stacks are collected before the first is
 * printed, because a stack of a moment may be known only from a later
 * record. */
static enum cmd_exit stacks_print(struct reading *r)
{
	struct load *const load = &r->load;
	struct list list = { 0 };
	struct printer p = { .session = load->session, .list = &list };
	enum cmd_exit status = CMD_USAGE;
	struct snapshots *snapshots;
	ticks *at;

	if (list_moments(&list, load->session) == 0) {
		uint8_t *const threads = filter_args_threads(load->session);

		at = mem_alloc((list.count + 1) * sizeof(*at));
		for (size_t i = 0; i < list.count; i++)
			at[i] = list.moments[i].at;
		snapshots = snapshots_new(at, list.count);
		p.threads = threads;
		status = load_again(load, &snapshots_sink, snapshots) == 0 ?
			 CMD_OK : CMD_UNREADABLE;
		if (status == CMD_OK)
			print_all(load, &p, snapshots);
		snapshots_free(snapshots);
		mem_free_all(at, threads);
	}
	mem_free(list.moments);
	return status;
}

/* --from and --to are bounds of --every here; without it they are refused. */
static int stacks_prepare(struct reading *r)
{
	(void)r;
	if (!arg_at && !arg_every)
		return err_add("no moments given; give, for example, --at 1.5s "
			       "or --every 100ms");
	return arg_every ? 0 :
	       filter_args_refuse(FILTER_SET(FROM) | FILTER_SET(TO),
			"--at says the moments; it goes with --every");
}

/* Filters that would cut stacks, or that name a time by a mark. */
static const struct filter_refusal refused[] = {
	{ FILTER_FUNCTIONS, "stacks are shown whole; weft tree shows a part "
	  "of them" },
	{ FILTER_SET(COROUTINE), "stacks are those of threads and of all "
	  "suspended coroutines; weft path --id shows one" },
	{ FILTER_MARKS, "moments are times; give --at, or --every with --from "
	  "and --to" },
	{ 0, NULL }
};

const struct cmd cmd_stacks = {
	.name = "stacks",
	.args = "DIR",
	.summary = "show all stacks at a moment, or at regular intervals",
	.about =
	"Reads the trace in the folder DIR and prints, for each moment, the\n"
	"stitched stack of every thread with the coroutines that run on it,\n"
	"then that of every suspended coroutine. A record at exactly that\n"
	"moment counts as having happened. --thread leaves out suspended\n"
	"coroutines, because they are on no thread.\n"
	"\n"
	"State: running; run-wait (another thread had its core); blocked (it\n"
	"slept); last (as the thread's last record left it: its process goes\n"
	"on, but nothing more was recorded of it); off (not recorded then);\n"
	"unknown (records are missing); suspended; maybe (suspended, unless\n"
	"it ran in missing records); new (made, but has not run yet). While a\n"
	"thread's context switches are not known, running includes run-wait\n"
	"and blocked.\n"
	"\n"
	"In CSV, time_ns counts from the start. tid is empty for a coroutine\n"
	"on no thread. coroutine is the one that the frame belongs to (0: the\n"
	"thread's own stack). depth is 0 for the outermost frame. level is 1\n"
	"or 2 in a signal handler that interrupted a hook. enters_lua is 1\n"
	"for a native frame with a Lua frame on top. is_old is 1 for a call\n"
	"that was already open when its recording began. since_ns is when\n"
	"the coroutine was suspended or made. A stack without frames is one\n"
	"row with empty depth and function. With --group, count (of equal\n"
	"stacks) replaces pid, tid, coroutine and since_ns.",
	.opts = opts,
	.refused = refused,
	.prepare = stacks_prepare,
	.print = stacks_print,
	.needs = "stacks at a moment",
};
