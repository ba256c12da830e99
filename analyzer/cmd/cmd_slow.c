/* cmd_slow.c - "weft slow": the slowest single calls of a function.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/load.h"
#include "analyzer/cmd/slow_print.h"
#include "analyzer/load/time_argument.h"
#include "analyzer/tables/filter.h"

static size_t arg_top = 10, arg_depth = 30;
static const char *arg_from, *arg_to, *arg_longer;
static const char *arg_thread;
static int arg_sort;
static bool arg_csv, arg_callees;

/* Each is looked at whenever one begins or ends. */
enum { CALLEES_MAX = 10000 };

/* As enum slow_key. */
static const char *const sort_keys[] = {
	"total", "self", "wall", "suspended", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "what makes a call slow" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "calls to show, 0 for all (in memory)" },
	{ .type = OPT_TEXT, .name = "longer", .arg = "T", .to = &arg_longer,
	  .help = "only calls of at least that long (" TIME_ARGUMENT_UNITS ")" },
	{ .type = OPT_TEXT, .name = "from", .arg = "T", .to = &arg_from,
	  .help = "only calls that began at or after T: a time since the "
	  "start, or ns since 1970" },
	{ .type = OPT_TEXT, .name = "to", .arg = "T", .to = &arg_to,
	  .help = "only calls that began before T" },
	{ .type = OPT_TEXT, .name = "thread", .arg = "TID", .to = &arg_thread,
	  .help = "only calls that began on threads of this number or name" },
	{ .type = OPT_FLAG, .name = "callees", .to = &arg_callees,
	  .help = "what each call spent its time in: its most expensive "
	  "callee, that one's, and so on (reads the trace once more)" },
	{ .type = OPT_NUMBER, .name = "depth", .arg = "N", .to = &arg_depth,
	  .help = "innermost frames of a stack to show, 0 for all; --csv "
	  "shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* A moment as the first tick that is printed as it, or later. */
static int moment_tick(const struct session *s, const char *text,
		       const char *option, ticks *to)
{
	uint64_t ns;

	if (!text)
		return 0;
	if (time_argument_moment(s, text, option, &ns) != 0)
		return -1;
	*to = ns == 0 ? session_first_tick(s) : time_argument_tick(s, ns - 1) + 1;
	return 0;
}

static int choose(const struct session *s, struct slow_options *o)
{
	uint64_t ns;

	if (moment_tick(s, arg_from, "from", &o->from) != 0 ||
	    moment_tick(s, arg_to, "to", &o->to) != 0)
		return -1;
	if (!arg_longer)
		return 0;
	if (time_argument_span(arg_longer, "longer", &ns) != 0)
		return -1;
	o->longer = ns == 0 ? 0 : time_argument_tick(s, ns - 1) + 1 -
			      session_first_tick(s);
	return 0;
}

static int choose_threads(const struct session *s, uint8_t **threads)
{
	*threads = !arg_thread ? NULL :
		   filter_threads(s, &(struct filter){
			.thread = arg_thread });
	return !arg_thread || *threads != NULL ? 0 :
	       err_add("no thread has the number or name \"%s\"; weft info "
		       "lists them", arg_thread);
}

static enum cmd_exit print(struct load *load, const struct slow *slow,
			   struct slow_print *how)
{
	const struct slow_found *const found = slow_found(slow);
	enum cmd_exit status = CMD_OK;

	if (arg_callees && found->count > CALLEES_MAX) {
		err_add("--callees wants at most %d calls; give --top",
			CALLEES_MAX);
		return CMD_USAGE;
	}
	if (arg_callees) {
		how->hot_path = hot_path_new(found->calls, found->count,
			func_special(load->session->funcs, "(deeper)"));
		status = load_again(load, &hot_path_sink, how->hot_path) == 0 ?
			 CMD_OK : CMD_UNREADABLE;
	}
	if (status == CMD_OK)
		slow_print(load, found, how);
	hot_path_free(how->hot_path);
	return status;
}

static enum cmd_exit find(struct load *load, struct slow_options *options,
			  struct slow_print *how)
{
	struct slow *const slow = slow_new(options);
	enum cmd_exit status = load_again(load, &slow_sink, slow) == 0 ?
			       CMD_OK : CMD_UNREADABLE;

	slow_finish(slow);
	if (status == CMD_OK)
		status = print(load, slow, how);
	slow_free(slow);
	return status;
}

static enum cmd_exit show(struct load *load, const char *pattern)
{
	struct session *const s = load->session;
	struct slow_print how = { .pattern = pattern, .frames = arg_depth,
				  .key = (enum slow_key)arg_sort,
				  .csv = arg_csv };
	uint8_t *const wanted = filter_match_funcs(s, pattern), *threads = NULL;
	struct slow_options options = {
		.wanted = wanted, .funcs = func_count(s->funcs) + 1,
		.key = how.key, .top = arg_top,
		.thread_count = s->thread_count };
	enum cmd_exit status = CMD_USAGE;

	for (size_t i = 1; i < options.funcs; i++)
		how.functions += wanted[i] != 0;
	if (how.functions == 0) {
		err_add("no function of this trace is called \"%s\"; weft "
			"report --top 0 lists them", pattern);
	} else if (choose(s, &options) == 0 &&
		   choose_threads(s, &threads) == 0) {
		options.threads = threads;
		status = find(load, &options, &how);
	}
	mem_free(wanted);
	mem_free(threads);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status;

	if (count < 2) {
		err_add("which function of which trace? Give the function's "
			"name, then the folder that weft record made");
		return CMD_USAGE;
	}
	status = load_open(&load, count - 1, operands + 1);
	if (status == CMD_OK)
		status = load_need_trace(&load, "single calls");
	if (status == CMD_OK)
		status = show(&load, operands[0]);
	load_close(&load);
	return status;
}

const struct cmd cmd_slow = {
	.name = "slow",
	.args = "FUNCTION DIR",
	.summary = "list the slowest single calls of a function",
	.about =
	"Reads the trace in the folder DIR and prints how long the calls of\n"
	"a function took, then the slowest of them one by one: total, self\n"
	"and suspended time, when it began and on which thread and\n"
	"coroutine, and the stitched stack it was called on. FUNCTION is a\n"
	"name, without its parameters or source if you like, or a pattern\n"
	"such as 'str*'; several together: 'a|b'.\n"
	"\n"
	"A call that did not end is listed with what it took so far; one\n"
	"whose entry nobody saw is only counted. The histogram is of calls\n"
	"that ended.\n"
	"\n"
	"--csv: pid, tid it began on, coroutine (0: the thread's own),\n"
	"function, language, module, file, line, level (1, 2: in a signal\n"
	"handler that interrupted a hook), start_ns since the start,\n"
	"total_ns, self_ns, suspended_ns, wall_ns (total and suspended), end\n"
	"(returned, unwound, died with its coroutine, cut where records are\n"
	"missing, open at the end), is_partial (1: a part of it was not\n"
	"recorded; self and suspended are at least these), and stack:\n"
	"function names, outermost first, with ; between. With --callees:\n"
	"callees and callees_ns, the hot path below the call, in the same\n"
	"way; a callee's time is its total, or what --sort names.",
	.opts = opts,
	.run = run,
};
