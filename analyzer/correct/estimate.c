/* estimate.c - how many calls were not recorded: windows are a sample of the
 * time around them, for each thread. A window slows the program by what its
 * calls' hooks take, so what counts is the program's own time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include "analyzer/base/vec.h"

#include <math.h>
#include <string.h>

/* What the hooks of a call cost, ns, at least and at most. */
struct bounds { double least, most; };

/* If the recorder did not measure it. */
static const struct bounds any_cost = { 0, 40 };

/* No hooks take all of the time. */
static const double own_least = 0.05;

static double own_if(const struct demotion_span *s, double cost)
{
	return fmax(s->time - cost * s->hooks, own_least * s->time);
}

/* A span without its hooks, ns. */
static double own(const struct demotion_span *s, struct bounds cost)
{
	return sqrt(own_if(s, cost.least) * own_if(s, cost.most));
}

/* Windows that follow each other, with enough time in them to say something;
 * until: own time to the next one. doubt: what part of the ratio is by what a
 * call costs, one standard deviation. */
struct stretch { double calls, time, until, ratio, doubt; };

static const double time_least = 100000; /* ns */

/* Times and rates in a trace may be anything. */
static const double calls_most = 1e18;

static void finish(struct stretch *s, const struct demotion_span *in,
		   struct bounds cost)
{
	const double most = own_if(in, cost.least);
	const double least = own_if(in, cost.most);

	s->time = own(in, cost);
	s->ratio = s->calls / s->time;
	s->doubt = (most - least) / (most + least);
}

static void add_span(struct demotion_span *to, const struct demotion_span *s)
{
	to->time += s->time;
	to->hooks += s->hooks;
}

/* The first of them has no window: it is what the recorder saw when it left the
 * function out. */
static size_t make_stretches(const struct demotion_part *d, struct bounds cost,
			     struct stretch *to)
{
	struct stretch now = { 0 };
	struct demotion_span in = { 0 };
	size_t n = 1;

	to[0] = (struct stretch){ .ratio = d->rate / 1e9, .doubt = 0.5,
				  .until = own(&d->before, cost) };
	for (size_t i = 0; i < d->looks; i++) {
		now.calls += d->look[i].calls;
		now.until += own(&d->look[i].until, cost);
		add_span(&in, &d->look[i].in);
		if (own(&in, cost) < time_least)
			continue;
		finish(&now, &in, cost);
		to[n++] = now;
		now = (struct stretch){ 0 };
		in = (struct demotion_span){ 0 };
	}
	to[n - 1].until += now.until;
	return n;
}

static double squared(double x)
{
	return x * x;
}

/* The windows and the rest of a thread, or of a program's threads. */
struct sums { const char *program; double calls, time, rest; };

static void add_part(struct sums *to, const struct demotion_part *p,
		     struct bounds cost)
{
	to->rest += own(&p->before, cost);
	for (size_t i = 0; i < p->looks; i++) {
		to->calls += p->look[i].calls;
		to->time += own(&p->look[i].in, cost);
		to->rest += own(&p->look[i].until, cost);
	}
}

/* The estimate in the making. */
struct work {
	const struct session *session;
	struct demotion *d;
	struct bounds cost;
	struct sums *program; size_t programs, room;
	double sum, variance;
	double doubt;              /* of sum, for a reason that all share */
};

static const struct process *process_of(const struct work *w,
					const struct demotion_part *p)
{
	const struct session *const s = w->session;

	return p->thread >= s->thread_count ? NULL :
	       &s->processes[s->threads[p->thread].process];
}

static struct sums *program_of(struct work *w, const struct demotion_part *p)
{
	const struct process *const process = process_of(w, p);
	const char *const path = process ? process->path : "";

	for (size_t i = 0; i < w->programs; i++)
		if (!strcmp(w->program[i].program, path))
			return &w->program[i];
	*vec_add(&w->program, &w->room, &w->programs) =
		(struct sums){ .program = path };
	return &w->program[w->programs - 1];
}

/* Between two looks, the ratio changes from one's to the other's, nobody knows
 * when; meanwhile it may be as high as it ever was. */
static void add_between(struct work *w, const struct stretch *s,
			const struct stretch *next, double highest)
{
	const double mean = (s->ratio + next->ratio) / 2;
	const double change = fmax(fabs(next->ratio - s->ratio),
				   highest - mean) / 2;

	w->sum += mean * s->until;
	w->doubt += mean * s->until * s->doubt;
	w->variance += squared(change * s->until);
	if (s->time > 0)
		w->variance += (s->calls + 1) / squared(s->time) *
			       squared(s->until);
}

