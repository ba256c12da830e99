/* net.c - net times from samples: what calls cost, then each function's
 * estimate, then its nodes' parts of that. Everything is counted in periods
 * until the end. What each sample is of is net_place's to say.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <math.h>
#include <string.h>

/* ---- what calls cost ---------------------------------------------------- */

/* Causes of cost: calls that are received and made, of native functions and of
 * Lua ones; and calls made that are only counted. */
enum { RECEIVED, MADE = 2, COUNTED = 4, CAUSES = 6 };

/* A function; the first one stands for time in no function. Of its nodes: */
struct sum {
	double known;    /* time on the CPU that was sampled, */
	double ran;      /* and that was not, */
	double calls[CAUSES];  /* the calls in it, */
	double own, probe;     /* and the samples. So many fewer than there
	                        * should be: in it, and in calls around it */
	double missing, in_callees, in_callers;
	/* The estimate: net = weight * prior + (1 - weight) * own + kernel. */
	double cost;     /* of the calls, fitted */
	double hidden;   /* of own, what Lua did to call hooks */
	double prior, weight, kernel;
	double ratio;    /* net to raw */
	double edges;    /* one standard error of where its calls end, */
	double edge;     /* and of its net time, but for chance */
	bool hides;      /* of its probes, some may be of calls that have no
	                  * records: it is counted, or calls such a one */
};

struct work {
	struct session *session;
	struct sum *sum;       /* by func_id */
	size_t count;
	double *edge;          /* by node_id: its part of edges */
	double period;         /* ticks */
	double price[CAUSES];  /* of a call */
	double most;           /* no call's probes cost more: few samples of
	                        * probes say little of the price */
	double misfit;         /* of cost, relative: one standard deviation */
	double unsure[CAUSES]; /* of price: how much of it may be misplaced */
	double hidden[CAUSES]; /* of a call's cost: where nobody can tell it
	                        * from the program by its address */
	bool hides;            /* some functions do */
};

/* The node's self in parts, in ticks; ran: of unsampled, what was surely on the
 * CPU. */
struct parts { double off, unsampled, ran, known; };

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
	p.ran = fmax(p.unsampled - (double)cct_cpu_of(t, id).unknown, 0);
	p.known = (double)n->self - p.off - p.unsampled;
	return p;
}

/* How many samples fewer there are than the node's time should have. */
static double missing_of(const struct work *w, node_id id)
{
	struct cct *const t = w->session->cct;
	const struct cct_sampled *const of = cct_sampled_of(t, id);

	return parts_of(t, cct_get(t, id), id).known / w->period -
	       (of->own + of->other + of->probe);
}

/* Calls belong to the sampled time as far as the node's time does. */
static void add_node(struct work *w, node_id id, const double *part)
{
	struct cct *const t = w->session->cct;
	const struct cct_node *const n = cct_get(t, id);
	const struct cct_sampled *const of = cct_sampled_of(t, id);
	const struct cct_node *const caller = cct_get(t, n->parent);
	const uint64_t untimed = cct_counted_of(t, id).untimed;
	const uint32_t kind = func_get(w->session->funcs,
				       n->func)->kind == FUNC_LUA;
	struct sum *const sum = &w->sum[n->func];

	sum->known += parts_of(t, n, id).known / w->period;
	sum->ran += parts_of(t, n, id).ran / w->period;
	sum->own += of->own + of->other;
	sum->probe += of->probe;
	sum->missing += missing_of(w, id);
	if (!n->parent)
		return;
	if (caller->func != n->func) {
		sum->in_callers += missing_of(w, n->parent);
		w->sum[caller->func].in_callees += missing_of(w, id);
	}
	sum->calls[RECEIVED + kind] += (double)(n->calls - untimed) * part[id];
	w->sum[caller->func].calls[MADE + kind] +=
		(double)(n->calls - untimed) * part[n->parent];
	w->sum[caller->func].calls[COUNTED + kind] +=
		(double)untimed * part[n->parent];
}

static void mark_hiding(struct work *w)
{
	struct session *const s = w->session;
	uint8_t *const marks = counted_calls_mark(s);

	w->hides = marks != NULL;
	for (size_t i = 0; marks && i < w->count; i++)
		w->sum[i].hides = marks[i] != 0;
	mem_free(marks);
}

