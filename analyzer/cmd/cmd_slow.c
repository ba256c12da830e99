/* cmd_slow.c - "weft slow": how long a function's calls took, and the slowest
 * of them one by one. The calls are found by watch/slow, in another replay.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/named.h"
#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/slow/slow.h"

#include <inttypes.h>
#include <string.h>

/* The options. arg_sort: an enum slow_key; NULL and SIZE_MAX: not given. */
static size_t arg_top = 10, arg_depth = SIZE_MAX;
static const char *arg_longer;
static int arg_sort;

static const char *const sort_keys[] = { SLOW_KEY_NAMES, NULL };

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "the time that ranks the calls" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "calls to show; 0 for all, which keeps them "
	  "all in memory" },
	{ .type = OPT_TEXT, .name = "longer", .arg = "T", .to = &arg_longer,
	  .help = "only calls of at least that long (" TIME_ARGUMENT_UNITS
	  ")" },
	{ .type = OPT_NUMBER, .letter = 'd', .name = "depth", .arg = "N",
	  .to = &arg_depth, .help = "innermost frames of a stack to show, 0 "
	  "for all (default: 30); not for --csv, which has all" },
	TABLE_CSV("rows for scripts: full names, times in ns"),
	{ .type = OPT_END }
};

/* What is printed, all borrowed. found is complete when printing begins. */
struct printer {
	struct session *session;
	const struct slow_found *found;
	const char *pattern, *trace;
	size_t functions;        /* how many match the pattern */
	bool has_switches;       /* is what they waited known? */
	bool has_notes;          /* is what Lua collected? */
	struct map *bodies;      /* by process and serial of a coroutine */
};

/* Ticks as ns, for out_number_time. */
static double ns_of(const struct printer *p, ticks t)
{
	return (double)session_ns(p->session, t);
}

/* ---- all calls ---------------------------------------------------------- */

/* Columns of the longest bar. */
enum { BAR = 40 };

/* The shortest call of an octave. */
static ticks octave_begin(size_t i)
{
	return hist_least((uint32_t)i * HIST_OCTAVE);
}

/* A line: the octave's range, its calls, and a bar as long as its share of
 * `most`. An octave with any call has a bar of at least one #. */
static void print_octave(const struct printer *p, size_t i, uint64_t count,
			 uint64_t most)
{
	static const char bar[] = "########################################";
	char low[OUT_NUMBER], high[OUT_NUMBER], many[OUT_NUMBER];
	const double share = (double)count / (double)most;
	const int length = count == 0 ? 0 : 1 + (int)(share * (BAR - 1));

	printf("%10s ..%10s %12s  %.*s\n",
	       out_number_time(low, ns_of(p, octave_begin(i))),
	       out_number_time(high, ns_of(p, octave_begin(i + 1))),
	       out_number_count(many, count), length, bar);
}

/* From the first octave with a call to the last one; empty ones between them
 * are lines, too, because gaps tell of two kinds of calls. Bars are parts of
 * the fullest octave, not of all calls: the shape is what counts. The very last
 * octave would end beyond 64 bits and has no line. */
static void print_histogram(const struct printer *p)
{
	uint64_t count[HIST_OCTAVES] = { 0 }, most = 1;
	size_t first = HIST_OCTAVES, last = 0;

	for (size_t i = 0; i < HIST_STEPS; i++)
		count[i / HIST_OCTAVE] += p->found->steps[i];
	for (size_t i = 0; i < HIST_OCTAVES; i++) {
		if (count[i] == 0)
			continue;
		first = first == HIST_OCTAVES ? i : first;
		last = i;
		most = count[i] > most ? count[i] : most;
	}
	for (size_t i = first; i <= last && i + 1 < HIST_OCTAVES; i++)
		print_octave(p, i, count[i], most);
}

/* A percentile in thousandths, as a time. `to` has OUT_NUMBER bytes. The least
 * and the greatest call bound it: they are exact. */
static const char *quantile(const struct printer *p, unsigned part, char *to)
{
	const struct slow_found *const f = p->found;

	return out_number_time(to, ns_of(p, hist_quantile(f->steps, f->ended,
					 part, f->least, f->most)));
}

/* The distribution of the calls that ended. */
static void print_lengths(const struct printer *p)
{
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER], d[OUT_NUMBER];

	printf("p50 %s, p95 %s, p99 %s (within 6%%), max %s\n\n",
	       quantile(p, 500, a), quantile(p, 950, b), quantile(p, 990, c),
	       out_number_time(d, ns_of(p, p->found->most)));
	print_histogram(p);
}

