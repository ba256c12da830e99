/* load_chronicle.c - from options and filters to a chronicle; one replay for
 * two collectors of single moments. One reading of the trace will do but where
 * names, which come at its end, say what is shown.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load_chronicle.h"

#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/load/left_out.h"
#include "analyzer/out/out_number.h"
#include "analyzer/replay/tee.h"
#include "analyzer/tables/filter.h"

#include <stdio.h>
#include <string.h>

/* The options. arg_events SIZE_MAX, arg_below NULL: not given. */
static size_t arg_events = SIZE_MAX;
static const char *arg_below;

/* What viewers open within seconds, and what fits in 100 MB of memory. */
enum { EVENTS = 1000000 };

const struct opt load_chronicle_opts[] = {
	{ .type = OPT_NUMBER, .name = "max-events", .arg = "N",
	  .to = &arg_events, .help = "formats in the order of time: at most "
	  "about N events; the shortest calls are folded into events that "
	  "stand for many; 0 for no limit, which keeps all in memory "
	  "(default: 1000000)" },
	{ .type = OPT_TEXT, .name = "merge-below", .arg = "T",
	  .to = &arg_below, .help = "the same: fold calls shorter than T ("
	  TIME_ARGUMENT_UNITS ")" },
	{ .type = OPT_END }
};

int load_chronicle_refuse(const char *why)
{
	if (arg_events == SIZE_MAX && !arg_below)
		return 0;
	return err_add("--%s cannot be used here: %s", arg_below ?
		       "merge-below" : "max-events", why);
}

int load_chronicle_check(void)
{
	return filter_args_refuse(FILTER_SET(FOCUS), "it shows parts of "
		"calls, which have no time of their own; --under shows calls "
		"of a function in the order of time");
}

/* Functions that the recording left out, and --skip. The caller frees it. */
static uint8_t *read_skip(struct session *s)
{
	const size_t count = func_count(s->funcs) + 1;
	uint8_t *const out = left_out_funcs(s);
	uint8_t *const skip = filter_match_funcs(s,
						 filter_args_text(FILTER_SKIP));

	if (!out || !skip)
		return out ? out : skip;
	for (size_t i = 0; i < count; i++)
		skip[i] |= out[i];
	mem_free(out);
	return skip;
}

/* Lost records are told with the header's other sentences. */
static void tell(const struct session *s, const struct chronicle_found *f)
{
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];

	if (f->folded > 0)
		fprintf(stderr, "%s of %s in events that stand for several "
			"ones: calls shorter than %s; --max-events 0 shows "
			"all\n", out_number_count(a, f->folded),
			out_number_many(b, f->calls, "calls"),
			out_number_time(c, (double)session_ns(s, f->below)));
	if (f->unknown > 0)
		fprintf(stderr, "%s open since before the recording saw it: "
			"left out\n", out_number_many(a, f->unknown, "calls"));
	if (f->marks_left_out > 0)
		fprintf(stderr, "%s left out: --max-events 0 shows all\n",
			out_number_many(a, f->marks_left_out, "marks"));
	if (f->clipped > 0)
		fprintf(stderr, "%s of coroutines overlapped others: cut\n",
			out_number_many(a, f->clipped, "events"));
	if (s->counted > 0)
		fprintf(stderr, "%s only counted, without times: left out\n",
			out_number_many(a, s->counted, "calls"));
}

/* What is known before anything is read. */
static struct chronicle_options first_options(bool by_coroutine)
{
	return (struct chronicle_options){
		.by_coroutine = by_coroutine,
		.max_spans = arg_events == SIZE_MAX ? EVENTS : arg_events };
}

struct chronicle *load_chronicle_begin(bool by_coroutine)
{
	const struct chronicle_options options = first_options(by_coroutine);
	struct chronicle *t;

	if (arg_below || filter_args_has(FILTER_ALL))
		return NULL;
	t = chronicle_new(&options);
	load_watch(&chronicle_sink, t);
	return t;
}

/* Read the trace once more, with all options; skip: what read_skip found. NULL
 * with the cause in the chain. */
static struct chronicle *read_again(struct load *load, const uint8_t *skip,
				    bool by_coroutine)
{
	struct session *const s = load->session;
	struct chronicle_options options = first_options(by_coroutine);
	uint8_t *const threads = filter_args_threads(s);
	uint8_t *const under = filter_match_funcs(s,
		filter_args_text(FILTER_UNDER));
	struct chronicle *t = NULL;

	options.from = load->want.from;
	options.to = load->want.to;
	options.serial = load->want.serial;
	options.pid = load->want.pid;
	options.threads = threads;
	options.thread_count = s->thread_count;
	options.skip = skip;
	options.under = under;
	options.funcs = func_count(s->funcs) + 1;
	if (time_argument_least(s, arg_below, "merge-below",
				&options.below) == 0)
		t = chronicle_new(&options);
	if (t && load_again(load, &chronicle_sink, t) == 0) {
		chronicle_finish(t);
	} else {
		chronicle_free(t);
		t = NULL;
	}
	mem_free_all(threads, under);
	return t;
}

int load_chronicle(struct load *load, struct chronicle **t, bool by_coroutine)
{
	uint8_t *const skip = read_skip(load->session);

	if (load->is_watched && !skip) {
		chronicle_finish(*t);
	} else {
		chronicle_free(*t);
		*t = load_need_trace(load, "single calls") != CMD_OK ? NULL :
		     read_again(load, skip, by_coroutine);
	}
	if (*t)
		tell(load->session, chronicle_found(*t));
	mem_free(skip);
	return *t ? 0 : -1;
}

/* ---- beside the tree, in a database ---- */

enum { SLOW_CALLS = 1000 };

static void resume(void *ctx, const struct replay_event *e)
{
	resumes_add(ctx, e);
}

int load_moments_init(struct load_moments *m, struct load *load)
{
	static const struct replay_sink resumes_sink = { .resume = resume };
	struct tee tee = { .count = 0 };
	const size_t funcs = func_count(load->session->funcs) + 1;

	*m = (struct load_moments){ NULL, NULL, NULL };
	if (load->is_profile || load->is_part)
		return 0;
	m->wanted = mem_alloc(funcs);
	memset(m->wanted, 1, funcs);
	m->slow = slow_new(&(struct slow_options){
		.wanted = m->wanted, .funcs = funcs, .key = SLOW_SELF,
		.top = SLOW_CALLS });
	m->resumes = resumes_new();
	tee_add(&tee, &slow_sink, m->slow);
	tee_add(&tee, &resumes_sink, m->resumes);
	if (load_again(load, &tee.sink, &tee) != 0)
		return -1;
	slow_finish(m->slow);
	return 0;
}

void load_moments_fini(struct load_moments *m)
{
	slow_free(m->slow);
	resumes_free(m->resumes);
	mem_free(m->wanted);
}