static void add_nodes(struct work *w)
{
	struct cct *const t = w->session->cct;
	struct net *const net = &w->session->net;
	double *const part = mem_alloc((cct_count(t) + 1) * sizeof(*part));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const struct parts p = parts_of(t, n, id);
		const uint64_t off = cct_cpu_of(t, id).off;

		part[id] = p.known + p.unsampled > 0 ?
			   p.known / (p.known + p.unsampled) : 1;
		net->raw += off < n->self ? n->self - off : 0;
		net->unsampled += (uint64_t)p.unsampled;
	}
	for (node_id id = 1; id <= cct_count(t); id++)
		add_node(w, id, part);
	mark_hiding(w);
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
	bool use[CAUSES] = { true, true, true, true, true, true };

	for (size_t i = 0; i < w->count; i++) {
		const struct sum *const s = &w->sum[i];
		const double wild = w->misfit * s->cost;
		const double weight = s->hides ? 0 :
				      1 / (1 + s->cost + wild * wild);

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

		if (cost < 5 || w->sum[i].hides)
			continue;
		sum += (off * off - cost) / cost;
		weights += cost;
	}
	if (weights == 0)
		return 0.5;
	sum = sum > 0 ? sqrt(sum / weights) : 0;
	return sum < 0.05 ? 0.05 : sum > 1 ? 1 : sum;
}

/* What one of the calls costs that are not in the trace, the recorder has
 * measured; the functions that hide none may be few. */
static void price_hidden(struct work *w)
{
	const double unit = 1 / (double)w->session->net.period;
	struct call_cost c;

	if (!w->hides || !net_calibrated_cost(w->session, &c))
		return;
	w->price[RECEIVED] = w->price[MADE] = c.native / 2 * unit;
	w->price[COUNTED] = c.counted * unit;
	for (size_t i = 0; i < w->count; i++)
		w->sum[i].cost = cost_of(w, &w->sum[i]);
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
	price_hidden(w);
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

/* Lua's own code for hooks, where it has no name: what calls of this Lua cost
 * by calibration beyond what is known to be probes. */
static void find_hidden(struct work *w)
{
	const double unit = 1 / (double)w->session->net.period;
	struct call_cost c;

	if (w->unsure[RECEIVED + 1] < 1 ||
	    !net_calibrated_cost(w->session, &c))
		return;
	for (int i = RECEIVED; i < COUNTED; i += MADE) {
		const double cost = unit * (i == RECEIVED ? c.lua_received :
					    c.lua_made);

		w->hidden[i + 1] = fmax(cost - w->price[i + 1], 0);
	}
	for (size_t i = 0; i < w->count; i++) {
		struct sum *const s = &w->sum[i];

		for (int k = 0; k < CAUSES; k++)
			s->hidden += w->hidden[k] * s->calls[k];
		s->hidden = fmin(s->hidden, s->own);
		s->own -= s->hidden;
		s->cost += s->hidden;
	}
}

/* What one call adds to the error of the function that it is a cause of. The
 * samples may not tell what it costs, as they are few or all fell at the call's
 * other end: then the recorder's figure does. */
static void find_rims(const struct work *w, double rim[CAUSES])
{
	const double unit = 1 / (double)w->session->net.period;
	struct call_cost c = { .native = 0 };

	net_calibrated_cost(w->session, &c);
	for (int i = 0; i < CAUSES; i++) {
		const double known = i >= COUNTED ? c.counted :
				     i % 2 == 0 ? c.native / 2 :
				     i < MADE ? c.lua_received : c.lua_made;

		rim[i] = fmax(w->unsure[i] * w->price[i] + w->hidden[i],
			      known * unit / 2);
	}
}

/* The error of where calls end, of all nodes and functions, without samples as
 * well. */
static void find_edges(struct work *w)
{
	struct cct *const t = w->session->cct;
	double rim[CAUSES];

	find_rims(w, rim);
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const double untimed = (double)cct_counted_of(t, id).untimed;
		const double calls = (double)n->calls - untimed;
		const uint32_t kind = func_get(w->session->funcs,
					       n->func)->kind == FUNC_LUA;

		if (!n->parent)
			continue;
		w->edge[id] += rim[RECEIVED + kind] * calls;
		w->edge[n->parent] += rim[MADE + kind] * calls +
				      rim[COUNTED + kind] * untimed;
	}
	for (node_id id = 1; id <= cct_count(t); id++)
		w->sum[cct_get(t, id)->func].edges += w->edge[id];
}

/* So many samples may be missing by chance. */
static double chance_of(const struct sum *s)
{
	return 3 * sqrt(s->known) + 0.05 * s->known;
}