/* How long the calls took, and how many are not in these figures. The mean is
 * of ticks: the sum is turned into ns only at the end. */
static void print_all(const struct printer *p)
{
	const struct slow_found *const f = p->found;
	char text[OUT_NUMBER];

	out_print(stdout, "%s: %s", p->pattern,
		  out_number_many(text, f->ended, "calls"));
	if (p->functions > 1)
		printf(" of %s", out_number_many(text, p->functions,
						 "functions"));
	if (f->ended > 0)
		printf(", mean %s", out_number_time(text, (double)f->sum * 1e9 /
		       (double)p->session->tick_hz / (double)f->ended));
	putchar('\n');
	if (f->ended > 0)
		print_lengths(p);
	if (f->open > 0)
		printf("%s open at the end or where records are missing: in "
		       "the list below, not above\n",
		       out_number_many(text, f->open, "calls"));
	if (f->unknown > 0)
		printf("%s open since before the recording saw it: in "
		       "neither\n", out_number_many(text, f->unknown, "calls"));
}

/* ---- one call ----------------------------------------------------------- */

/* NULL for frames left out, or open before the recording saw them. */
static const struct func *func_of(const struct printer *p,
				  const struct stack_frame *f)
{
	return !f || f->func == 0 || (f->flags & STACK_OMITTED) ? NULL :
	       func_get(p->session->funcs, f->func);
}

/* A native frame with a Lua frame directly on top. */
static bool enters_lua(const struct func *f, const struct func *on_top)
{
	return f && on_top && on_top->kind == FUNC_LUA &&
	       (f->kind == FUNC_NATIVE || f->kind == FUNC_CODE);
}

/* One frame with its mark: ~ is the body of a coroutine, > is a native call
 * that entered Lua. on_top: the frame above it, or NULL. */
static void print_frame(const struct printer *p, const struct stack_frame *f,
			const struct stack_frame *on_top)
{
	const bool enters = enters_lua(func_of(p, f), func_of(p, on_top));
	char room[48];

	fputs("  ", stdout);
	cells_print_frame(f->flags & STACK_BODY ? "~" : enters ? ">" : " ",
			  stack_frame_name(p->session->funcs, f, room), "",
			  func_of(p, f));
	putchar('\n');
}

/* The innermost frames, --depth of them, printed from the outermost one on, as
 * weft tree does. The ids lead from the innermost frame outwards, so the array
 * is filled from its end. */
static void print_stack(const struct printer *p, stack_id id)
{
	const struct stack_table *const t = p->found->stacks;
	const size_t n = stack_table_depth(t, id);
	const size_t shown = arg_depth != 0 && n > arg_depth ? arg_depth : n;
	const struct stack_frame **const frames =
		mem_alloc((shown + 1) * sizeof(*frames));
	char text[OUT_NUMBER];

	/* The last one stays NULL. */
	for (size_t i = shown; i-- > 0; id = frames[i]->below)
		frames[i] = stack_table_get(t, id);
	if (shown < n)
		printf("      ... %s (--depth 0 shows all)\n",
		       out_number_many(text, n - shown, "frames"));
	for (size_t i = 0; i < shown; i++)
		print_frame(p, frames[i], frames[i + 1]);
	mem_free(frames);
}

/* What of its total it was on the CPU and not, and collected garbage, as far as
 * that is known. */
static void print_parts(const struct printer *p, const struct slow_call *c)
{
	const struct slow_parts *const of = &c->parts;
	const ticks blocked = figures_blocked(of->off, of->ready);
	char text[OUT_NUMBER];

	if (p->has_switches && !slow_knows_switches(c))
		printf(", of %s it is not known whether it ran",
		       out_number_time(text, ns_of(p, of->unknown)));
	else if (of->off > 0)
		printf(", cpu %s", out_number_time(text, ns_of(p, c->total -
							       of->off)));
	if (of->collecting > 0)
		printf(", collecting %s",
		       out_number_time(text, ns_of(p, of->collecting)));
	if (of->ready > 0)
		printf(", run-wait %s",
		       out_number_time(text, ns_of(p, of->ready)));
	if (blocked > 0)
		printf(", blocked %s",
		       out_number_time(text, ns_of(p, blocked)));
}

/* Which coroutine, and with which function it begins, unless that is the call
 * itself. */
