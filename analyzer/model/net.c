/* net.c - net times from samples: first what each sample is of, then each
 * function's estimate, then its nodes' parts of that. Everything is counted in
 * periods until the end.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/net.h"

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

#include <math.h>
#include <string.h>

/* ---- what a sample is of ------------------------------------------------ */

/* Recorded functions by module and entry. */
static struct map *map_functions(const struct session *s)
{
	struct map *const of = map_new();

	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->kind == FUNC_NATIVE)
			*map_put(of, f->module, f->offset) = id;
	}
	return of;
}

/* The tracer records a function at an odd address under the even one before
 * it. */
static void find_functions(struct session *s)
{
	struct map *const of = map_functions(s);

	for (size_t i = 0; i < s->place_count; i++) {
		struct code_place *const p = &s->places[i];

		if (!p->name || p->kind == PLACE_PROBE)
			continue;
		p->func = map_find(of, p->module, p->begin);
		if (!p->func && p->begin % 2)
			p->func = map_find(of, p->module, p->begin - 1);
		p->kind = p->func ? PLACE_OWN : PLACE_OTHER;
	}
	map_free(of);
}

/* Is code of that function inlined at the place? */
static bool is_inlined(const struct code_place *p, const char *name)
{
	const size_t length = strlen(name);
	const char *at = p->inlined;

	while (at && *at) {
		const char *const end = strchr(at, '\n');

		if (!end)
			return false;
		if ((size_t)(end - at) == length &&
		    memcmp(at, name, length) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

static bool is_below(struct cct *t, node_id id, func_id func)
{
	while ((id = cct_get(t, id)->parent))
		if (cct_get(t, id)->func == func)
			return true;
	return false;
}

/* The node that a sample in a recorded function's code belongs to. Code of a
 * caller, while a call that it made is open, may be the callee's, inlined:
 * debug information tells. 0: none. */
static node_id owner(struct session *s, const struct cct_sample *sample)
{
	const struct code_place *const p = &s->places[sample->place];
	const func_id innermost = cct_get(s->cct, sample->node)->func;
	const bool has_near = sample->near &&
		cct_get(s->cct, sample->near)->func == p->func;

	if (innermost == p->func ||
	    is_inlined(p, func_get(s->funcs, innermost)->name) ||
	    (!p->inlined && is_below(s->cct, sample->node, p->func)))
		return sample->node;
	return has_near ? sample->near : 0;
}

void net_place(struct session *s)
{
	struct net *const net = &s->net;
	struct cct *const t = s->cct;
	uint32_t least = UINT32_MAX;

	if (!cct_has_samples(t))
		return;
	find_functions(s);
	for (size_t i = 0; i < cct_sample_count(t); i++)
		if (cct_sample_get(t, i)->period < least)
			least = cct_sample_get(t, i)->period;
	for (size_t i = 0; i < cct_sample_count(t); i++) {
		struct cct_sample *const sample = cct_sample_get(t, i);
		const enum place_kind kind = s->places[sample->place].kind;
		const uint32_t n = (sample->period + least / 2) / least;
		const node_id own = kind == PLACE_OWN ? owner(s, sample) : 0;
		struct cct_sampled *of;

		if (own)
			sample->node = own;
		net->astray += kind == PLACE_OWN && !own ? n : 0;
		of = cct_sampled_of(t, sample->node);
		*(kind == PLACE_PROBE ? &of->probe : own ? &of->own :
		  &of->other) += n;
		*(kind == PLACE_PROBE ? &net->probe : own ? &net->own :
		  &net->other) += n;
	}
	cct_link_samples(t);
	net->period = cct_sample_count(t) ? least : 0;
}

/* ---- what calls cost ---------------------------------------------------- */

/* Causes of cost: calls that are received and made, of native functions and of
 * Lua ones. */
enum { RECEIVED, MADE = 2, CAUSES = 4 };

/* A function; the first one stands for time in no function. Of its nodes: */
struct sum {
	double known;    /* time on the CPU that was sampled, */
	double calls[CAUSES];  /* the calls in it, */
	double own, probe;     /* and the samples */
	/* The estimate: net = weight * prior + (1 - weight) * own + kernel. */
	double cost;     /* of the calls, fitted */
	double prior, weight, kernel;
	double ratio;    /* net to raw */
	double edge;     /* one standard error of where its calls end */
};

struct work {
	struct session *session;
	struct sum *sum;       /* by func_id */
	size_t count;
	double period;         /* ticks */
	double price[CAUSES];  /* of a call */
	double most;           /* no call's probes cost more: few samples of
	                        * probes say little of the price */
	double misfit;         /* of cost, relative: one standard deviation */
	double unsure[CAUSES]; /* of price: how much of it may be misplaced */
};

static uint32_t kind_of(const struct work *w, func_id id)
{
	return func_get(w->session->funcs, id)->kind == FUNC_LUA;
}

/* The node's self in parts, in ticks. */
struct parts { double off, unsampled, known; };

static struct parts parts_of(const struct cct *t, const struct cct_node *n,
			     node_id id)
{
	const struct cct_sampled *const of = cct_sampled_of(t, id);
	const uint64_t off = cct_cpu_of(t, id).off;
	struct parts p;

	p.off = (double)(off < n->self ? off : n->self);
	p.unsampled = (double)n->self - p.off;
	if ((double)of->unsampled < p.unsampled)
		p.unsampled = (double)of->unsampled;
	p.known = (double)n->self - p.off - p.unsampled;
	return p;
}

/* Calls belong to the sampled time as far as the node's time does. */
static void add_node(struct work *w, node_id id, const double *part)
{
	struct cct *const t = w->session->cct;
	const struct cct_node *const n = cct_get(t, id);
	const struct cct_sampled *const of = cct_sampled_of(t, id);
	const uint32_t kind = kind_of(w, n->func);
	struct sum *const sum = &w->sum[n->func];

	sum->known += parts_of(t, n, id).known / w->period;
	sum->own += of->own + of->other;
	sum->probe += of->probe;
	if (!n->parent)
		return;
	sum->calls[RECEIVED + kind] += (double)n->calls * part[id];
	w->sum[cct_get(t, n->parent)->func].calls[MADE + kind] +=
		(double)n->calls * part[n->parent];
}

static void add_nodes(struct work *w)
{
	struct cct *const t = w->session->cct;
	struct net *const net = &w->session->net;
	double *const part = mem_alloc((cct_count(t) + 1) * sizeof(*part));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const struct parts p = parts_of(t, n, id);

		part[id] = p.known + p.unsampled > 0 ?
			   p.known / (p.known + p.unsampled) : 1;
		net->raw += n->self;
		net->unsampled += (uint64_t)p.unsampled;
	}
	for (node_id id = 1; id <= cct_count(t); id++)
		add_node(w, id, part);
	mem_free(part);
}

static double cost_of(const struct work *w, const struct sum *s)
{
	double cost = 0;

	for (int i = 0; i < CAUSES; i++)
		cost += w->price[i] * s->calls[i];
	return cost;
}

/* Solve the normal equations of those causes that are in use, by elimination;
 * what does not occur costs nothing. */
static void solve(double a[CAUSES][CAUSES + 1], const bool *use, double *x)
{
	for (int i = 0; i < CAUSES; i++) {
		if (!use[i] || a[i][i] <= 0) {
			memset(a[i], 0, sizeof(a[i]));
			for (int k = 0; k < CAUSES; k++)
				a[k][i] = 0;
			a[i][i] = 1;
		}
		a[i][i] *= 1 + 1e-9;
	}
	for (int i = 0; i < CAUSES; i++)
		for (int k = 0; k < CAUSES; k++) {
			const double f = k == i ? 0 : a[k][i] / a[i][i];

			for (int c = 0; c <= CAUSES; c++)
				a[k][c] -= f * a[i][c];
		}
	for (int i = 0; i < CAUSES; i++)
		x[i] = a[i][CAUSES] / a[i][i];
}

/* One round of weighted least squares of the probes' samples over the calls. A
 * cause that would earn something costs nothing. */
static void fit_once(struct work *w)
{
	double a[CAUSES][CAUSES + 1] = { { 0 } }, copy[CAUSES][CAUSES + 1];
	bool use[CAUSES] = { true, true, true, true };

	for (size_t i = 0; i < w->count; i++) {
		const struct sum *const s = &w->sum[i];
		const double wild = w->misfit * s->cost;
		const double weight = 1 / (1 + s->cost + wild * wild);

		for (int k = 0; k < CAUSES; k++) {
			for (int c = 0; c < CAUSES; c++)
				a[k][c] += weight * s->calls[k] * s->calls[c];
			a[k][CAUSES] += weight * s->calls[k] * s->probe;
		}
	}
	for (bool again = true; again; ) {
		again = false;
		memcpy(copy, a, sizeof(a));
		solve(copy, use, w->price);
		for (int k = 0; k < CAUSES; k++)
			if (w->price[k] < 0) {
				use[k] = false;
				again = true;
			}
	}
	for (int k = 0; k < CAUSES; k++)
		w->price[k] = fmin(w->price[k], w->most);
	for (size_t i = 0; i < w->count; i++)
		w->sum[i].cost = cost_of(w, &w->sum[i]);
}

/* How far the fit is off beyond chance, relative to the cost, by the functions
 * that it says something about. */
static double measure_misfit(const struct work *w)
{
	double sum = 0, weights = 0;

	for (size_t i = 0; i < w->count; i++) {
		const double cost = w->sum[i].cost;
		const double off = w->sum[i].probe - cost;

		if (cost < 5)
			continue;
		sum += (off * off - cost) / cost;
		weights += cost;
	}
	if (weights == 0)
		return 0.5;
	sum = sum > 0 ? sqrt(sum / weights) : 0;
	return sum < 0.05 ? 0.05 : sum > 1 ? 1 : sum;
}

static void fit(struct work *w)
{
	w->misfit = 0.3;
	for (size_t i = 0; i < w->count; i++)
		w->sum[i].cost = w->sum[i].probe;
	for (int round = 0; round < 4; round++) {
		fit_once(w);
		w->misfit = measure_misfit(w);
	}
}

/* ---- estimates ---------------------------------------------------------- */

/* The processor works on a probe and on the code around it at once, so that
 * samples near both ends of a call may belong to the other side. Programs that
 * know their times (docs/times.md) show by how much: one standard deviation is
 * half of what the probes cost. For Lua it is three times what they cost, where
 * the code that calls its hooks has no name and counts as the program's. */
static void find_unsure(struct work *w)
{
	const struct session *const s = w->session;
	bool named = false;

	for (size_t i = 0; i < s->place_count && !named; i++)
		named = s->places[i].kind == PLACE_PROBE &&
			s->places[i].name &&
			(strncmp(s->places[i].name, "luaD_", 5) == 0 ||
			 strncmp(s->places[i].name, "lj_", 3) == 0);
	for (int i = 0; i < CAUSES; i++)
		w->unsure[i] = i % 2 == 0 || named ? 0.5 : 3;
}

static double edge_of(const struct work *w, const struct sum *s)
{
	double edge = 0;

	for (int i = 0; i < CAUSES; i++)
		edge += w->unsure[i] * w->price[i] * s->calls[i];
	return edge;
}

/* A normal distribution of which only the part above 0 is possible: its mean
 * and variance. */
static void cut_at_zero(double *mean, double *variance)
{
	const double sigma = sqrt(*variance), x = *mean / sigma;
	const double above = 0.5 * erfc(-x / sqrt(2));
	const double h = exp(-x * x / 2) / sqrt(2 * 3.14159265358979) / above;

	if (x > 6)
		return;
	if (x < -6) {
		*mean = sigma / -x;
		*variance = *mean * *mean;
		return;
	}
	*mean = sigma * (x + h);
	*variance *= 1 - x * h - h * h;
}

/* Time on the CPU in which no sample fell, beyond chance: it was spent in the
 * kernel, which is not sampled, or the thread did not run and nobody told. */
static double kernel_of(const struct sum *s)
{
	const double missing = s->known - s->own - s->probe;

	return missing > 3 * sqrt(s->known) + 0.05 * s->known ? missing : 0;
}

/* Raw times are right to 1 % beside the probes: interrupts, and the like. */
static void estimate(struct work *w, struct sum *s)
{
	const double wild = w->misfit * s->cost, rough = 0.01 * s->known;
	double variance = wild * wild + rough * rough, net, missing, away;

	s->ratio = s->weight = 1;
	if (s->known <= 0)
		return; /* a sample of it, if any, has none of its time */
	s->kernel = kernel_of(s);
	s->edge = edge_of(w, s);
	s->prior = s->known - s->kernel - s->cost;
	cut_at_zero(&s->prior, &variance);
	/* Samples that are missing may be the function's or a probe's. */
	missing = fmax(s->known - s->kernel - s->own - s->probe, 0);
	away = s->prior > s->own ? fmax(s->prior - s->own - missing, 0) :
	       s->own - s->prior;
	if (away > 3 * sqrt(fmax(s->own, s->prior) + variance))
		s->weight = 0;
	else
		s->weight = s->prior / (s->prior + variance);
	w->session->net.contradicted += s->weight == 0;
	net = s->weight * s->prior + (1 - s->weight) * s->own + s->kernel;
	s->ratio = net / s->known;
}

/* ---- nodes -------------------------------------------------------------- */

/* A function's estimate is divided by samples and by raw time, as it was
 * made of them. */
static void divide(struct work *w, node_id id)
{
	struct cct *const t = w->session->cct;
	struct cct_node *const n = cct_get(t, id);
	struct cct_sampled *const of = cct_sampled_of(t, id);
	const struct sum *const s = &w->sum[n->func];
	const struct parts p = parts_of(t, n, id);
	const double part = s->known > 0 ? p.known / w->period / s->known : 0;
	const double counted = s->weight * s->prior * part +
			       (1 - s->weight) * (of->own + of->other);
	const double sampled = counted + s->kernel * part;
	const double variance = s->edge * s->edge * part +
				(s->kernel > 0 ? of->probe :
				 (1 - s->weight) * counted);
	const double more = p.known > 0 ? 1 + p.unsampled / p.known : 1;
	struct cct_cpu cpu = cct_cpu_of(t, id);

	of->raw = n->self;
	of->variance = variance * w->period * w->period * more * more;
	n->self = (uint64_t)(sampled * w->period + p.off +
			     p.unsampled * s->ratio + 0.5);
	if (!cct_has_cpu(t))
		return;
	cpu.unknown = (uint64_t)((double)cpu.unknown * s->ratio);
	if (cpu.off + cpu.unknown > n->self)
		cpu.unknown = n->self > cpu.off ? n->self - cpu.off : 0;
	cct_put_cpu(t, id, cpu);
}

/* 100 samples: the time of a program that does one thing is known to 10 %. The
 * hooks of a call take up to 0.1 us, ten times as much at the worst. */
enum { SAMPLES_LEAST = 100, PRICE_MOST = 1000 /* ns */ };

static bool is_enough(const struct net *net)
{
	return net->own + net->other + net->probe >= SAMPLES_LEAST &&
	       net->unsampled <= net->raw / 2;
}

void net_apply(struct session *s)
{
	struct work w = { .session = s, .count = func_count(s->funcs) + 1 };
	struct cct *const t = s->cct;

	if (s->net.period == 0)
		return;
	w.period = (double)s->net.period * (double)s->tick_hz / 1e9;
	w.most = PRICE_MOST / (double)s->net.period;
	w.sum = mem_alloc(w.count * sizeof(*w.sum));
	add_nodes(&w);
	if (is_enough(&s->net)) {
		fit(&w);
		find_unsure(&w);
		for (size_t i = 0; i < w.count; i++)
			estimate(&w, &w.sum[i]);
		for (node_id id = 1; id <= cct_count(t); id++)
			divide(&w, id);
		cct_set_net(t, true);
		s->net.is_net = 1;
	}
	mem_free(w.sum);
}

void net_undo(struct session *s)
{
	struct cct *const t = s->cct;

	if (!s->net.is_net)
		return;
	for (node_id id = 1; id <= cct_count(t); id++)
		cct_get(t, id)->self = cct_sampled_of(t, id)->raw;
	cct_set_net(t, false);
	s->net.is_net = 0;
}