/* Time on the CPU in which no sample fell, beyond chance: it was spent in the
 * kernel, which is not sampled, or the thread did not run and nobody told. It
 * is not missing if the calls around it have more samples than time: a hook
 * reads the clock while the processor still waits for memory that the code
 * before it asked for, so that the wait counts for the call behind the hook.
 * Samples fall where it waits. */
static double kernel_of(const struct sum *s)
{
	const double missing = s->missing +
			       fmin(0, fmin(s->in_callees, s->in_callers));

	return missing > chance_of(s) ? missing : 0;
}

/* Is the kernel sampled, too? Then no time of it is missing. */
static bool is_sampled(const struct work *w)
{
	const struct session *const s = w->session;
	bool is = false;

	for (size_t i = 0; i < s->place_count && !is; i++)
		is = s->places[i].module == 0 && s->places[i].offset == 0;
	return is;
}

/* In all functions together, no more than is missing in all. */
static void find_kernel(struct work *w)
{
	const bool is_known = is_sampled(w);
	double sum = 0, missing = 0;

	for (size_t i = 0; i < w->count && !is_known; i++) {
		struct sum *const s = &w->sum[i];

		s->kernel = kernel_of(s);
		sum += s->kernel;
		missing += s->missing;
	}
	for (size_t i = 0; i < w->count && sum > fmax(missing, 0); i++)
		w->sum[i].kernel *= fmax(missing, 0) / sum;
}

/* The prior's standard deviations are that of the cost; 1 % for interrupts and
 * the like; and for native calls 0.7 of what they cost, since a hook reads the
 * clock while the work before it is still being done. Programs that know their
 * times (docs/times.md) show by how much that moves raw times. */
static double variance_of_prior(const struct work *w, const struct sum *s)
{
	const double wild = w->misfit * s->cost;
	const double rough = 0.01 * s->known;
	double clock = 0;

	for (int i = RECEIVED; i < CAUSES; i += MADE)
		clock += w->price[i] * s->calls[i];
	return wild * wild + rough * rough + clock * clock / 2;
}

/* Where the hooks of calls without records are in it, raw time tells nothing
 * that samples do not. */
static void weigh(struct work *w, struct sum *s)
{
	double variance, missing, away;

	if (s->known <= 0)
		return; /* a sample of it, if any, has none of its time */
	s->prior = fmax(s->known - s->kernel - s->cost, 0);
	variance = variance_of_prior(w, s);
	/* Samples that are missing may be the function's or a probe's. */
	missing = s->known - s->kernel - s->own - s->hidden - s->probe;
	missing = fmin(fmax(missing, 0), chance_of(s));
	away = s->prior > s->own ? fmax(s->prior - s->own - missing, 0) :
	       s->own - s->prior;
	if (!s->hides && away > 3 * sqrt(fmax(s->own, s->prior) + variance))
		w->session->net.contradicted++;
	else if (!s->hides && s->prior > 0)
		s->weight = s->prior / (s->prior + variance);
}

/* What the estimates of all functions are together above what all have: so much
 * of the time that is sampled as samples are the program's. What may be chance,
 * 2 standard errors, is not. */
static double excess_of(const struct work *w)
{
	double sampled = 0, own = 0, all = 0, sum = 0, part, excess, chance;

	for (size_t i = 0; i < w->count; i++) {
		const struct sum *const s = &w->sum[i];

		sampled += s->known - s->kernel;
		own += s->own;
		all += s->own + s->hidden + s->probe;
		sum += s->weight * s->prior + (1 - s->weight) * s->own;
	}
	part = own / all;
	excess = sum - sampled * part;
	chance = 2 * sqrt(all * part * (1 - part));
	return copysign(fmax(fabs(excess) - chance, 0), excess);
}

/* Where hooks read the clock early, raw times are moved between neighbours, of
 * which one may be told by its samples alone, and the other not: then the same
 * time is in both. What is too much is taken off the functions whose raw time
 * is above their samples, by trusting raw time less. Likewise what is too
 * little. */
static void level(struct work *w)
{
	const double excess = excess_of(w);
	double leant = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct sum *const s = &w->sum[i];

		leant += fmax(copysign(1, excess) * s->weight *
			      (s->prior - s->own), 0);
	}
	for (size_t i = 0; i < w->count && leant > 0; i++) {
		struct sum *const s = &w->sum[i];

		if ((s->prior > s->own) == (excess > 0))
			s->weight *= fmax(1 - fabs(excess) / leant, 0);
	}
}

/* What calls cost may be told by far too few samples. But what a function took
 * is not less than nothing, and no more was taken off than there was. */
static double edge_of(const struct sum *s)
{
	const double all = s->known + s->ran;

	return fmin(s->edges, fmax(all * s->ratio, all * (1 - s->ratio)));
}