static void print_coroutine(const struct printer *p, const struct slow_call *c)
{
	const func_id body = map_find(p->bodies, c->process, c->coroutine);
	char *name;

	if (c->coroutine == 0)
		return;
	printf(", coroutine %" PRIu64, c->coroutine);
	if (body == 0 || body == c->func)
		return;
	name = cells_name(func_get(p->session->funcs, body)->name);
	out_print(stdout, " of %s", name);
	mem_free(name);
}

/* One call: its times, where it began, how it ended, its stack. The usual
 * things (a return, no suspension, one process) are not said. */
static void print_call(const struct printer *p, size_t i)
{
	const struct slow_call *const c = &p->found->calls[i];
	const struct session *const s = p->session;
	char a[OUT_NUMBER];

	printf("\n%zu. %s", i + 1, out_number_time(a, ns_of(p, c->total)));
	printf(", self %s", out_number_time(a, ns_of(p, c->self)));
	/* What is 0 in most calls is left out. */
	print_parts(p, c);
	if (c->suspended > 0)
		printf(", suspended %s",
		       out_number_time(a, ns_of(p, c->suspended)));
	printf("; began at %s on thread %" PRIu32,
	       out_number_time(a, ns_of(p, cells_since_start(s, c->begin))),
	       cells_tid(s, c->thread));
	if (s->process_count > 1)
		printf(" of process %" PRIu32, cells_pid(s, c->process));
	print_coroutine(p, c);
	if (c->level > 0)
		fputs(", in a signal handler", stdout);
	if (c->end != SLOW_RETURNED)
		printf(", %s", c->end == SLOW_CUT ?
		       "cut: records are missing" : c->end == SLOW_OPEN ?
		       "open at the end" : slow_list_end(c->end));
	puts(c->is_partial ? " (self at least)" : "");
	print_stack(p, c->stack);
}

/* How to see what a call spent its time in. A filter, unlike FUNCTION, does not
 * match the last part of a name, so it may have to be the whole one. One of a
 * coroutine may have moved between threads. */
static void print_more(const struct printer *p, const struct slow_call *c)
{
	struct session *const s = p->session;
	const uint64_t from = session_ns(s, cells_since_start(s, c->begin));
	const uint32_t pid = cells_pid(s, c->process);
	char *const name = filter_match_func(s, c->func, p->pattern) ?
			   out_escape_shell(p->pattern) :
			   cells_pattern(func_get(s->funcs, c->func)->name);
	char *const trace = reading_words(1, &p->trace);
	char *const options = load_words(false);

	out_print(stdout, "\nweft tree --under %s --from %" PRIu64 "ns --to %"
		  PRIu64 "ns", name, from,
		  from + session_ns(s, c->total + c->suspended));
	if (c->coroutine != 0)
		printf(" --coroutine %" PRIu32 ":%" PRIu64, pid, c->coroutine);
	else
		printf(" --thread %" PRIu32, cells_tid(s, c->thread));
	out_print(stdout, " %s%s\n", options, trace);
	puts("shows what the first spent its time in");
	mem_free_all(name, trace, options);
}

/* Those in handlers have no path, and filters may leave out slower ones. */
static void print_path(const struct printer *p, const struct slow_call *c)
{
	char *const name = out_escape_shell(p->pattern);
	char *const trace = reading_words(1, &p->trace);
	char *const options = load_words(false);

	if (!filter_args_has(FILTER_ALL) && c->level == 0) {
		out_print(stdout, "weft path --call %s --sort %s %s%s\n",
			  name, sort_keys[arg_sort], options, trace);
		puts("shows step by step what it did, and for whom it waited");
	}
	mem_free_all(name, trace, options);
}

/* ---- CSV ---------------------------------------------------------------- */

/* A call as a row of CSV. Times are ticks; start is since the session's first
 * record. */
struct slow_row {
	func_id func;
	uint32_t pid, tid, level;
	uint64_t coroutine;
	ticks start, total, self, suspended, wall, off, ready, collecting;
	bool has_switches, has_notes;
	bool is_partial;
	const char *name, *end, *stack;
};

/* A column that is called as the field is. */
#define COLUMN(name, unit) { #name, unit, METRIC_AT(struct slow_row, name) }

/* Parts of its total: cpu, run-wait or blocked. */
static METRIC_GETTER(get_part)
{
	const struct slow_row *const r = row;

	v->is_unknown = !r->has_switches;
	v->count = m->name[0] == 'c' ? r->total - r->off :
		   m->name[0] == 'r' ? r->ready :
		   figures_blocked(r->off, r->ready);
}

