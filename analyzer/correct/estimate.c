/* estimate.c - a ratio estimate: windows are a sample of the time around them,
 * for each thread.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include "analyzer/base/vec.h"

#include <math.h>
#include <string.h>

/* Windows that follow each other, with enough calls of others in them for a
 * ratio. */
struct stretch { double calls, others, until, ratio; };

static const double others_least = 10;

static size_t make_stretches(const struct demotion_part *d, struct stretch *to)
{
	struct stretch now = { .until = d->before };
	size_t n = 0;

	for (size_t i = 0; i < d->looks; i++) {
		now.calls += d->look[i].calls;
		now.others += d->look[i].others;
		now.until += d->look[i].until;
		if (now.others < others_least)
			continue;
		to[n++] = now;
		now = (struct stretch){ 0 };
	}
	if (n == 0)
		to[n++] = (struct stretch){ 0 };
	to[n - 1].calls += now.calls;
	to[n - 1].others += now.others;
	to[n - 1].until += now.until;
	for (size_t i = 0; i < n; i++)
		to[i].ratio = to[i].others > 0 ?
			      to[i].calls / to[i].others : 0;
	return n;
}

static double squared(double x)
{
	return x * x;
}

/* How uncertain a stretch's ratio is: by chance, as calls come in bursts, and
 * since it may have changed anywhere between it and its neighbours. */
static double variance_of(const struct stretch *s, size_t i, size_t n)
{
	const double before = i > 0 ? s[i].ratio - s[i - 1].ratio : 0;
	const double after = i + 1 < n ? s[i + 1].ratio - s[i].ratio : 0;
	const double chance = s[i].others <= 0 ? 0 :
		squared(s[i].ratio) / s[i].others +
		s[i].calls / squared(s[i].others);

	return chance + (squared(before) + squared(after)) / 4;
}

/* The windows and the rest of a thread, or of a program's threads. */
struct sums { const char *program; double calls, others, rest; };

static void add_part(struct sums *to, const struct demotion_part *p)
{
	to->rest += p->before;
	for (size_t i = 0; i < p->looks; i++) {
		to->calls += p->look[i].calls;
		to->others += p->look[i].others;
		to->rest += p->look[i].until;
	}
}

/* The estimate in the making. */
struct work {
	const struct session *session;
	struct demotion *d;
	struct sums *program; size_t programs, room;
	double sum, variance;
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

static void add_known(struct work *w, const struct demotion_part *p)
{
	struct stretch *const s = mem_grow(NULL, p->looks + 1, sizeof(*s));
	const size_t n = make_stretches(p, s);
	const double wider = squared(1 + 1.0 / (double)n);
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += s[i].ratio * s[i].until;
		w->variance += variance_of(s, i, n) * squared(s[i].until) *
			       wider;
	}
	if (n == 1)
		w->variance += squared(sum) * wider;
	w->sum += sum;
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

/* No window says enough of the thread: it is taken for one of its program's.
 * Not if it hardly calls anything else. */
static void add_unknown(struct work *w, const struct demotion_part *p,
			const struct sums *own)
{
	const struct sums *const program = program_of(w, p);
	const bool is_blind = own->calls >= others_least &&
			      own->others + own->rest < others_least;
	double guess;

	if (p->skipped == 0 || is_without(w, p))
		return;
	if (program->others < others_least || is_blind) {
		w->d->is_unknown = 1;
		return;
	}
	guess = program->calls / program->others * own->rest;
	w->sum += guess;
	w->variance += squared(guess);
}

/* Windows, if there were any, may say nothing of how many there were. */
static void estimate(const struct session *s, struct demotion *d)
{
	struct work w = { .session = s, .d = d };

	for (size_t i = 0; i < d->parts; i++)
		add_part(program_of(&w, &d->part[i]), &d->part[i]);
	for (size_t i = 0; i < d->parts; i++) {
		struct sums own = { .program = NULL };

		add_part(&own, &d->part[i]);
		if (own.others >= others_least)
			add_known(&w, &d->part[i]);
		else
			add_unknown(&w, &d->part[i], &own);
	}
	d->estimated = (uint64_t)(w.sum + 0.5);
	d->error = (uint64_t)(sqrt(w.variance) + 0.5);
	mem_free(w.program);
}

/* What it must be multiplied with to become the function's estimate, by
 * function: at first, calls in windows. */
static void find_parts(struct session *s, double *part)
{
	for (node_id id = 1; id <= cct_count(s->cct); id++)
		part[cct_get(s->cct, id)->func] +=
			(double)cct_counted_of(s->cct, id).windowed;
	for (size_t i = 0; i < s->demotions.count; i++) {
		struct demotion *const d = &s->demotions.at[i];
		const double windowed = part[d->func];

		part[d->func] = 0;
		if (d->skipped == 0)
			continue;
		estimate(s, d);
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
