/* cmd_stacks.c - "weft stacks": what every thread and coroutine was doing at
 * given moments.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/stacks_print.h"
#include "analyzer/load/time_argument.h"
#include "analyzer/tables/filter.h"
#include "analyzer/base/vec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS_MAX = 1000000 };

static const char *arg_at, *arg_every, *arg_from, *arg_to, *arg_thread;
static size_t arg_top = 50;
static bool arg_fold, arg_csv;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .name = "at", .arg = "T", .to = &arg_at,
	  .help = "at this time since the start (" TIME_ARGUMENT_UNITS "), or at this "
	  "number of ns since 1970; several: T,T" },
	{ .type = OPT_TEXT, .name = "every", .arg = "STEP", .to = &arg_every,
	  .help = "at the start, and each such time after it" },
	{ .type = OPT_TEXT, .name = "from", .arg = "T", .to = &arg_from,
	  .help = "with --every: begin there" },
	{ .type = OPT_TEXT, .name = "to", .arg = "T", .to = &arg_to,
	  .help = "with --every: end there" },
	{ .type = OPT_TEXT, .name = "thread", .arg = "TID", .to = &arg_thread,
	  .help = "only threads of this number or name, with the coroutines "
	  "that run on them; not those that are suspended" },
	{ .type = OPT_FLAG, .name = "fold", .to = &arg_fold,
	  .help = "stacks that are alike once, with their number" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "stacks to show at a moment, 0 for all; "
	  "--csv shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts, one a frame: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* Moments, as ns since the start and as ticks. */
struct moment { uint64_t ns; ticks at; };
struct list { struct moment *moments; size_t count, room; };

static int compare(const void *a, const void *b)
{
	const struct moment *const x = a, *const y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void add(struct list *l, uint64_t ns, ticks at)
{
	*vec_add(&l->moments, &l->room, &l->count) = (struct moment){ ns, at };
}

static int add_each(struct list *l, const struct session *s)
{
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

static int add_every(struct list *l, const struct session *s)
{
	const uint64_t end = session_duration(s);
	uint64_t step, from = 0, to = end;

	if (time_argument_span(arg_every, "every", &step) != 0 ||
	    (arg_from && time_argument_moment(s, arg_from, "from", &from) != 0) ||
	    (arg_to && time_argument_moment(s, arg_to, "to", &to) != 0))
		return -1;
	if (step == 0)
		return err_add("--every wants more than nothing");
	if (to > end)
		to = end;
	if (from <= to && (to - from) / step >= MOMENTS_MAX)
		return err_add("--every %s makes more than %d moments; give a "
			       "longer step, or --from and --to", arg_every,
			       MOMENTS_MAX);
	for (uint64_t ns = from; ns <= to; ns += step)
		add(l, ns, time_argument_tick(s, ns));
	return 0;
}

/* Several ns may mean one tick: each tick once. */
static int list_moments(struct list *l, const struct session *s)
{
	size_t kept = 0;

	if ((arg_at && add_each(l, s) != 0) ||
	    (arg_every && add_every(l, s) != 0))
		return -1;
	if (l->count > 0)
		qsort(l->moments, l->count, sizeof(*l->moments), compare);
	for (size_t i = 0; i < l->count; i++)
		if (kept == 0 || l->moments[kept - 1].at != l->moments[i].at)
			l->moments[kept++] = l->moments[i];
	l->count = kept;
	return 0;
}

static enum cmd_exit show_list(struct load *load, const struct list *l,
			       const uint8_t *threads)
{
	uint64_t *const ns = mem_alloc((l->count + 1) * sizeof(*ns));
	ticks *const at = mem_alloc((l->count + 1) * sizeof(*at));
	const struct stacks_options options = { ns, l->count, arg_top,
						arg_fold, arg_csv, threads,
						load->session->thread_count };
	struct snapshots *const moments = snapshots_new(at, l->count);
	enum cmd_exit status = CMD_OK;

	for (size_t i = 0; i < l->count; i++) {
		ns[i] = l->moments[i].ns;
		at[i] = l->moments[i].at;
	}
	if (load_again(load, &snapshots_sink, moments) != 0)
		status = CMD_UNREADABLE;
	else
		stacks_print(load, moments, &options);
	snapshots_free(moments);
	mem_free(ns);
	mem_free(at);
	return status;
}

static enum cmd_exit show(struct load *load)
{
	struct list list = { 0 };
	uint8_t *const threads = !arg_thread ? NULL :
		filter_threads(load->session, &(struct filter){
			.thread = arg_thread });
	enum cmd_exit status = CMD_USAGE;

	if (arg_thread && !threads)
		err_add("no thread has the number or name \"%s\"; weft info "
			"lists them", arg_thread);
	else if (list_moments(&list, load->session) == 0)
		status = show_list(load, &list, threads);
	mem_free(list.moments);
	mem_free(threads);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status;

	if (!arg_at && !arg_every) {
		err_add("which moments? Give --at 1.5s or --every 100ms");
		return CMD_USAGE;
	}
	if (!arg_every && (arg_from || arg_to)) {
		err_add("--from and --to go with --every");
		return CMD_USAGE;
	}
	status = load_open(&load, count, operands);
	if (status == CMD_OK)
		status = load_need_trace(&load, "stacks at a moment");
	if (status == CMD_OK)
		status = show(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_stacks = {
	.name = "stacks",
	.args = "DIR",
	.summary = "show all stacks at a moment, or every so often",
	.about =
	"Reads the trace in the folder DIR and prints, for each moment, the\n"
	"stitched stack of every thread with the coroutines that run on it,\n"
	"then that of every suspended coroutine. What is open at a moment is\n"
	"what all records up to it, its own included, leave open.\n"
	"\n"
	"State: running; last (nothing more is recorded of this thread, its\n"
	"process goes on); off (not recorded then); unknown (records are\n"
	"missing); suspended; maybe (suspended, unless it ran in records\n"
	"that are missing); new (made, did not run yet).\n"
	"\n"
	"--csv: time_ns since the start; pid; tid (empty: a coroutine on no\n"
	"thread); coroutine whose frame it is (0: the thread's own); state of\n"
	"the stack; depth (0: outermost); function, language, module, file,\n"
	"line; level (1, 2: of a signal handler that interrupted a hook);\n"
	"is_body; enters_lua (native, with a Lua function on top); is_old\n"
	"(open since before it was recorded); since_ns (when the coroutine\n"
	"was suspended or made). A stack without frames is one row without\n"
	"depth and function. With --fold: count (of the stacks alike) instead\n"
	"of pid, tid, coroutine and since_ns.",
	.opts = opts,
	.run = run,
};