static METRIC_GETTER(get_collecting)
{
	const struct slow_row *const r = row;

	v->is_unknown = !r->has_notes;
	v->count = r->collecting;
}

/* No help and no titles: these columns are in CSV alone. */
static const struct metric metrics[] = {
	COLUMN(pid, METRIC_NUMBER),
	COLUMN(tid, METRIC_NUMBER),
	COLUMN(coroutine, METRIC_NUMBER),
	{ "function", METRIC_TEXT, METRIC_AT(struct slow_row, name) },
	METRIC_PLACE(struct slow_row, func, "", ""),
	COLUMN(level, METRIC_NUMBER),
	COLUMN(start, METRIC_TIME),
	COLUMN(total, METRIC_TIME),
	COLUMN(self, METRIC_TIME),
	COLUMN(suspended, METRIC_TIME),
	COLUMN(wall, METRIC_TIME),
	{ "cpu", METRIC_TIME, .get = get_part },
	{ "run-wait", METRIC_TIME, .get = get_part },
	{ "blocked", METRIC_TIME, .get = get_part },
	{ "collecting", METRIC_TIME, .get = get_collecting },
	COLUMN(end, METRIC_TEXT),
	COLUMN(is_partial, METRIC_NUMBER),
	COLUMN(stack, METRIC_TEXT),
	{ .name = NULL }
};

/* There is no table: people get print_call. */
static const struct metric_view view = {
	metrics, "", "pid,tid,coroutine,function,language,module,file,line,"
	"level,start,total,self,suspended,wall,cpu,run-wait,blocked,"
	"collecting,end,is_partial,stack"
};

static void csv_call(const struct printer *p, struct table *t, size_t i)
{
	const struct slow_call *const c = &p->found->calls[i];
	struct session *const s = p->session;
	char *const stack = stack_table_text(p->found->stacks, s->funcs,
					     c->stack, ";");

	table_row(t, &(struct slow_row){
		.func = c->func, .pid = cells_pid(s, c->process),
		.tid = cells_tid(s, c->thread), .level = c->level,
		.coroutine = c->coroutine,
		.start = cells_since_start(s, c->begin), .total = c->total,
		.self = c->self, .suspended = c->suspended,
		.wall = c->total + c->suspended, .off = c->parts.off,
		.ready = c->parts.ready, .collecting = c->parts.collecting,
		.has_switches = p->has_switches && slow_knows_switches(c),
		.has_notes = p->has_notes,
		.is_partial = c->is_partial,
		.name = func_get(s->funcs, c->func)->name,
		.end = slow_list_end(c->end),
		.stack = stack });
	mem_free(stack);
}

/* ---- the command -------------------------------------------------------- */

/* The distribution of all calls, then the slowest ones, the slowest first. In
 * CSV there are only the calls. */
static void print_calls(const struct load *load, const struct printer *p)
{
	struct table t = { .source.session = p->session, .csv = true };

	reading_print_header(load);
	if (!table_args.csv) {
		print_all(p);
		for (size_t i = 0; i < p->found->count; i++)
			print_call(p, i);
		/* Of counted calls no part can be chosen by time. */
		if (p->found->count > 0 && p->session->counted == 0 &&
		    cct_counted_sum(p->session->cct).brief == 0)
			print_more(p, p->found->calls);
		if (p->found->count > 0)
			print_path(p, p->found->calls);
		return;
	}
	table_choose_fixed(&t, &view, NULL);
	table_begin(&t);
	for (size_t i = 0; i < p->found->count; i++)
		csv_call(p, &t, i);
	table_end(&t);
}

static bool has_none(const struct slow_found *f)
{
	return f->ended + f->open + f->unknown == 0;
}

/* Read the trace for the slowest calls. The functions were named by a reading
 * before. Nothing is printed unless all went well. */
static enum cmd_exit find(struct load *load, struct printer *p,
			  const struct slow_options *options)
{
	struct slow *const slow = slow_new(options);
	enum cmd_exit status = load_again(load, &slow_sink, slow) == 0 ?
			       CMD_OK : CMD_UNREADABLE;

	slow_finish(slow);
	p->found = slow_found(slow);
	if (status == CMD_OK && has_none(p->found) &&
	    named_are_noted(p->session, options->wanted)) {
		err_add("of no call of \"%s\" there is a record: Lua was "
			"sampled; weft record --lua exact records its calls",
			p->pattern);
		status = CMD_UNREADABLE;
	}
	if (status == CMD_OK)
		print_calls(load, p);
	slow_free(slow);
	return status;
}