static void estimate(struct sum *s)
{
	double net;

	s->ratio = 1;
	s->edge = edge_of(s);
	if (s->known <= 0)
		return;
	net = s->weight * s->prior + (1 - s->weight) * s->own + s->kernel;
	s->ratio = net / s->known;
	s->edge = edge_of(s);
	/* Nearly all was taken off, because it is where calls cost so much, or
	 * because no sample is of it: either may be wrong. */
	if (net - s->kernel < fmin(1, (s->known - s->kernel) / 2))
		s->edge = fmax(s->edge, s->known - s->kernel);
}

/* ---- nodes -------------------------------------------------------------- */

/* A function's estimate is divided by samples and by raw time, as it was
 * made of them; its error by calls, and by samples. Time without samples, of
 * which the function has some elsewhere, is known as well as those. Time that
 * may have been off the CPU is none on it, and has no error. */
static void divide(struct work *w, node_id id)
{
	struct cct *const t = w->session->cct;
	struct cct_node *const n = cct_get(t, id);
	struct cct_sampled *const of = cct_sampled_of(t, id);
	const struct sum *const s = &w->sum[n->func];
	const struct parts p = parts_of(t, n, id);
	const double part = s->known > 0 ? p.known / w->period / s->known : 0;
	const double own = of->own + of->other;
	const double seen = s->hidden > 0 ?
			    own * s->own / (s->own + s->hidden) : own;
	const double counted = s->weight * s->prior * part +
			       (1 - s->weight) * seen;
	const double sampled = counted + s->kernel * part;
	const double chance = s->kernel > 0 ? of->probe :
			      (1 - s->weight) * (counted + part);
	const double more = p.known > 0 ? 1 + p.ran / p.known : 1;
	const double guessed = p.known > 0 ? 0 :
			       p.ran / w->period * s->ratio;
	const double variance = s->edge * s->edge *
		(s->edges > 0 ? w->edge[id] / s->edges : part) +
		chance * more * more + guessed * guessed / fmax(s->own, 1);
	struct cct_cpu cpu = cct_cpu_of(t, id);

	of->raw = n->self;
	of->variance = variance * w->period * w->period;
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

/* Deep calls (--max-depth) cost as much as others. */
bool net_hides_calls(const struct session *s)
{
	return cct_counted_sum(s->cct).brief > 0 ||
	       session_note(s, "filter.max-depth");
}

/* False: the samples are too few, and nothing was changed but the sums of
 * session.net. */
static bool apply_samples(struct session *s)
{
	struct work w = { .session = s, .count = func_count(s->funcs) + 1 };
	struct cct *const t = s->cct;
	bool is_net;

	w.period = (double)s->net.period * (double)s->tick_hz / 1e9;
	w.most = (double)PRICE_MOST / (double)s->net.period;
	w.sum = mem_alloc(w.count * sizeof(*w.sum));
	w.edge = mem_alloc((cct_count(t) + 1) * sizeof(*w.edge));
	add_nodes(&w);
	is_net = is_enough(&s->net);
	if (is_net) {
		fit(&w);
		find_unsure(&w);
		find_hidden(&w);
		find_kernel(&w);
		find_edges(&w);
		for (size_t i = 0; i < w.count; i++)
			weigh(&w, &w.sum[i]);
		level(&w);
		for (size_t i = 0; i < w.count; i++)
			estimate(&w.sum[i]);
		for (node_id id = 1; id <= cct_count(t); id++)
			divide(&w, id);
		cct_set_net(t, true);
	}
	mem_free_all(w.sum, w.edge);
	return is_net;
}

void net_apply(struct session *s)
{
	if (net_hides_calls(s) || !session_has_times(s))
		return;
	if (s->net.period > 0 && apply_samples(s))
		s->net.is_net = NET_SAMPLED;
	else if (net_calibrated_apply(s))
		s->net.is_net = NET_CALIBRATED;
}

void net_undo(struct session *s)
{
	const bool counted = counted_calls_are_all(s);
	struct cct *const t = s->cct;

	if (!s->net.is_net)
		return;
	for (node_id id = 1; id <= cct_count(t); id++)
		cct_get(t, id)->self = cct_sampled_of(t, id)->raw;
	for (node_id id = 1; id <= cct_count(t) && counted; id++)
		cct_add_untimed(t, id, cct_get(t, id)->calls);
	s->counted = counted ? s->calls : s->counted;
	cct_set_net(t, false);
	s->net.is_net = 0;
}