static void add_known(struct work *w, const struct demotion_part *p)
{
	struct stretch *const s = mem_grow(NULL, p->looks + 1, sizeof(*s));
	const size_t n = make_stretches(p, w->cost, s);
	double highest = 0;

	for (size_t i = 0; i < n; i++)
		highest = fmax(highest, s[i].ratio);
	for (size_t i = 0; i < n; i++)
		add_between(w, &s[i], &s[i + 1 < n ? i + 1 : i], highest);
	mem_free(s);
}

/* Can the thread not have called it? What no chunk of its process names the
 * process does not have. */
static bool is_without(const struct work *w, const struct demotion_part *p)
{
	const struct session *const s = w->session;
	const struct func *const f = func_get(s->funcs, w->d->func);

	return f->kind == FUNC_NATIVE && process_of(w, p) &&
	       !demotions_have_module(&s->demotions,
				      s->threads[p->thread].process, f->module);
}

/* No window says enough of the thread: it is taken for one of its program's. */
static void add_unknown(struct work *w, const struct demotion_part *p,
			const struct sums *of)
{
	const struct sums *const program = program_of(w, p);
	double guess;

	if (p->skipped == 0 || is_without(w, p))
		return;
	if (program->time < time_least) {
		w->d->is_unknown = 1;
		return;
	}
	guess = program->calls / program->time * of->rest;
	w->sum += guess;
	w->variance += squared(guess);
}

/* Windows, if there were any, may say nothing of how many there were. A guess
 * that is no better than 0 is none. */
static void estimate(const struct session *s, struct demotion *d,
		     struct bounds cost)
{
	struct work w = { .session = s, .d = d, .cost = cost };
	double error;

	for (size_t i = 0; i < d->parts; i++)
		add_part(program_of(&w, &d->part[i]), &d->part[i], cost);
	for (size_t i = 0; i < d->parts; i++) {
		struct sums of = { .program = NULL };

		add_part(&of, &d->part[i], cost);
		if (of.time >= time_least)
			add_known(&w, &d->part[i]);
		else
			add_unknown(&w, &d->part[i], &of);
	}
	error = hypot(sqrt(w.variance), w.doubt);
	if (w.sum >= 1 && error > w.sum) {
		d->is_unknown = 1;
		w.sum = error = 0;
	}
	d->estimated = (uint64_t)fmin(w.sum + 0.5, calls_most);
	d->error = (uint64_t)fmin(error + 0.5, calls_most);
	mem_free(w.program);
}

static struct bounds cost_of(const struct session *s)
{
	struct call_cost c;

	return !net_calibrated_cost(s, &c) ? any_cost :
	       (struct bounds){ fmax(c.native - c.error, 0),
				c.native + c.error };
}

/* What it must be multiplied with to become the function's estimate, by
 * function: at first, calls in windows. */
static void find_parts(struct session *s, double *part)
{
	const struct bounds cost = cost_of(s);

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		part[cct_get(s->cct, id)->func] +=
			(double)cct_counted_of(s->cct, id).windowed;
	for (size_t i = 0; i < s->demotions.count; i++) {
		struct demotion *const d = &s->demotions.at[i];
		const double windowed = part[d->func];

		part[d->func] = 0;
		if (d->skipped == 0)
			continue;
		estimate(s, d, cost);
		func_get(s->funcs, d->func)->estimated =
			d->is_unknown ? FUNC_AT_LEAST : FUNC_ESTIMATED;
		if (windowed > 0)
			part[d->func] = (double)d->estimated / windowed;
	}
}

/* Calls that were counted: samples show their time, if there are any. */
static void apply_counted(struct session *s, node_id id, struct demotion *d)
{
	const uint64_t calls = cct_counted_of(s->cct, id).untimed;

	d->counted_calls += calls;
	if (!(s->net.is_net & NET_SAMPLED))
		return;
	cct_time_untimed(s->cct, id);
	s->counted -= calls < s->counted ? calls : s->counted;
}

void estimate_apply(struct session *s)
{
	struct cct *const t = s->cct;
	double *part;

	if (s->demotions.count == 0)
		return;
	part = mem_alloc((func_count(s->funcs) + 1) * sizeof(*part));
	find_parts(s, part);
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_counted counted = cct_counted_of(t, id);
		const func_id func = cct_get(t, id)->func;
		const struct demotion *const d =
			demotion_find(&s->demotions, func);

		if (!d)
			continue;
		if (counted.untimed > 0)
			apply_counted(s, id, demotion_of(&s->demotions, func));
		cct_get(t, id)->calls += (uint64_t)(0.5 + part[func] *
						    (double)counted.windowed);
	}
	mem_free(part);
}