/* From the pattern to the wanted functions. The range and the threads are
 * applied by the collector, as the records are given whole. A pattern that
 * matches nothing is an error: an empty list would look like an answer. */
static enum cmd_exit slow_print(struct reading *r)
{
	struct session *const s = r->load.session;
	struct printer p = { .session = s, .pattern = r->function,
		.trace = r->load.path,
		.has_switches = cct_knows_switches(s->cct, NULL, NULL),
		.has_notes = cct_counted_sum(s->cct).noted > 0 ||
			     s->line_count > 0,
		.bodies = map_new() };
	uint8_t *const wanted = named_functions(s, r->function);
	uint8_t *const threads = filter_args_threads(s);
	struct slow_options options = {
		.wanted = wanted, .funcs = func_count(s->funcs) + 1,
		.key = (enum slow_key)arg_sort, .top = arg_top,
		.from = r->load.want.from, .to = r->load.want.to,
		.threads = threads, .thread_count = s->thread_count };
	enum cmd_exit status = CMD_USAGE;

	/* Ids count from 1; wanted has an element for each. */
	for (size_t i = 1; wanted && i < options.funcs; i++)
		p.functions += wanted[i] != 0;
	for (size_t i = s->coroutine_count; i-- > 0;)
		*map_put(p.bodies, s->coroutines[i].process,
			 s->coroutines[i].serial) = s->coroutines[i].body;
	if (wanted &&
	    reading_can_sort(s, arg_sort >= SLOW_CPU, sort_keys[arg_sort]) ==
	    0 && time_argument_least(s, arg_longer, "longer",
				     &options.longer) == 0)
		status = find(&r->load, &p, &options);
	mem_free_all(wanted, threads);
	map_free(p.bodies);
	return status;
}

/* The first operand is the function, the other one the trace. */
static int slow_prepare(struct reading *r)
{
	if (arg_depth == SIZE_MAX)
		arg_depth = 30;
	else if (r->table.csv)
		return err_add("--csv has 256 frames of a stack; leave out "
			       "--depth");
	return reading_take_function(r, "");
}

/* These filters cut stacks; the calls here have theirs whole. */
static const struct filter_refusal refused[] = {
	{ FILTER_FUNCTIONS | FILTER_SET(COROUTINE),
	  "calls are listed with their whole stacks; weft tree shows only a "
	  "part of them" },
	{ 0, NULL }
};

const struct cmd cmd_slow = {
	.name = "slow",
	.args = "FUNCTION DIR",
	.summary = "list the slowest single calls of a function",
	.about =
	"Reads the trace in the folder DIR and prints how long the calls of a\n"
	"function took, then each of the slowest calls: its total, self and\n"
	"suspended time, the parts of its total on the CPU, without a core\n"
	"(run-wait) and asleep (blocked), how long Lua collected garbage in\n"
	"it (collecting; as sampled Lua notes it), when and on which thread\n"
	"and coroutine it began, and the stitched stack it was called on.\n"
	"FUNCTION is a name, without its parameters or source if you like, or\n"
	"a pattern such as 'str*' or 'a|b'.\n"
	"\n"
	"Here --thread, --process and the time options select the calls that\n"
	"began there and then. A call that did not end is listed with the\n"
	"time it took so far; a call whose entry was not seen is only\n"
	"counted. The histogram shows only calls that ended.\n"
	"\n"
	"In CSV, coroutine 0 is the thread's own stack; level 1 or 2 is a\n"
	"signal handler that interrupted a hook; start_ns counts from the\n"
	"start of the recording. end says how the call ended: returned,\n"
	"unwound, died with its coroutine, cut where records are missing,\n"
	"open at the end. is_partial is 1 if a part of it was not recorded:\n"
	"its self and suspended times are then lower bounds. cpu_ns,\n"
	"run_wait_ns and blocked_ns are empty where the thread's switches are\n"
	"not known for a tenth of the call. stack lists the function names,\n"
	"outermost first, separated by ;. Of a stack of more than 256 frames,\n"
	"it has only the innermost.",
	.opts = opts,
	.refused = refused,
	.prepare = slow_prepare,
	.print = slow_print,
	.needs = "single calls",
};
